"""The base class of experiments: jobs, the rows that each returns, and a summary of all rows."""

from __future__ import annotations

import tomllib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

Job = dict[str, Any]
"""The plain values that identify one piece of work."""
Row = dict[str, Any]
"""One result: plain values and lists of them, a row of `rows.parquet`."""


class Experiment(ABC):
    """One experiment of the paper.

    Its settings are in a file `definition.toml` beside it: `title`, `duration` (about how long it
    takes), and a table `[quick]` of values that replace others in a quick form. The runner runs the
    jobs in any order, in several processes, and continues after an interruption, so a job must not
    depend on other jobs.
    """

    name: ClassVar[str]

    def __init__(self, definition: Mapping[str, Any], data: Path | None = None) -> None:
        self.definition = definition
        self.data = data  # a folder of tables, which takes precedence over the bundled ones

    @abstractmethod
    def jobs(self) -> list[Job]:
        """Return all jobs."""

    @abstractmethod
    def run(self, job: Job) -> list[Row]:
        """Return the rows of one job; the runner adds the values of the job to each."""

    @abstractmethod
    def summarize(self, rows: list[Row]) -> dict[str, Any]:
        """Return what is written to `summary.json`."""

    @abstractmethod
    def report(self, rows: list[Row], summary: Mapping[str, Any]) -> str:
        """Return the report as Markdown."""

    @abstractmethod
    def plot(self, rows: list[Row], summary: Mapping[str, Any], out: Path) -> None:
        """Write the figures to the folder `out`."""


def read_definition(name: str, *, quick: bool) -> dict[str, Any]:
    """Return the definition of an experiment; in its quick form with the values of `[quick]`."""
    file = resources.files("tabnas.paper").joinpath(f"experiments/{name}/definition.toml")
    definition = tomllib.loads(file.read_text())
    changes = definition.pop("quick", {})
    return _update(definition, changes) if quick else definition


def _update(definition: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    updated = dict(definition)
    for key, value in changes.items():
        inner = updated.get(key)
        if isinstance(inner, dict) and isinstance(value, Mapping):
            value = _update(inner, value)
        updated[key] = value
    return updated


# --- rows -----------------------------------------------------------------------------------------


def filter_rows(rows: Iterable[Row], **values: Any) -> list[Row]:
    """Return the rows that have all of these values."""
    return [row for row in rows if all(row.get(key) == value for key, value in values.items())]


def group_rows(rows: Iterable[Row], *keys: str) -> dict[Any, list[Row]]:
    """Return the rows by the value of a key, or by the tuple of values of several keys."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        name = row[keys[0]] if len(keys) == 1 else tuple(row[key] for key in keys)
        groups.setdefault(name, []).append(row)
    return groups


def unique(rows: Iterable[Mapping[str, Any]], key: str) -> list[Any]:
    """Return the values of a key in order of appearance, each once."""
    return list(dict.fromkeys(row[key] for row in rows))


def mean(values: Iterable[Any]) -> float:
    """Return the mean of values as a Python float."""
    return float(np.mean(list(values)))
