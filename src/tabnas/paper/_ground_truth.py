"""Ground truth: every architecture of a space trained stand-alone, to evaluate searches."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from tabnas.decoding import decode, parse_toml
from tabnas.errors import TabNASError, did_you_mean
from tabnas.paper._table_files import locate_file, sample_rows
from tabnas.runs import LabelledTable, PlannedRun, RunSettings, plan_run
from tabnas.space import COSTS, Architecture, Budget, SearchSpace
from tabnas.types import FloatArray, IntArray

LAYERS = 3
NO_LIMIT = 10**9
POOL_SIZE = 41
"""Architectures of neighbouring losses whose variances are averaged."""


@dataclass(frozen=True, kw_only=True)
class GroundTruthTable:
    """A table of `ground_truth/tables.toml`."""

    file: str
    target: str
    rows: int
    widths: tuple[int, ...]
    seeds: int

    def plan_run(self, folder: Path | None) -> PlannedRun:
        """Return a default run with this table, its rows split and encoded.

        Its space and trainings are the paper's: numbers have no embeddings, and weights no average.
        """
        table = sample_rows(locate_file(self.file, folder), self.rows, name="ground truth")
        settings = RunSettings(
            limits={"parameters": NO_LIMIT},
            layers=LAYERS,
            widths=self.widths,
            numeric_dimensions=(0,),
            reference_models=False,
        )
        run = plan_run(LabelledTable.from_table(table, self.target), settings)
        training = replace(run.plan.training, averaging=0.0)
        return replace(run, plan=replace(run.plan, training=training))


def load_ground_truth_tables() -> dict[str, GroundTruthTable]:
    """Return the tables for which a ground truth is defined, by name."""
    source = "ground_truth/tables.toml"
    text = resources.files("tabnas.paper").joinpath(source).read_text()
    return decode(dict[str, GroundTruthTable], parse_toml(text, source=source), source=source)


def get_ground_truth_table(name: str) -> GroundTruthTable:
    """Return the table with this name."""
    tables = load_ground_truth_tables()
    if name not in tables:
        raise TabNASError(f"there is no ground truth {name!r}; {did_you_mean(name, tables)}")
    return tables[name]


@dataclass(frozen=True, eq=False, kw_only=True)
class GroundTruth:
    """Every architecture of a space, and the results of its stand-alone trainings."""

    space: SearchSpace
    architectures: tuple[Architecture, ...]
    costs: Mapping[str, IntArray]  # by name, [architectures]
    losses: Mapping[str, FloatArray]  # on "validation" and "test" rows, [architectures, seeds]
    errors: Mapping[str, FloatArray]  # balanced errors, likewise; empty for regression
    seconds: FloatArray  # [architectures, seeds]
    provenance: Mapping[str, Any]

    def seed_std(self, part: str = "validation") -> FloatArray:
        """Return the standard deviation of the loss over seeds, [architectures].

        Three seeds say little about one architecture, so variances are averaged over
        architectures of about the same loss; good ones vary less than bad ones.
        """
        losses = self.losses[part]
        order = np.argsort(losses.mean(axis=1))
        variance = losses.var(axis=1, ddof=1)[order]
        padded = np.pad(variance, POOL_SIZE // 2, mode="edge")
        pooled = np.convolve(padded, np.ones(POOL_SIZE) / POOL_SIZE)
        std = np.empty(len(order))
        std[order] = np.sqrt(pooled[POOL_SIZE - 1 : POOL_SIZE - 1 + len(order)])
        return std

    @cached_property
    def choices(self) -> IntArray:
        """The choices of all architectures, [architectures, layers]."""
        return np.array([self.space.choices(architecture) for architecture in self.architectures])

    def find(self, choices: IntArray) -> IntArray:
        """Return the indices of the architectures with these choices, [...].

        The index is -1 for choices that are not an architecture: a layer follows an absent one.
        """
        return np.asarray(self._index[tuple(np.moveaxis(choices, -1, 0))])

    @cached_property
    def _index(self) -> IntArray:
        index = np.full([len(layer) for layer in self.space.widths], -1)
        index[tuple(self.choices.T)] = np.arange(len(self.choices))
        return index

    def cost_quantile(self, share: float) -> int:
        """Return the limit on parameters that this share of the architectures meets."""
        return int(np.quantile(self.costs["parameters"], share))

    def regrets(
        self, budget: Budget, part: str = "validation", *, selection_seed: int | None = None
    ) -> FloatArray:
        """Return how much worse architectures are than the best one within a budget.

        The unit is the standard deviation over seeds of the best one. The result is of shape
        [architectures], and NaN over the limits. If an architecture was selected by its training
        with one of the seeds, pass this seed as `selection_seed`: that training was lucky more
        often than not, so only the others count, and the regret may be negative.
        """
        losses = self.losses[part]
        inside = np.array([budget.admits(self.space, network) for network in self.architectures])
        best = int(np.where(inside, losses.mean(axis=1), np.inf).argmin())
        others = np.arange(losses.shape[1]) != (-1 if selection_seed is None else selection_seed)
        means = losses[:, others].mean(axis=1)
        return np.where(inside, (means - means[best]) / self.seed_std(part)[best], np.nan)

    def regret(
        self,
        architecture: Architecture,
        budget: Budget,
        part: str = "validation",
        *,
        selection_seed: int | None = None,
    ) -> float:
        """Return the regret of one architecture; raise an error unless it is within the budget."""
        regrets = self.regrets(budget, part, selection_seed=selection_seed)
        regret = float(regrets[self.architectures.index(architecture)])
        if not isfinite(regret):
            raise TabNASError(f"the architecture must be within {budget}, got {architecture}")
        return regret


def list_ground_truths() -> list[str]:
    """Return the names of the tables whose ground truth comes with tabnas."""
    folder = resources.files("tabnas.paper").joinpath("ground_truth")
    names = load_ground_truth_tables()
    return [name for name in names if folder.joinpath(f"{name}.parquet").is_file()]


def load_ground_truth(name: str) -> GroundTruth:
    """Return the ground truth of a table that comes with tabnas.

    >>> truth = load_ground_truth("letter")
    >>> len(truth.architectures)
    585
    >>> truth.losses["validation"].shape
    (585, 3)
    """
    get_ground_truth_table(name)  # raises an error for unknown names
    file = resources.files("tabnas.paper").joinpath(f"ground_truth/{name}.parquet")
    if not file.is_file():
        raise TabNASError(
            f"the ground truth {name!r} does not come with tabnas; build it with "
            f"tabnas paper ground-truth {name}"
        )
    with resources.as_file(file) as path:
        return read_ground_truth(path)


def read_ground_truth(path: Path) -> GroundTruth:
    """Read a ground truth from a file."""
    table = pq.read_table(path)
    metadata = json.loads(table.schema.metadata[b"tabnas"])
    rows = table.to_pydict()
    names = list(dict.fromkeys(rows["architecture"]))
    seeds = len(rows["seed"]) // len(names)
    index = {name: i for i, name in enumerate(names)}
    at = (np.array([index[name] for name in rows["architecture"]]), np.array(rows["seed"]))

    def to_array(column: str) -> FloatArray:
        values = np.full((len(names), seeds), np.nan)
        values[at] = rows[column]
        return values

    parts = ("validation", "test")
    with_errors = [part for part in parts if f"{part}_balanced_error" in rows]
    return GroundTruth(
        space=_load_space(metadata["space"]),
        architectures=tuple(map(Architecture.parse, names)),
        # the costs that existed when the file was written
        costs={name: to_array(name)[:, 0].astype(np.int64) for name in COSTS if name in rows},
        losses={part: to_array(f"{part}_loss") for part in parts},
        errors={part: to_array(f"{part}_balanced_error") for part in with_errors},
        seconds=to_array("seconds"),
        provenance=metadata,
    )


def _load_space(fields: Mapping[str, Any]) -> SearchSpace:
    """Return the space of a file, whose widths are called candidates."""
    others = {name: value for name, value in fields.items() if name != "candidates"}
    return SearchSpace(fields["candidates"], **others)
