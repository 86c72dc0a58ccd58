"""Searches on the tables of the ground truth, judged by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from tabnas.feasible import FeasibleSet
from tabnas.nets import SuperNet, train
from tabnas.paper._ground_truth import GroundTruth, ground_truth, ground_truth_table
from tabnas.policy import Adam
from tabnas.runs import PlannedRun
from tabnas.search import Search, SearchSettings, select
from tabnas.space import Architecture, Budget
from tabnas.types import FloatArray


@dataclass(frozen=True, eq=False)
class JudgedTable:
    """A table, and what became of every architecture that was trained on it alone."""

    name: str
    folder: Path

    @cached_property
    def truth(self) -> GroundTruth:
        """What comes with tabnas."""
        return ground_truth(self.name)

    @cached_property
    def run(self) -> PlannedRun:
        """The same rows, split and settings as those of the ground truth."""
        return ground_truth_table(self.name).run(self.folder)

    def budget(self, share: float) -> Budget:
        """The limit that this share of the architectures keeps."""
        return Budget(parameters=self.truth.limit_kept_by(share))

    def settings(self, changes: Mapping[str, Any], *, seed: int) -> SearchSettings:
        """The default settings of a search here, but for what is changed.

        `rl_rate` stands for the rate of the policy's Adam, `longer` multiplies the epochs.
        """
        changed = dict(changes)
        default = self.run.plan.search
        if "rl_rate" in changed:
            changed["ascent"] = Adam(rate=changed.pop("rl_rate"))
        if "longer" in changed:
            changed["epochs"] = max(1, round(default.epochs * changed.pop("longer")))
        return replace(default, seed=seed, **changed)

    def search(self, budget: Budget, settings: SearchSettings) -> Search:
        """A search that has not begun."""
        parts = self.run.parts
        feasible = FeasibleSet(self.truth.space, budget)
        return Search(feasible, parts.train.examples, parts.validation.examples, settings)

    @cache  # noqa: B019 - one for each table, for as long as the process
    def warm_up(self) -> None:
        """Search once, briefly, so that no compilation is measured later."""
        search = self.search(self.budget(0.5), replace(self.settings({}, seed=0), epochs=1))
        search.run()
        select(search, 1)

    def places(self, architectures: Sequence[Architecture]) -> list[int]:
        """Where they are in the ground truth."""
        return [self.truth.architectures.index(one) for one in architectures]

    def judge(
        self, candidates: Sequence[Architecture], regrets: FloatArray, *, seed: int
    ) -> dict[str, Any]:
        """What a run would return, and how good it is; the candidates are feasible, best first.

        A run trains every candidate once and keeps the best; those losses are in the ground truth,
        of another seed for another search.
        """
        places = self.places(candidates)
        losses = self.truth.losses["validation"]
        trained = losses[places, seed % losses.shape[1]]
        returned = places[int(trained.argmin())]
        return {
            "returned": str(self.truth.architectures[returned]),
            "regret": float(regrets[returned]),
            "regret_of_first": float(regrets[places[0]]),
            "regret_of_best_candidate": float(regrets[places].min()),
        }

    def training_seconds(self, architecture: Architecture) -> float:
        """Of one stand-alone training, from two of its epochs, in seconds of this process."""
        parts, plan = self.run.parts, self.run.plan
        net = SuperNet.standalone(architecture, parts.task, optimizer=plan.optimizer, seed=0)
        few = replace(plan.training, epochs=2)
        train(net, architecture, parts.train.examples, few, parts.validation.examples)  # compiles
        began = process_time()
        train(net, architecture, parts.train.examples, few, parts.validation.examples)
        return (process_time() - began) * plan.training.epochs / few.epochs


def interval(values: Sequence[float] | FloatArray, *, resamples: int = 2_000) -> list[float]:
    """The 95 % interval of the mean, by the bootstrap."""
    values = np.asarray(values, np.float64)
    if len(values) < 2:
        return [float(values.mean())] * 2
    drawn = np.random.default_rng(0).choice(values, (resamples, len(values)))
    return [float(end) for end in np.quantile(drawn.mean(axis=1), [0.025, 0.975])]
