"""Predictions as tables of some rows at a time, and as a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from tabnas.cli._text import plain
from tabnas.data import Table
from tabnas.errors import TabNASError
from tabnas.files import atomic_file
from tabnas.model import Model


def predictions(model: Model, table: Table) -> Iterator[pa.Table]:
    """Yield the label and the probability of each class, or the value, of some rows at a time."""
    names = column_names(model.target.name, model.classes)
    outputs = model.predict_raw_chunks(table)
    # a table without rows has columns of answers, too
    nothing = np.empty((0, model.target.outputs), np.float32)
    for raw in chain([next(outputs, nothing)], outputs):
        answers = model.decode(raw)
        if not model.classes:
            yield pa.table([answers], names)
            continue
        labels = model.target.decode(answers.argmax(axis=1))  # type: ignore[attr-defined]
        yield pa.table([labels, *answers.T], names)


def column_names(target: str, classes: Sequence[object]) -> list[str]:
    """Return the names of the columns of predictions: the target's own, and one for each class.

    A name that another column has already gets an underscore, or as many as it takes.

    >>> column_names("kind", ["a", "b"])
    ['kind', 'probability of a', 'probability of b']
    >>> column_names("probability of a", ["a", "b"])
    ['probability of a', 'probability of a_', 'probability of b']
    """
    names = [target]
    for label in classes:
        name = f"probability of {label}"
        while name in names:
            name += "_"
        names.append(name)
    return names


def refuse_unwritable(path: Path, source: Path) -> None:
    """Refuse a place that predictions cannot or should not go to, before any work is done."""
    if path.is_dir():
        raise TabNASError(f"--out must be a file, but {str(path)!r} is a folder; name a file")
    if path.suffix.lower() not in WRITERS:
        raise TabNASError(f"--out must end in one of {', '.join(WRITERS)}, got {path.name!r}")
    if path.exists() and source.exists() and path.samefile(source):
        raise TabNASError(
            f"--out must be another file than the rows are read from, but both are "
            f"{str(path)!r}; name another"
        )


def write_predictions(pieces: Iterator[pa.Table], path: Path) -> None:
    """Write in the format that the name ends with; the file appears whole or not at all."""
    try:
        with _folder_made(path.parent), atomic_file(path, sync=False) as file:
            _write(WRITERS[path.suffix.lower()], file, pieces)
    except OSError as error:
        raise TabNASError(
            f"{str(path)!r} cannot be written ({error.strerror or error}); name another with --out"
        ) from None


@contextmanager
def _folder_made(folder: Path) -> Iterator[None]:
    """Make a folder, and those that it lies in, which go again if nothing is written to them."""
    new = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        with suppress(OSError):
            for each in new:
                each.rmdir()
        raise


def print_predictions(pieces: Iterator[pa.Table], out: BinaryIO) -> None:
    """Write CSV as it comes; a terminal gets no control characters, a file or a pipe all there is.

    Names and labels are those of somebody's table, and a terminal would obey them.
    """
    _write(WRITERS[".csv"], out, map(_for_terminal, pieces) if out.isatty() else pieces)


def _for_terminal(piece: pa.Table) -> pa.Table:
    """Return the same table with names and texts that are safe to show."""
    columns = [
        pa.chunked_array([[_safe(text) for text in column.to_pylist()]], pa.string())
        if pa.types.is_string(column.type)
        else column
        for column in piece.columns
    ]
    return pa.table(columns, [_safe(name) for name in piece.column_names])


def _safe(text: str) -> str:
    return plain(text, longest=sys.maxsize)


def _write(open_writer: Callable[[BinaryIO, pa.Schema], Any], sink: BinaryIO, pieces: Any) -> None:
    first = next(pieces)
    with open_writer(sink, first.schema) as writer:
        for piece in chain([first], pieces):
            writer.write_table(piece)


def _separated(delimiter: str) -> Callable[[BinaryIO, pa.Schema], Any]:
    def open_writer(sink: BinaryIO, schema: pa.Schema) -> Any:
        from pyarrow import csv

        return csv.CSVWriter(sink, schema, write_options=csv.WriteOptions(delimiter=delimiter))

    return open_writer


def _parquet(sink: BinaryIO, schema: pa.Schema) -> Any:
    from pyarrow import parquet

    # probabilities hardly repeat, and a dictionary of them takes time and room
    labels = [column.name for column in schema if not pa.types.is_floating(column.type)]
    return parquet.ParquetWriter(sink, schema, use_dictionary=labels)


def _feather(sink: BinaryIO, schema: pa.Schema) -> Any:
    # the format and the compression of Feather's own writer, which takes whole tables only
    return pa.ipc.new_file(sink, schema, options=pa.ipc.IpcWriteOptions(compression="lz4"))


WRITERS: dict[str, Callable[[BinaryIO, pa.Schema], Any]] = {
    ".csv": _separated(","),
    ".tsv": _separated("\t"),
    ".parquet": _parquet,
    ".feather": _feather,
}
