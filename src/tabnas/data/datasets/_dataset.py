"""Datasets with a name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tabnas.data._table import Table


@dataclass(frozen=True)
class Dataset:
    """A table and its target column."""

    name: str
    table: Table
    target: str


@dataclass(frozen=True)
class Listing:
    """What is known of a dataset before it is loaded."""

    name: str
    source: str
    description: str


@dataclass(frozen=True)
class NamedDataset(Listing):
    """A dataset that can be loaded by its name."""

    load: Callable[[], Dataset]
