"""Predict a table piece by piece, and write or print the predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from tabnas.data import Table
from tabnas.errors import TabNASError
from tabnas.files import atomic_file
from tabnas.formatting import sanitize
from tabnas.model import Model


def predict_pieces(model: Model, table: Table) -> Iterator[pa.Table]:
    """Yield the predicted labels and probabilities, or values, of some rows at a time."""
    names = column_names(model.target.name, model.classes)
    outputs = model.predict_raw_chunks(table)
    # a table without rows still has columns of predictions
    no_rows = np.empty((0, model.target.outputs), np.float32)
    for raw in chain([next(outputs, no_rows)], outputs):
        answers = model.decode(raw)
        if not model.classes:
            yield pa.table([answers], names)
            continue
        labels = model.target.decode(answers.argmax(axis=1))  # type: ignore[attr-defined]
        yield pa.table([labels, *answers.T], names)


def column_names(target: str, classes: Sequence[object]) -> list[str]:
    """Return the names of the predicted columns: the target, and one for each class.

    A name that is already taken gets underscores until it is new.

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


def check_output(path: Path, source: Path) -> None:
    """Refuse a path that predictions cannot be written to, before any work is done."""
    if path.is_dir():
        raise TabNASError(f"--out must be a file, but {str(path)!r} is a folder; name a file")
    if path.suffix.lower() not in WRITERS:
        raise TabNASError(f"--out must end in one of {', '.join(WRITERS)}, got {path.name!r}")
    if path.exists() and source.exists() and path.samefile(source):
        raise TabNASError(
            f"--out must differ from the file of rows, got {str(path)!r} for both; name another"
        )


def write_predictions(pieces: Iterator[pa.Table], path: Path) -> None:
    """Write predictions in the format of the suffix; the file appears only when complete."""
    try:
        with _create_folder(path.parent), atomic_file(path, sync=False) as file:
            _write(WRITERS[path.suffix.lower()], file, pieces)
    except OSError as error:
        raise TabNASError(
            f"{str(path)!r} cannot be written ({error.strerror or error}); name another with --out"
        ) from None


@contextmanager
def _create_folder(folder: Path) -> Iterator[None]:
    """Create a folder and its parents; remove them again if writing fails."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        with suppress(OSError):
            for path in new:
                path.rmdir()
        raise


def print_predictions(pieces: Iterator[pa.Table], out: BinaryIO) -> None:
    """Print predictions as CSV, without control characters if `out` is a terminal.

    Names and labels come from a table of unknown origin, and a terminal would obey them.
    """
    _write(WRITERS[".csv"], out, map(_sanitize_table, pieces) if out.isatty() else pieces)


def _sanitize_table(piece: pa.Table) -> pa.Table:
    """Return the table with names and texts that are safe to print."""
    columns = [
        pa.chunked_array([[sanitize(text) for text in column.to_pylist()]], pa.string())
        if pa.types.is_string(column.type)
        else column
        for column in piece.columns
    ]
    return pa.table(columns, [sanitize(name) for name in piece.column_names])


def _write(open_writer: Callable[[BinaryIO, pa.Schema], Any], sink: BinaryIO, pieces: Any) -> None:
    first = next(pieces)
    with open_writer(sink, first.schema) as writer:
        for piece in chain([first], pieces):
            writer.write_table(piece)


def _csv_writer(delimiter: str) -> Callable[[BinaryIO, pa.Schema], Any]:
    def open_writer(sink: BinaryIO, schema: pa.Schema) -> Any:
        from pyarrow import csv

        return csv.CSVWriter(sink, schema, write_options=csv.WriteOptions(delimiter=delimiter))

    return open_writer


def _parquet_writer(sink: BinaryIO, schema: pa.Schema) -> Any:
    from pyarrow import parquet

    # probabilities hardly repeat, so a dictionary of them would cost time and space
    labels = [column.name for column in schema if not pa.types.is_floating(column.type)]
    return parquet.ParquetWriter(sink, schema, use_dictionary=labels)


def _feather_writer(sink: BinaryIO, schema: pa.Schema) -> Any:
    # pyarrow.feather writes only complete tables; this is its format and compression
    return pa.ipc.new_file(sink, schema, options=pa.ipc.IpcWriteOptions(compression="lz4"))


WRITERS: dict[str, Callable[[BinaryIO, pa.Schema], Any]] = {
    ".csv": _csv_writer(","),
    ".tsv": _csv_writer("\t"),
    ".parquet": _parquet_writer,
    ".feather": _feather_writer,
}
