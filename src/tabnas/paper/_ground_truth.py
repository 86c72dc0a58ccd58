"""Ground truth: every architecture of a space trained alone, for judging what searches return."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from tabnas.errors import TabNASError, did_you_mean
from tabnas.paper._table_files import locate_file, sample_rows
from tabnas.runs import LabelledTable, PlannedRun, RunSettings, plan_run
from tabnas.space import COSTS, Architecture, Budget, SearchSpace
from tabnas.types import FloatArray, IntArray

LAYERS = 3
NO_LIMIT = 10**9
POOLED = 41
"""Architectures of neighbouring losses whose variances are averaged."""


@dataclass(frozen=True, kw_only=True)
class GroundTruthTable:
    """One table as the TOML file describes it."""

    name: str
    file: str
    target: str
    rows: int
    widths: tuple[int, ...]
    seeds: int

    def run(self, folder: Path | None) -> PlannedRun:
        """The rows, split and encoded, and the settings of a default run with them."""
        table = sample_rows(locate_file(self.file, folder), self.rows, name="ground truth")
        labelled = LabelledTable.from_table(table, self.target)
        settings = RunSettings(
            limits={"parameters": NO_LIMIT}, layers=LAYERS, widths=self.widths, baselines=False
        )
        return plan_run(labelled, settings)


def ground_truth_tables() -> dict[str, GroundTruthTable]:
    """All tables with a ground truth, by name."""
    text = resources.files("tabnas.paper").joinpath("ground_truth/tables.toml").read_text()
    return {
        name: GroundTruthTable(name=name, **{**said, "widths": tuple(said["widths"])})
        for name, said in tomllib.loads(text).items()
    }


def ground_truth_table(name: str) -> GroundTruthTable:
    """One of them."""
    tables = ground_truth_tables()
    if name not in tables:
        raise TabNASError(f"there is no ground truth {name!r}; {did_you_mean(name, tables)}")
    return tables[name]


@dataclass(frozen=True, eq=False, kw_only=True)
class GroundTruth:
    """Every architecture of a space, and what became of it when it was trained alone."""

    space: SearchSpace
    architectures: tuple[Architecture, ...]
    costs: Mapping[str, IntArray]  # by name, [architectures]
    losses: Mapping[str, FloatArray]  # on "validation" and "test" rows, [architectures, seeds]
    errors: Mapping[str, FloatArray]  # balanced, likewise; none for quantities
    seconds: FloatArray  # [architectures, seeds]
    provenance: Mapping[str, Any]

    def deviation(self, part: str = "validation") -> FloatArray:
        """From seed to seed, [architectures]: pooled over those of about the same loss.

        Three seeds say little about one architecture, and good ones vary less than bad ones.
        """
        losses = self.losses[part]
        order = np.argsort(losses.mean(axis=1))
        variance = losses.var(axis=1, ddof=1)[order]
        pooled = np.convolve(np.pad(variance, POOLED // 2, mode="edge"), np.ones(POOLED) / POOLED)
        smooth = pooled[POOLED - 1 : POOLED - 1 + len(order)]
        found = np.empty(len(order))
        found[order] = np.sqrt(smooth)
        return found

    @cached_property
    def choices(self) -> IntArray:
        """Those of all architectures, [architectures, layers]."""
        return np.array([self.space.choices(one) for one in self.architectures])

    def places(self, choices: IntArray) -> IntArray:
        """Which architectures choices are, [...]; -1: none, a layer follows an absent one."""
        return np.asarray(self._place[tuple(np.moveaxis(choices, -1, 0))])

    @cached_property
    def _place(self) -> IntArray:
        place = np.full([len(layer) for layer in self.space.candidates], -1)
        place[tuple(self.choices.T)] = np.arange(len(self.choices))
        return place

    def limit_kept_by(self, share: float, cost: str = "parameters") -> int:
        """The limit that this share of the architectures keeps."""
        return int(np.quantile(self.costs[cost], share))

    def regrets(
        self, budget: Budget, part: str = "validation", *, chosen_by: int | None = None
    ) -> FloatArray:
        """How much worse than the best within the limits, in deviations from seed to seed.

        For every architecture, [architectures]; NaN for what is over the limits. An architecture
        that was chosen by its training with one of the seeds is judged by the others, since that
        one was lucky more often than not; so its regret may be below 0.
        """
        losses = self.losses[part]
        inside = np.array([budget.admits(self.space, one) for one in self.architectures])
        best = int(np.where(inside, losses.mean(axis=1), np.inf).argmin())
        others = np.arange(losses.shape[1]) != (-1 if chosen_by is None else chosen_by)
        means = losses[:, others].mean(axis=1)
        return np.where(inside, (means - means[best]) / self.deviation(part)[best], np.nan)

    def regret(
        self,
        architecture: Architecture,
        budget: Budget,
        part: str = "validation",
        *,
        chosen_by: int | None = None,
    ) -> float:
        """`regrets` of one; what is over the limits is refused."""
        regrets = self.regrets(budget, part, chosen_by=chosen_by)
        regret = float(regrets[self.architectures.index(architecture)])
        if not isfinite(regret):
            raise TabNASError(f"{architecture} must be within {budget}, but it is not")
        return regret


def ground_truth_names() -> list[str]:
    """The tables whose ground truth comes with tabnas."""
    folder = resources.files("tabnas.paper").joinpath("ground_truth")
    return [name for name in ground_truth_tables() if folder.joinpath(f"{name}.parquet").is_file()]


def ground_truth(name: str) -> GroundTruth:
    """The ground truth of a table, as it comes with tabnas.

    >>> truth = ground_truth("letter")
    >>> len(truth.architectures)
    585
    >>> truth.losses["validation"].shape
    (585, 3)
    """
    ground_truth_table(name)  # refuses unknown names
    file = resources.files("tabnas.paper").joinpath(f"ground_truth/{name}.parquet")
    if not file.is_file():
        raise TabNASError(
            f"the ground truth {name!r} does not come with tabnas; make it with "
            f"tabnas paper ground-truth {name}"
        )
    with resources.as_file(file) as path:
        return read_ground_truth(path)


def read_ground_truth(path: Path) -> GroundTruth:
    """The ground truth that a file holds."""
    table = pq.read_table(path)
    facts = json.loads(table.schema.metadata[b"tabnas"])
    rows = table.to_pydict()
    names = list(dict.fromkeys(rows["architecture"]))
    seeds = len(rows["seed"]) // len(names)
    place = {name: k for k, name in enumerate(names)}
    at = (np.array([place[name] for name in rows["architecture"]]), np.array(rows["seed"]))

    def spread(column: str) -> FloatArray:
        values = np.full((len(names), seeds), np.nan)
        values[at] = rows[column]
        return values

    parts = ("validation", "test")
    errors = [part for part in parts if f"{part}_balanced_error" in rows]
    return GroundTruth(
        space=SearchSpace(**facts["space"]),
        architectures=tuple(map(Architecture.parse, names)),
        # of those that were known when it was made
        costs={name: spread(name)[:, 0].astype(np.int64) for name in COSTS if name in rows},
        losses={part: spread(f"{part}_loss") for part in parts},
        errors={part: spread(f"{part}_balanced_error") for part in errors},
        seconds=spread("seconds"),
        provenance=facts,
    )
