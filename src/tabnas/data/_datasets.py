"""Named datasets: those that ship with scikit-learn, OpenML's, and a folder of files."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabnas.data._readers import READERS, read_table
from tabnas.data._table import Table
from tabnas.errors import TabnasError, did_you_mean

FOLDER_VARIABLE = "TABNAS_DATA"


@dataclass(frozen=True)
class Dataset:
    """A table, and which of its columns is to be predicted."""

    name: str
    table: Table
    target: str


@dataclass(frozen=True)
class Listing:
    """What is known of a dataset before it is loaded."""

    name: str
    source: str
    about: str


SHIPPED = {  # scikit-learn's loader and what is in it
    "breast_cancer": "569 rows, 30 numbers, 2 classes",
    "diabetes": "442 rows, 10 numbers, a quantity",
    "digits": "1,797 rows, 64 numbers, 10 classes",
    "iris": "150 rows, 4 numbers, 3 classes",
    "wine": "178 rows, 13 numbers, 3 classes",
}

OPENML = {  # the paper's, by their OpenML number
    "aloi": (42396, "108,000 rows, 128 numbers, 1,000 classes; of the paper"),
    "connect-4": (40668, "67,557 rows, 42 categories, 3 classes; of the paper"),
    "higgs": (23512, "98,050 rows, 28 numbers, 2 classes; of the paper"),
    "volkert": (41166, "58,310 rows, 180 numbers, 10 classes; of the paper"),
}


def list_datasets(folder: Path | None = None) -> list[Listing]:
    """All datasets that `load_dataset` knows by name."""
    shipped = [Listing(name, "scikit-learn", about) for name, about in SHIPPED.items()]
    openml = [Listing(name, f"OpenML {n}", about) for name, (n, about) in OPENML.items()]
    local = [
        Listing(path.name, "folder", str(path.parent)) for path in _files(folder or data_folder())
    ]
    return [*shipped, *openml, *local]


def load_dataset(name: str, *, target: str | None = None, folder: Path | None = None) -> Dataset:
    """Load a dataset by its name, an OpenML number, or a file's name in the data folder.

    `target` names the column to predict, where the dataset does not say: files do not.
    """
    if name in SHIPPED:
        return _shipped(name)
    for path in _files(folder or data_folder()):
        if name in (path.name, path.name.split(".")[0]):
            if target is None:
                raise TabnasError(f"the file {path.name!r} needs the name of its target column")
            return Dataset(name, read_table(path), target)
    if name in OPENML:
        return _openml(name, OPENML[name][0])
    if name.isdecimal():
        return _openml(name, int(name))
    known = [listing.name for listing in list_datasets(folder)]
    raise TabnasError(f"there is no dataset {name!r}; {did_you_mean(name, known)}")


def data_folder() -> Path | None:
    """The folder of local files that the environment variable TABNAS_DATA names."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else None


def _files(folder: Path | None) -> list[Path]:
    if folder is None:
        return []
    if not folder.is_dir():
        raise TabnasError(f"the data folder {str(folder)!r} is no folder")
    return sorted(path for path in folder.iterdir() if set(path.suffixes) & set(READERS))


def _shipped(name: str) -> Dataset:
    from sklearn import datasets

    load: Callable[..., Any] = getattr(datasets, f"load_{name}")
    bunch = load()
    columns = {str(n): bunch.data[:, i] for i, n in enumerate(bunch.feature_names)}
    labels = getattr(bunch, "target_names", None)
    target = bunch.target if labels is None or not len(labels) else labels[bunch.target]
    return Dataset(name, Table.of(columns | {"target": target}), "target")


def _openml(name: str, number: int) -> Dataset:
    from sklearn.datasets import fetch_openml

    try:
        bunch = fetch_openml(data_id=number, as_frame=True, parser="auto", n_retries=0)
    except OSError as error:
        raise TabnasError(
            f"the dataset {name!r} (OpenML {number}) is not in the local cache and cannot be "
            f"fetched: {error}; put its file into a folder and name that in {FOLDER_VARIABLE}"
        ) from None
    return Dataset(name, Table.of(bunch.frame), str(bunch.target_names[0]))
