"""The datasets that come with scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

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
    from sklearn import datasets

    load: Callable[..., Any] = getattr(datasets, f"load_{name}")
    bunch = load()
    columns = {str(n): bunch.data[:, i] for i, n in enumerate(bunch.feature_names)}
    labels = getattr(bunch, "target_names", None)
    target = bunch.target if labels is None or not len(labels) else labels[bunch.target]
    return Dataset(name, Table.from_data(columns | {"target": target}), "target")


DATASETS = [
    NamedDataset(name, "scikit-learn", description, partial(load_from_sklearn, name))
    for name, description in SHIPPED.items()
]
