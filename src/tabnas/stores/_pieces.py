"""The second pass: encode every piece to a folder of raw arrays, completely or not at all."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from tabnas.data import TableEncoder, Target
from tabnas.data.lowlevel import DecimalContext, is_missing
from tabnas.decoding import Count, FiniteFloat
from tabnas.errors import TabNASError
from tabnas.stores._document import read_document, write_document
from tabnas.stores._first_pass import CountCallback, EncodingContext
from tabnas.stores._readers import Chunk, Piece, read_chunks
from tabnas.stores._split import PARTS
from tabnas.threads import stream_in_threads
from tabnas.types import BoolArray

PIECE_DOCUMENT = "piece.json"
ARRAYS = ("numeric", "categorical", "target")
MAX_CHUNKS = 4  # that are encoded at a time: each takes several hundredths of the memory
TEMPORARY_NAME = re.compile(r"\.\d{6,}\.[0-9a-f]{8}")
"""The name of a piece's folder until it is complete."""


@dataclass(frozen=True, kw_only=True)
class WrittenFile:
    """The size and digest of an array on disk."""

    size: Count
    sha256: str


@dataclass(frozen=True, kw_only=True)
class WrittenPiece:
    """The encoded rows of a piece on disk."""

    rows: tuple[Count, Count, Count]  # of each part
    files: dict[str, WrittenFile]

    def __post_init__(self) -> None:
        expected = {file_name(part, array) for part in PARTS for array in ARRAYS}
        if self.files.keys() != expected:
            raise ValueError(f"files must be {', '.join(sorted(expected))}")


@dataclass(frozen=True, kw_only=True)
class _PieceDocument:
    """What the JSON file of a piece holds."""

    piece: Piece
    written: WrittenPiece
    seconds: FiniteFloat


def piece_name(number: int) -> str:
    """Return the name of a piece's folder."""
    return f"{number:06d}"


def file_name(part: str, array: str) -> str:
    """Return the name of an array's file in the folder of a piece."""
    return f"{part}.{array}"


def write_piece(
    context: EncodingContext,
    encoder: TableEncoder,
    target: Target,
    piece: Piece,
    folder: Path,
    count_chunk: CountCallback,
) -> None:
    """Encode the rows of a piece to a folder, which is temporary until it is complete."""
    temporary = folder.with_name(f".{folder.name}.{uuid4().hex[:8]}")
    temporary.mkdir()
    try:
        start = monotonic()
        written = _write_arrays(context, encoder, target, piece, temporary, count_chunk)
        document = _PieceDocument(piece=piece, written=written, seconds=monotonic() - start)
        write_document(temporary, PIECE_DOCUMENT, document)
        os.replace(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def read_piece(folder: Path, piece: Piece) -> tuple[WrittenPiece, float]:
    """Return what was written of a piece, and the seconds that it took."""
    document = read_document(folder, PIECE_DOCUMENT, _PieceDocument)
    if document.piece != piece:
        raise TabNASError(
            f"{folder.name!r} must hold the piece of that number, but it holds another; "
            "encode the table again, to another folder"
        )
    return document.written, document.seconds


def _write_arrays(
    context: EncodingContext,
    encoder: TableEncoder,
    target: Target,
    piece: Piece,
    folder: Path,
    count_chunk: CountCallback,
) -> WrittenPiece:
    rows, seen = [0] * len(PARTS), 0
    source = context.sources[piece.source]
    with ExitStack() as stack:
        files = {
            (part, array): stack.enter_context(_DigestedFile(folder / file_name(part, array)))
            for part in PARTS
            for array in ARRAYS
        }
        chunks = read_chunks(context.layout.reader, source, start=piece.start, stop=piece.stop)

        def encode(numbered: tuple[int, Chunk]) -> tuple[Chunk, list[tuple[NDArray[Any], ...]]]:
            """Return the arrays of each part of the rows."""
            first, chunk = numbered
            parts = context.assign_parts(source, piece.first + first, len(chunk.table))
            with source.locate_errors(piece.row + first):
                labelled, arrays = _encode_chunk(encoder, target, chunk, context.layout.na_values)
            parts = parts[labelled]
            selections = [parts == number for number in range(len(PARTS))]
            return chunk, [tuple(values[here] for values in arrays) for here in selections]

        for chunk, encoded in stream_in_threads(encode, _number_rows(chunks), count=MAX_CHUNKS):
            for number, (part, arrays) in enumerate(zip(PARTS, encoded, strict=True)):
                rows[number] += len(arrays[-1])
                for array, values in zip(ARRAYS, arrays, strict=True):
                    files[part, array].write(values)
            seen += len(chunk.table)
            count_chunk(len(chunk.table), chunk.bytes)
        written = {file.path.name: file.finish() for file in files.values()}
    if seen != piece.rows:
        raise TabNASError(
            f"{source.path.name!r} must stay as it is while it is encoded, but it has changed; "
            "encode it once more, to another folder"
        )
    train, validation, test = rows
    return WrittenPiece(rows=(train, validation, test), files=written)


def _number_rows(chunks: Iterable[Chunk]) -> Iterator[tuple[int, Chunk]]:
    """Yield the chunks, each with the number of its first row."""
    first = 0
    for chunk in chunks:
        yield first, chunk
        first += len(chunk.table)


def _encode_chunk(
    encoder: TableEncoder, target: Target, chunk: Chunk, na_values: tuple[str, ...]
) -> tuple[BoolArray, tuple[NDArray[Any], ...]]:
    """Return which rows have a target, and their arrays, little-endian."""
    column = chunk.table.column(target.name)
    labelled = ~is_missing(column, na_values=na_values)
    rows = None if labelled.all() else np.nonzero(labelled)[0]
    # with the decimal marks of the first rows, not those that a chunk may show
    encoded = encoder.encode(chunk.table.with_decimals(DecimalContext()), rows)
    y = target.encode(column if rows is None else column.take(rows))
    kind = "<f8" if target.task == "regression" else "<i4"
    arrays = (
        encoded.numeric.astype("<f4", copy=False),
        encoded.categorical.astype("<i4", copy=False),
        y.astype(kind, copy=False),
    )
    return labelled, arrays


class _DigestedFile:
    """A file that is written with its digest, and synced at the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("wb")
        self._digest = sha256()
        self._size = 0

    def __enter__(self) -> _DigestedFile:
        return self

    def __exit__(self, *details: object) -> None:
        self._file.close()

    def write(self, array: NDArray[Any]) -> None:
        """Append rows."""
        if array.size:
            data = np.ascontiguousarray(array).data
            self._file.write(data)
            self._digest.update(data)
            self._size += array.nbytes

    def finish(self) -> WrittenFile:
        """Sync the file and return its size and digest."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return WrittenFile(size=self._size, sha256=self._digest.hexdigest())
