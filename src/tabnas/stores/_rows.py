"""Rows named in errors: of which file, and which one there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tabnas.data.reading import RowError
from tabnas.stores._sources import Source
from tabnas.types import IntArray


@contextmanager
def rows_of(source: Source, first: int, rows: IntArray | None = None) -> Iterator[None]:
    """Name the file in errors, and the row there.

    `first` is the number of the chunk's first row; `rows` are those of the chunk that were looked
    at, if not all.
    """
    try:
        yield
    except RowError as error:
        found = error.among(rows)
        also = ", or declare the column categorical (--categorical)"
        open_question = "must hold" in found.before and "declare" not in found.after
        after = found.after + also if open_question else found.after
        before = f"{source.path.name!r}: {found.before}"
        raise RowError(before, first + found.row, after) from None
