"""Real tables that come with tabnas; `tables/README.md` has their sources and licences."""

from __future__ import annotations

from functools import partial
from importlib import resources
from pathlib import Path

from tabnas.data._readers import read_table
from tabnas.data.datasets._dataset import Dataset, NamedDataset

COMPLETE = {  # target, and what is in it
    "adult": ("income", "48,842 rows, 6 numbers, 8 categories, 2 classes; missing values"),
    "california_housing": ("MedHouseVal", "20,640 rows, 8 numbers, a quantity"),
    "connect4": ("outcome", "67,557 rows, 42 categories, 3 classes; of the paper"),
    "letter": ("letter", "20,000 rows, 16 numbers, 26 classes"),
}
"""Bundled tables that hold all rows of their source."""


def bundled_file(file: str) -> Path | None:
    """Return the path of a bundled table's file, or None if there is no such file."""
    path = Path(str(resources.files("tabnas.data.datasets"))) / "tables" / file
    return path if path.suffix == ".parquet" and path.is_file() else None


def load_bundled(name: str) -> Dataset:
    """Load a bundled table."""
    path = bundled_file(f"{name}.parquet")
    assert path is not None, f"{name} is not part of the installation"
    return Dataset(name, read_table(path), COMPLETE[name][0])


DATASETS = [
    NamedDataset(name, "tabnas", description, partial(load_bundled, name))
    for name, (_, description) in COMPLETE.items()
]
