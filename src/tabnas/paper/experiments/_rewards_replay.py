"""The grid of RL rates and betas, replayed: qualities from the ground truth, noise as measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.feasible import FeasibleSet
from tabnas.paper._experiment import Row
from tabnas.paper._ground_truth import ground_truth, ground_truth_table
from tabnas.paper.experiments._judged import NEVER
from tabnas.policy import REWARDS, Adam, BetaReward, Controller, Reward
from tabnas.search import Search
from tabnas.space import Budget
from tabnas.streams import stream
from tabnas.types import BoolArray, FloatArray, IntArray


class Replay:
    """One table with a ground truth, and policies that learn from its losses."""

    def __init__(self, name: str, data: Path | None, said: Mapping[str, Any]) -> None:
        self.said = said
        self._name, self._data = name, data
        self.truth = ground_truth(name)
        self.costs = self.truth.costs["parameters"]
        self.losses = self.truth.losses["validation"].mean(axis=1)
        small = self.costs <= np.quantile(self.costs, said["share"])
        self.reference = int(np.where(small, self.losses, np.inf).argmin())
        self.limit = int(self.costs[self.reference])
        self.feasible = FeasibleSet(self.truth.space, Budget(parameters=self.limit))

    @cached_property
    def noise(self) -> float:
        """How much the loss of a child varies from one validation batch to the next.

        Of feasible children of a SuperNet that a search with default settings has trained.
        """
        run = ground_truth_table(self._name).run(self._data)
        settings = replace(run.plan.search, policy_start=NEVER)
        validation = run.data.validation.examples
        search = Search(self.feasible, run.data.train.examples, validation, settings)
        search.run()
        rng = stream(0, "noise")
        how = self.said["noise"]
        children = self.feasible.sample(how["children"], rng=rng)
        rows = rng.integers(len(validation), size=(how["batches"], settings.batch_size))
        losses = [[search.net.loss(one, validation, some) for some in rows] for one in children]
        return float(np.std(losses, axis=1).mean())

    @cached_property
    def near(self) -> BoolArray:
        """Which architectures cost about what the reference does, [architectures]."""
        return np.asarray(np.abs(self.costs / self.limit - 1) <= self.said["near"])

    @cached_property
    def matching(self) -> BoolArray:
        """Which are as good as the reference, [architectures]."""
        allowed = self.said["deviations"] * self.truth.deviation()[self.reference]
        return np.asarray(self.losses <= self.losses[self.reference] + allowed)

    def facts(self) -> Row:
        """What is replayed."""
        return {
            "reference": str(self.truth.architectures[self.reference]),
            "limit": self.limit,
            "feasible": self.feasible.count(),
            "architectures": len(self.costs),
            "near": int(self.near.sum()),
            "near_and_matching": int((self.near & self.matching).sum()),
            "noise": self.noise,
            "spread": float(self.losses[self.costs <= self.limit].std()),
        }

    def run(self, reward: Mapping[str, Any], rate: float) -> list[Row]:
        """Where all seeds end at one RL rate: a row for each beta, one alone without any."""
        kind = REWARDS[reward["reward"]]
        if not issubclass(kind, BetaReward):
            options = {"samples": reward["samples"]} if "samples" in reward else {}
            found = self._ends(kind(self.feasible, **options), rate, ())
            return [{"beta": None} | self._judged(found)]
        betas = self.said["betas"]
        found = self._ends(Betas(self, kind, betas), rate, (len(betas),))
        return [{"beta": beta} | self._judged(own) for beta, own in zip(betas, found, strict=True)]

    def _ends(self, reward: Reward, rate: float, settings: tuple[int, ...]) -> IntArray:
        """The architectures that the seeds of each setting end on, [*settings, seeds]."""
        batch = (*settings, self.said["seeds"])
        controller = Controller(reward, Adam(learning_rate=rate), rng=0, batch=batch)
        rng = stream(0, "looks")
        for _ in range(self.said["steps"]):
            choices = controller.suggest()
            look = self.losses[self.truth.places(choices)] + self.noise * rng.normal(
                size=(*batch, 1)
            )
            controller.update(choices, 1 - look)
        layers = np.arange(self.truth.choices.shape[1])
        joint = controller.policy.log_p[..., layers, self.truth.choices].sum(axis=-1)
        if reward.rejects_infeasible:
            joint = np.where(self.costs <= self.limit, joint, -np.inf)
        return np.asarray(joint.argmax(axis=-1))

    def _judged(self, found: IntArray) -> Row:
        return {
            "found": [str(self.truth.architectures[k]) for k in found],
            "near": int(self.near[found].sum()),
            "near_and_matching": int((self.near & self.matching)[found].sum()),
            "feasible": int((self.costs <= self.limit)[found].sum()),
            "feasible_and_matching": int(((self.costs <= self.limit) & self.matching)[found].sum()),
        }


class Betas(Reward):
    """A reward with many betas side by side, along the first axis of a batch of policies.

    Abs and MnasNet are `a + b * Q` with numbers that depend on the architecture and the sign of Q
    alone, so they are looked up.
    """

    name = "betas"

    def __init__(self, replay: Replay, kind: type[BetaReward], betas: Sequence[float]) -> None:
        super().__init__(replay.feasible)
        self._replay = replay
        each = [kind(replay.feasible, beta=beta) for beta in betas]
        choices = replay.truth.choices

        def rewards(quality: float) -> FloatArray:  # [betas, all]
            return np.array([one.value(np.full(len(choices), quality), choices) for one in each])

        self._a = rewards(0.0)
        self._b = rewards(1.0) - self._a
        self._b_below = self._a - rewards(-1.0)
        self._which = np.arange(len(each))[:, None, None]

    def value(self, quality: FloatArray, choices: IntArray) -> FloatArray:
        at = self._which, self._replay.truth.places(choices)  # [betas, seeds, workers]
        slope = np.where(quality < 0, self._b_below[at], self._b[at])
        return np.asarray(self._a[at] + slope * quality)
