"""Predictions as a table, and as a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from tabnas.data import Table
from tabnas.errors import TabnasError
from tabnas.files import write_whole
from tabnas.model import Model


def predictions(model: Model, table: Table) -> pa.Table:
    """The label and the probability of each class, or the value, by row."""
    name = model.target.name
    if not model.classes:
        return pa.table({name: model.predict(table)})
    probabilities = model.predict_proba(table)
    labels = model.target.decode(probabilities.argmax(axis=1))  # type: ignore[attr-defined]
    columns = {
        f"probability of {label}": probabilities[:, k] for k, label in enumerate(model.classes)
    }
    return pa.table({name: labels} | columns)


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


def write_predictions(table: pa.Table, path: Path) -> None:
    """Write in the format that the name ends with; the file appears whole or not at all."""
    sink = pa.BufferOutputStream()
    WRITERS[path.suffix.lower()](table, sink)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, sink.getvalue().to_pybytes(), sync=False)
    except OSError as error:
        raise TabnasError(
            f"{str(path)!r} cannot be written ({error.strerror or error}); name another with --out"
        ) from None


def _separated(delimiter: str) -> Callable[[pa.Table, Any], Any]:
    def write(table: pa.Table, sink: Any) -> None:
        from pyarrow import csv

        csv.write_csv(table, sink, csv.WriteOptions(delimiter=delimiter))

    return write


def _parquet(table: pa.Table, sink: Any) -> None:
    from pyarrow import parquet

    parquet.write_table(table, sink)


def _feather(table: pa.Table, sink: Any) -> None:
    from pyarrow import feather

    feather.write_feather(table, sink)


WRITERS: dict[str, Callable[[pa.Table, Any], Any]] = {
    ".csv": _separated(","),
    ".tsv": _separated("\t"),
    ".parquet": _parquet,
    ".feather": _feather,
}
