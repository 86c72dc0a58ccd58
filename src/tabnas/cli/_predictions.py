"""Predictions as a table, and as a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa

from tabnas.data import Table
from tabnas.errors import TabnasError, did_you_mean
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


def write_predictions(table: pa.Table, path: Path) -> None:
    """Write in the format that the name ends with; the file appears whole or not at all."""
    if path.suffix.lower() not in WRITERS:
        raise TabnasError(
            f"predictions can be written to {', '.join(WRITERS)}, however {path.name!r} was given; "
            f"{did_you_mean(path.suffix, WRITERS)}"
        )
    aside = path.with_name(f".{path.name}.{uuid4().hex[:8]}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        WRITERS[path.suffix.lower()](table, aside)
        os.replace(aside, path)
    except OSError as error:
        raise TabnasError(f"{str(path)!r} cannot be written: {error.strerror or error}") from None
    finally:
        aside.unlink(missing_ok=True)


def _separated(delimiter: str) -> Callable[[pa.Table, Path], Any]:
    def write(table: pa.Table, path: Path) -> None:
        from pyarrow import csv

        csv.write_csv(table, path, csv.WriteOptions(delimiter=delimiter))

    return write


def _parquet(table: pa.Table, path: Path) -> None:
    from pyarrow import parquet

    parquet.write_table(table, path)


def _feather(table: pa.Table, path: Path) -> None:
    from pyarrow import feather

    feather.write_feather(table, path)


WRITERS: dict[str, Callable[[pa.Table, Path], Any]] = {
    ".csv": _separated(","),
    ".tsv": _separated("\t"),
    ".parquet": _parquet,
    ".feather": _feather,
}
