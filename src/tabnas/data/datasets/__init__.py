"""Datasets by name: one file per source, and a folder of the user's tables."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from tabnas.data._number_text import check_decimal_mark
from tabnas.data._readers import read_table
from tabnas.data._table import set_decimal_mark
from tabnas.data.datasets import _bundled, _openml, _scikit_learn
from tabnas.data.datasets._bundled import bundled_file
from tabnas.data.datasets._dataset import Dataset, Listing, NamedDataset
from tabnas.data.datasets._folder import data_folder, find_tables, list_tables
from tabnas.data.datasets._openml import load_from_openml
from tabnas.errors import TabNASError, did_you_mean
from tabnas.registries import by_name

__all__ = [
    "DATASETS",
    "Dataset",
    "Listing",
    "NamedDataset",
    "bundled_file",
    "data_folder",
    "find_tables",
    "list_datasets",
    "load_dataset",
]

DATASETS: dict[str, NamedDataset] = by_name(
    *_bundled.DATASETS, *_scikit_learn.DATASETS, *_openml.DATASETS
)
"""Every dataset by name; those that need no network come first. Add your own by assignment."""


def list_datasets(folder: Path | None = None) -> list[Listing]:
    """List all datasets that `load_dataset` knows by name."""
    named = [Listing(d.name, d.source, d.description) for d in DATASETS.values()]
    files = list_tables(folder or data_folder())
    return [*named, *(Listing(path.name, "folder", str(path.parent)) for path in files)]


def load_dataset(
    name: str,
    *,
    target: str | None = None,
    folder: Path | None = None,
    text: Collection[str] = (),
    decimal: str | None = None,
) -> Dataset:
    """Load a dataset by its name, an OpenML number, or a file's name in the data folder.

    A file in the data folder goes before a dataset of the same name. `target` names the column to
    predict, where the dataset does not say: files do not. `decimal` is the decimal mark, and the
    columns `text` of a file are read as texts, as by `read_table`.
    """
    check_decimal_mark(decimal)
    paths = find_tables(name, folder)
    if len(paths) > 1:
        raise TabNASError(
            f"{name!r} must be one file, but it is {', '.join(path.name for path in paths)}; "
            "name it with its ending"
        )
    for path in paths:
        if target is None:
            raise TabNASError(f"the file {path.name!r} needs the name of its target column")
        return Dataset(name, read_table(path, text=text, decimal=decimal), target)
    dataset = None
    if name in DATASETS:
        dataset = DATASETS[name].load()
    elif name.isdecimal():
        dataset = load_from_openml(name, int(name))
    if dataset is not None:
        return replace(dataset, table=set_decimal_mark(dataset.table, decimal))
    known = [listing.name for listing in list_datasets(folder)]
    raise TabNASError(f"there is no dataset {name!r}; {did_you_mean(name, known)}")
