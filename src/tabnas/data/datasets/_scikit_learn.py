"""The datasets that come with scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv

from tabnas.data._table import Table
from tabnas.data.datasets._dataset import Dataset, NamedDataset

SHIPPED = {  # scikit-learn's loader and what is in it
    "breast_cancer": "569 rows, 30 numbers, 2 classes",
    "diabetes": "442 rows, 10 numbers, a quantity",
    "digits": "1,797 rows, 64 numbers, 10 classes",
    "iris": "150 rows, 4 numbers, 3 classes",
    "wine": "178 rows, 13 numbers, 3 classes",
}


def load_from_sklearn(name: str) -> Dataset:
    """Load one of them; its target is called "target"."""
    if name == "digits":
        file = _find_file("digits.csv.gz")
        if file is not None:
            return Dataset(name, _read_digits(file), "target")
    from sklearn import datasets

    load: Callable[..., Any] = getattr(datasets, f"load_{name}")
    bunch = load()
    columns = {str(n): bunch.data[:, i] for i, n in enumerate(bunch.feature_names)}
    labels = getattr(bunch, "target_names", None)
    target = bunch.target if labels is None or not len(labels) else labels[bunch.target]
    return Dataset(name, Table.from_data(columns | {"target": target}), "target")


def _find_file(name: str) -> Path | None:
    """Return the path of one of scikit-learn's files, or None if there is no such file."""
    package = find_spec("sklearn")
    if package is None or package.origin is None:
        return None
    file = Path(package.origin).parent / "datasets" / "data" / name
    return file if file.is_file() else None


def _read_digits(file: Path) -> Table:
    """Read the digits, of which only the pixels have names to make up.

    The first search of most people should not wait until scikit-learn is imported.
    """
    names = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]
    types = dict.fromkeys(names, pa.float64()) | {"target": pa.int64()}
    return Table(
        csv.read_csv(
            file,
            read_options=csv.ReadOptions(column_names=list(types)),
            convert_options=csv.ConvertOptions(column_types=types),
        )
    )


DATASETS = [
    NamedDataset(name, "scikit-learn", description, partial(load_from_sklearn, name))
    for name, description in SHIPPED.items()
]
