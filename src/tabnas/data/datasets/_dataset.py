"""What a dataset with a name is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tabnas.data._table import Table


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


@dataclass(frozen=True)
class NamedDataset(Listing):
    """A dataset that can be loaded by its name alone; `fetched`: over the network."""

    load: Callable[[], Dataset]
    fetched: bool = False
