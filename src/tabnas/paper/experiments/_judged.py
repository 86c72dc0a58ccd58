"""Searches under one limit of a table whose ground truth says what their answers are worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from tabnas.feasible import FeasibleSet
from tabnas.nets import Examples, SuperNet, train
from tabnas.paper._ground_truth import GroundTruth, ground_truth, ground_truth_tables
from tabnas.paper.experiments._verdicts import Judge
from tabnas.policy import Adam
from tabnas.runs import PlannedRun
from tabnas.search import Search, SearchSettings, select
from tabnas.space import Architecture, Budget

CANDIDATES = 3
"""Of a search, as a run tries them."""
AT_THE_LIMIT = 0.8
"""An architecture of at least this share of the limit makes use of it."""
NEVER = 1.0
"""As `policy_start`: the weights are trained as ever, and the policy is not."""


class JudgedTable:
    """A table with its ground truth, and the default run with it."""

    def __init__(self, name: str, folder: Path | None) -> None:
        self.truth: GroundTruth = ground_truth(name)
        self.run: PlannedRun = ground_truth_tables()[name].run(folder)

    def limited(self, share: float, *, epochs: int = 0) -> Judged:
        """Under the limit that this share of the architectures keeps."""
        return Judged(self.truth, self.run, share, epochs=epochs)


class Judged:
    """A feasible set of the table: settings to search it with, and a judge of what is found.

    `epochs` are those of a search, for quick forms; 0: as many as a run makes.
    """

    def __init__(
        self, truth: GroundTruth, run: PlannedRun, share: float, *, epochs: int = 0
    ) -> None:
        self.truth = truth
        self.run = run
        self.epochs = epochs or run.plan.search.epochs
        self.limit = truth.limit_kept_by(share)
        self.feasible = FeasibleSet(truth.space, Budget(parameters=self.limit))
        self.judge = Judge(truth, self.limit)

    @property
    def validation(self) -> Examples:
        """What architectures are looked at with."""
        return self.run.data.validation.examples

    def settings(self, seed: int, changes: Mapping[str, Any] | None = None) -> SearchSettings:
        """Those of a default run, but for changes as a TOML file says them.

        `rl_rate` stands for the rate of the policy's Adam, `longer` multiplies the epochs.
        """
        changes = dict(changes or {})
        if "rl_rate" in changes:
            changes["policy_optimizer"] = Adam(learning_rate=changes.pop("rl_rate"))
        epochs = max(1, round(self.epochs * changes.pop("longer", 1)))
        return replace(self.run.plan.search, epochs=epochs, seed=seed, **changes)

    def search(self, settings: SearchSettings) -> Search:
        """A search that has not begun."""
        return Search(self.feasible, self.run.data.train.examples, self.validation, settings)

    def warm_up(self) -> None:
        """Search once, briefly, so that no compilation is measured later."""
        search = self.search(replace(self.settings(0), epochs=1))
        search.run()
        select(search, 1)

    @cached_property
    def at_the_limit(self) -> list[Architecture]:
        """Members that use the limit up."""
        costs = self.truth.costs["parameters"]
        inside = costs <= self.limit
        near = inside & (costs >= AT_THE_LIMIT * costs[inside].max())
        return [self.truth.architectures[place] for place in np.flatnonzero(near)]

    def training_seconds(self, trainings: int) -> list[float]:
        """What the training of one architecture at the limit takes of a core."""
        places = np.linspace(0, len(self.at_the_limit) - 1, trainings).round().astype(int)
        return [self.seconds_of(self.at_the_limit[place]) for place in places]

    def seconds_of(self, architecture: Architecture, *, epochs: int = 0) -> float:
        """What its training takes of a core; from so many of its epochs, if not all are made."""
        parts, plan = self.run.data, self.run.plan
        how = replace(plan.training, epochs=epochs or plan.training.epochs)
        began = process_time()
        net = SuperNet.standalone(architecture, parts.task, optimizer=plan.optimizer)
        train(net, architecture, parts.train.examples, how, self.validation)
        return (process_time() - began) * plan.training.epochs / how.epochs
