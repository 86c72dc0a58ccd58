"""Predictions as tables of some rows at a time, and as a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from tabnas.data import Table
from tabnas.errors import TabnasError
from tabnas.files import atomic_file
from tabnas.model import Model


def predictions(model: Model, table: Table) -> Iterator[pa.Table]:
    """Yield the label and the probability of each class, or the value, of some rows at a time."""
    name = model.target.name
    for raw in model.raw_pieces(table):
        answers = model.decode(raw)
        if not model.classes:
            yield pa.table({name: answers})
            continue
        labels = model.target.decode(answers.argmax(axis=1))  # type: ignore[attr-defined]
        columns = {
            f"probability of {label}": answers[:, k] for k, label in enumerate(model.classes)
        }
        yield pa.table({name: labels} | columns)


def refuse_unwritable(path: Path, source: Path) -> None:
    """Refuse a place that predictions cannot or should not go to, before any work is done."""
    if path.is_dir():
        raise TabnasError(f"--out must be a file, however {str(path)!r} is a folder; name a file")
    if path.suffix.lower() not in WRITERS:
        raise TabnasError(
            f"--out must end in one of {', '.join(WRITERS)}, however {path.name!r} was given"
        )
    if path.exists() and source.exists() and path.samefile(source):
        raise TabnasError(
            f"--out must be another file than the rows are read from, however both are "
            f"{str(path)!r}; name another"
        )


def write_predictions(pieces: Iterator[pa.Table], path: Path) -> None:
    """Write in the format that the name ends with; the file appears whole or not at all."""
    try:
        with _folder_made(path.parent), atomic_file(path, sync=False) as file:
            _write(WRITERS[path.suffix.lower()], file, pieces)
    except OSError as error:
        raise TabnasError(
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
    """Write CSV as it comes."""
    _write(WRITERS[".csv"], out, pieces)


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
