"""Chunks: some tens of thousands of rows of a file at a time, whatever its format.

A *place* is where reading can begin: a byte of plain text, a row group of Parquet, a batch of
Feather, the beginning of what is gzipped. A *piece* lies between two places, and is what work is
counted and taken up again by.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from tabnas.data import Table
from tabnas.data.reading import read_ahead, reading
from tabnas.errors import TabNASError
from tabnas.stores._sources import Source

PIECE = 256 << 20
"""Bytes on disk of a piece, about: when work is interrupted, two of them are lost at most.

What is gzipped has no place to begin at but its beginning, so that a file of any size is one piece:
many small files are gone on with at once, a large one is begun again."""


@dataclass(frozen=True, eq=False)
class Chunk:
    """Rows that follow one another in a file."""

    table: Table
    bytes: int  # that they take on disk, about
    end: int | None  # the place behind them, if there is one


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Rows between two places of a file."""

    source: int  # the number of the file
    start: int
    stop: int | None  # None: the end of the file
    row: int  # the number of the first row in its file
    first: int  # the same among the rows of all files
    rows: int
    bytes: int  # on disk, about


class Reader(Protocol):
    """Reads files of one format."""

    def chunks(self, source: Source, start: int, stop: int | None, row: int) -> Iterator[Chunk]:
        """The chunks from one place to another; `row` is the number of the first, for errors."""


def read_chunks(
    reader: Reader, source: Source, *, start: int = 0, stop: int | None = None, row: int = 0
) -> Iterator[Chunk]:
    """The chunks from one place of a file to another, without empty ones."""
    with reading(source.path):
        for chunk in read_ahead(reader.chunks(source, start, stop, row)):
            if len(chunk.table):
                yield chunk


def refuse_other_columns(source: Source, names: tuple[str, ...], found: tuple[str, ...]) -> None:
    """All files of a store have the same columns, in one order."""
    if found == names:
        return
    extra = sorted(set(found) ^ set(names))
    problem = f"{extra[0]!r} is in one of them only" if extra else "their order differs"
    raise TabNASError(
        f"{source.path.name!r} must have the columns of the first file, in the same order, "
        f"but {problem}"
    )
