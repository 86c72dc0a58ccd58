"""What an experiment is: jobs, the rows that each gives, and what all rows say together."""

from __future__ import annotations

import tomllib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar

Job = dict[str, Any]
"""One piece of work: plain values, which name it among all others."""
Row = dict[str, Any]
"""One result: plain values and lists of them, a row of `rows.parquet`."""


class Experiment(ABC):
    """One artefact of the paper.

    What is compared on what stands in a TOML file of the same name: `shows` is its title, `takes`
    about how long it takes, and the table `[quick]` what is smaller in a quick form. The runner
    makes the jobs in any order, in several processes, and goes on with what is left after an
    interruption, so a job may rely on nothing but itself.
    """

    name: ClassVar[str]

    def __init__(self, definition: Mapping[str, Any], data: Path | None = None) -> None:
        self.definition = definition
        self.data = data  # a folder of tables, whose files go before those of tabnas

    @abstractmethod
    def jobs(self) -> list[Job]:
        """All that is to be done."""

    @abstractmethod
    def run(self, job: Job) -> list[Row]:
        """The rows of one job; the job's own values are put before them."""

    @abstractmethod
    def summarise(self, rows: list[Row]) -> dict[str, Any]:
        """What the rows say, for `summary.json`."""

    @abstractmethod
    def report(self, rows: list[Row], summary: Mapping[str, Any]) -> str:
        """The same for people: a few words and a table, in Markdown."""

    @abstractmethod
    def draw(self, rows: list[Row], summary: Mapping[str, Any], out: Path) -> None:
        """The figures, with `save` of `_figures`."""


def read_definition(name: str, *, quick: bool) -> dict[str, Any]:
    """The TOML file of an experiment; in its quick form with what `[quick]` puts in place."""
    file = resources.files("tabnas.paper").joinpath(f"experiments/{name}.toml")
    said = tomllib.loads(file.read_text())
    smaller = said.pop("quick", {})
    return _replaced(said, smaller) if quick else said


def _replaced(said: dict[str, Any], smaller: Mapping[str, Any]) -> dict[str, Any]:
    both = dict(said)
    for key, value in smaller.items():
        inner = both.get(key)
        both[key] = (
            _replaced(inner, value)
            if isinstance(inner, dict) and isinstance(value, Mapping)
            else value
        )
    return both
