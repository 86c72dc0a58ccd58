"""Predict a table chunk by chunk, and write or print the predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa

from tabnas.data import ClassTarget, Table
from tabnas.errors import TabNASError
from tabnas.files import atomic_file
from tabnas.formatting import sanitize
from tabnas.model import Model


@dataclass(frozen=True)
class OutputFormat:
    """How predictions are written: what threads prepare, and what is left for the writer."""

    prepare: Callable[[pa.Table], Any]
    open_writer: Callable[[BinaryIO, pa.Schema], Any]
    write: Callable[[Any, Any], object]  # the writer, and a table as it was prepared


class Chunk(NamedTuple):
    """The predictions of some rows."""

    table: pa.Table
    prepared: Any


def _make_label_column(target: ClassTarget) -> pa.Array:
    """Return the labels of the classes, in their type; as texts if no type of Arrow holds all."""
    try:
        return pa.array(target.labels)
    except OverflowError:  # integers below 0 and beyond 2^63
        return pa.array(list(map(str, target.classes)))


def predict_chunks(
    model: Model, table: Table, output: OutputFormat, *, printable: bool = False
) -> Iterator[Chunk]:
    """Yield the predicted labels and probabilities, or values, of some rows at a time.

    With `printable`, names and texts have no control characters.
    """
    names = column_names(model.target.name, model.classes)
    labels = _make_label_column(model.target) if isinstance(model.target, ClassTarget) else None

    def make_chunk(raw: Any) -> Chunk:
        predictions = model.decode(raw)
        if labels is None:
            columns = [predictions]
        else:
            # Arrow would copy other arrays under Python's global lock
            probabilities = np.ascontiguousarray(predictions.T)
            columns = [labels.take(pa.array(predictions.argmax(axis=1))), *probabilities]
        chunk = pa.table(columns, names)
        chunk = sanitize_table(chunk) if printable else chunk
        return Chunk(chunk, output.prepare(chunk))

    if not len(table):  # there are columns of predictions nevertheless
        yield make_chunk(model.predict_raw(table))
    yield from model.map_outputs(make_chunk, table)


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
    if path.suffix.lower() not in FORMATS:
        raise TabNASError(f"--out must end in one of {', '.join(FORMATS)}, got {path.name!r}")
    if path.exists() and source.exists() and path.samefile(source):
        raise TabNASError(
            f"--out must differ from the file of rows, got {str(path)!r} for both; name another"
        )


def find_format(path: Path | None) -> OutputFormat:
    """Return the format of a file by its suffix, and that of standard output for None."""
    return FORMATS[".csv" if path is None else path.suffix.lower()]


def write_predictions(chunks: Iterator[Chunk], path: Path) -> None:
    """Write predictions in the format of the suffix; the file appears only when complete."""
    try:
        with _create_folder(path.parent), atomic_file(path, sync=False) as file:
            print_predictions(chunks, file, find_format(path))
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


def print_predictions(chunks: Iterator[Chunk], out: BinaryIO, output: OutputFormat) -> None:
    """Write predictions to an open file, one chunk after another."""
    first = next(chunks)
    with output.open_writer(out, first.table.schema) as writer:
        for chunk in chain([first], chunks):
            output.write(writer, chunk.prepared)


def sanitize_table(chunk: pa.Table) -> pa.Table:
    """Return the table with names and texts that are safe to print.

    They come from a table of unknown origin, and a terminal would obey control characters.
    """
    columns = [
        pa.chunked_array([[sanitize(text) for text in column.to_pylist()]], pa.string())
        if pa.types.is_string(column.type)
        else column
        for column in chunk.columns
    ]
    return pa.table(columns, [sanitize(name) for name in chunk.column_names])


def _csv_format(delimiter: str) -> OutputFormat:
    def format_rows(chunk: pa.Table, *, header: bool = False) -> Any:
        from pyarrow import csv

        text = pa.BufferOutputStream()
        csv.write_csv(chunk, text, csv.WriteOptions(include_header=header, delimiter=delimiter))
        return text.getvalue()

    @contextmanager
    def open_writer(sink: BinaryIO, schema: pa.Schema) -> Iterator[BinaryIO]:
        sink.write(format_rows(schema.empty_table(), header=True))
        yield sink

    return OutputFormat(format_rows, open_writer, lambda sink, text: sink.write(text))


def _parquet_writer(sink: BinaryIO, schema: pa.Schema) -> Any:
    from pyarrow import parquet

    # probabilities hardly repeat, so a dictionary of them would cost time and space
    labels = [column.name for column in schema if not pa.types.is_floating(column.type)]
    return parquet.ParquetWriter(sink, schema, use_dictionary=labels)


def _feather_writer(sink: BinaryIO, schema: pa.Schema) -> Any:
    # pyarrow.feather writes only complete tables; this is its format and compression
    return pa.ipc.new_file(sink, schema, options=pa.ipc.IpcWriteOptions(compression="lz4"))


def _table_format(open_writer: Callable[[BinaryIO, pa.Schema], Any]) -> OutputFormat:
    return OutputFormat(
        lambda chunk: chunk, open_writer, lambda writer, chunk: writer.write_table(chunk)
    )


FORMATS: dict[str, OutputFormat] = {
    ".csv": _csv_format(","),
    ".tsv": _csv_format("\t"),
    ".parquet": _table_format(_parquet_writer),
    ".feather": _table_format(_feather_writer),
}
