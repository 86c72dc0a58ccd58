"""Search problems with a ground truth: a table, a limit, and the regret of every architecture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from tabnas.feasible import FeasibleSet
from tabnas.nets import Examples, SuperNet, train
from tabnas.paper._ground_truth import (
    GroundTruth,
    get_ground_truth_table,
    list_ground_truths,
    load_ground_truth,
)
from tabnas.paper.experiments.common._regrets import RegretScorer
from tabnas.policy import Adam
from tabnas.runs import PlannedRun
from tabnas.search import Search, SearchSettings, select
from tabnas.space import Architecture, Budget

N_CANDIDATES = 3
"""Candidates of a search, as many as a run trains by default."""
NEAR_LIMIT_RATIO = 0.8
"""Architectures of at least this share of the limit use it up."""
NEVER = 1.0
"""A `policy_start` with which the weights are trained as usual, and the policy never."""


class SearchProblem:
    """A feasible set of a table with a ground truth.

    `share` is that of the architectures within the limit. `epochs` are those of a search, for quick
    forms; with 0, a search has as many as in a run.
    """

    def __init__(
        self, truth: GroundTruth, run: PlannedRun, share: float, *, epochs: int = 0
    ) -> None:
        self.truth = truth
        self.run = run
        self.epochs = epochs or run.plan.search.epochs
        self.limit = truth.cost_quantile(share)
        self.feasible = FeasibleSet(truth.space, Budget(parameters=self.limit))
        self.scorer = RegretScorer(truth, self.limit)

    @property
    def validation(self) -> Examples:
        """The rows on which architectures are evaluated."""
        return self.run.data.validation.examples

    def settings(self, seed: int, changes: Mapping[str, Any] | None = None) -> SearchSettings:
        """Return the settings of a default run with some changes.

        In addition to fields of `SearchSettings`, changes may have `rl_learning_rate`, that of the
        policy's Adam, and `epochs_factor`.
        """
        changes = dict(changes or {})
        if "rl_learning_rate" in changes:
            changes["policy_optimizer"] = Adam(learning_rate=changes.pop("rl_learning_rate"))
        epochs = max(1, round(self.epochs * changes.pop("epochs_factor", 1)))
        return replace(self.run.plan.search, epochs=epochs, seed=seed, **changes)

    def search(self, settings: SearchSettings) -> Search:
        """Return a search that has not started."""
        return Search(self.feasible, self.run.data.train.examples, self.validation, settings)

    def warm_up(self) -> None:
        """Run a short search, so that later measurements do not include compilation."""
        search = self.search(replace(self.settings(0), epochs=1))
        search.run()
        select(search, 1)

    @cached_property
    def at_limit(self) -> list[Architecture]:
        """The feasible architectures that use the limit up."""
        costs = self.truth.costs["parameters"]
        inside = costs <= self.limit
        near = inside & (costs >= NEAR_LIMIT_RATIO * costs[inside].max())
        return [self.truth.architectures[k] for k in np.flatnonzero(near)]

    def time_trainings(self, trainings: int) -> list[float]:
        """Return the processor seconds of some trainings of architectures at the limit."""
        indices = np.linspace(0, len(self.at_limit) - 1, trainings).round().astype(int)
        return [self.time_training(self.at_limit[k]) for k in indices]

    def time_training(self, architecture: Architecture, *, epochs: int = 0) -> float:
        """Return the processor seconds of a training, extrapolated if it has fewer `epochs`."""
        parts, plan = self.run.data, self.run.plan
        settings = replace(plan.training, epochs=epochs or plan.training.epochs)
        start = process_time()
        net = SuperNet.standalone(architecture, parts.spec, optimizer=plan.optimizer)
        train(net, architecture, parts.train.examples, settings, self.validation)
        return (process_time() - start) * plan.training.epochs / settings.epochs


@cache
def _load_table(name: str, data: Path | None) -> tuple[GroundTruth, PlannedRun]:
    return load_ground_truth(name), get_ground_truth_table(name).plan_run(data)


@cache
def load_problem(
    table: str, share: float, data: Path | None = None, *, epochs: int = 0, warm_up: bool = False
) -> SearchProblem:
    """Return the problem of a table and limit; jobs of a process share it."""
    problem = SearchProblem(*_load_table(table, data), share, epochs=epochs)
    if warm_up:
        problem.warm_up()
    return problem


def filter_by_ground_truth(names: Iterable[str]) -> list[str]:
    """Return those of the tables whose ground truth comes with tabnas."""
    available = list_ground_truths()
    return [name for name in names if name in available]
