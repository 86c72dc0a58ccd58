"""The second pass: every piece becomes a folder of raw arrays, whole or not at all."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from tabnas.data import TableEncoder, Target
from tabnas.data.reading import DecimalContext, absent
from tabnas.errors import TabNASError
from tabnas.stores._chunks import Chunk, Piece, read_chunks
from tabnas.stores._document import read_document, write_document
from tabnas.stores._learning import Work
from tabnas.stores._rows import rows_of
from tabnas.stores._splitting import PARTS
from tabnas.types import BoolArray

ARRAYS = ("numeric", "categorical", "target")
ASIDE = re.compile(r"\.\d{6,}\.[0-9a-f]{8}")
"""The name of a piece's folder until it is complete."""
FIELDS = ("piece", "rows", "files", "seconds")


def piece_name(number: int) -> str:
    """The folder of a piece."""
    return f"{number:06d}"


def file_name(part: str, array: str) -> str:
    """The file of an array of a part, in the folder of a piece."""
    return f"{part}.{array}"


def write_piece(
    work: Work,
    encoder: TableEncoder,
    target: Target,
    piece: Piece,
    folder: Path,
    tell: Callable[[int, int], None],
) -> None:
    """Encode the rows of a piece and write them to a folder, aside until all is there."""
    aside = folder.with_name(f".{folder.name}.{uuid4().hex[:8]}")
    aside.mkdir()
    try:
        began = monotonic()
        files, rows = _write_arrays(work, encoder, target, piece, aside, tell)
        content = {"piece": asdict(piece), "rows": rows, "files": files}
        write_document(aside, "piece.json", content | {"seconds": monotonic() - began})
        os.replace(aside, folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def read_piece(folder: Path, piece: Piece) -> dict[str, Any]:
    """What was written of a piece: rows of each part, sizes and digests, and how long it took."""
    said = read_document(folder, "piece.json", FIELDS)
    if said["piece"] != asdict(piece):
        raise TabNASError(
            f"{folder.name!r} must hold the piece of that number, but it holds another; "
            "encode the table again, to another folder"
        )
    return {name: said[name] for name in ("rows", "files", "seconds")}


def _write_arrays(
    work: Work,
    encoder: TableEncoder,
    target: Target,
    piece: Piece,
    folder: Path,
    tell: Callable[[int, int], None],
) -> tuple[dict[str, dict[str, Any]], list[int]]:
    rows, seen = [0] * len(PARTS), 0
    source = work.sources[piece.source]
    with ExitStack() as stack:
        files = {
            (part, array): stack.enter_context(_Digested(folder / file_name(part, array)))
            for part in PARTS
            for array in ARRAYS
        }
        chunks = read_chunks(
            work.layout.reader, source, start=piece.start, stop=piece.stop, row=piece.row
        )
        for chunk in chunks:
            count = len(chunk.table)
            parts = work.parts(source, piece.first + seen, count)
            with rows_of(source, piece.row + seen):
                answered, arrays = _encoded(encoder, target, chunk, work.layout.marks)
            parts = parts[answered]
            for number, part in enumerate(PARTS):
                here = parts == number
                rows[number] += int(here.sum())
                for array, values in zip(ARRAYS, arrays, strict=True):
                    files[part, array].write(values[here])
            seen += count
            tell(count, chunk.bytes)
        facts = {file.path.name: file.finish() for file in files.values()}
    if seen != piece.rows:
        raise TabNASError(
            f"{source.path.name!r} must stay as it is while it is encoded, but it has changed; "
            "encode it once more, to another folder"
        )
    return facts, rows


def _encoded(
    encoder: TableEncoder, target: Target, chunk: Chunk, marks: tuple[str, ...]
) -> tuple[BoolArray, tuple[NDArray[Any], ...]]:
    """Which rows have a target, and their arrays, little-endian."""
    column = chunk.table.column(target.name)
    answered = ~absent(column, marks=marks)
    rows = None if answered.all() else np.nonzero(answered)[0]
    # by the marks that the first rows have settled, not by what a chunk may show of its own
    encoded = encoder.encode(chunk.table.with_decimals(DecimalContext()), rows)
    truth = target.truth(column if rows is None else column.take(rows))
    kind = "<f8" if target.task == "regression" else "<i4"
    arrays = (
        encoded.numeric.astype("<f4", copy=False),
        encoded.categorical.astype("<i4", copy=False),
        truth.astype(kind, copy=False),
    )
    return answered, arrays


class _Digested:
    """A file that knows its digest when it has been written, and is on disk by then."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("wb")
        self._digest = sha256()
        self._size = 0

    def __enter__(self) -> _Digested:
        return self

    def __exit__(self, *details: object) -> None:
        self._file.close()

    def write(self, array: NDArray[Any]) -> None:
        """Rows that follow those before."""
        if array.size:
            data = np.ascontiguousarray(array).data
            self._file.write(data)
            self._digest.update(data)
            self._size += array.nbytes

    def finish(self) -> dict[str, Any]:
        """Size and digest."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return {"size": self._size, "sha256": self._digest.hexdigest()}
