"""The grid of RL learning rates and betas, replayed on the ground truth with measured noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.feasible import FeasibleSet
from tabnas.paper._experiment import Row
from tabnas.paper._ground_truth import get_ground_truth_table, load_ground_truth
from tabnas.paper.experiments.common import NEVER
from tabnas.policy import REWARDS, Adam, BetaReward, Controller, Reward
from tabnas.search import Search
from tabnas.space import Budget
from tabnas.streams import stream
from tabnas.types import BoolArray, FloatArray, IntArray


class GridReplay:
    """A table with a ground truth, and policies that learn from its losses."""

    def __init__(self, name: str, data: Path | None, definition: Mapping[str, Any]) -> None:
        self.definition = definition
        self._name, self._data = name, data
        self.truth = load_ground_truth(name)
        self.costs = self.truth.costs["parameters"]
        self.losses = self.truth.losses["validation"].mean(axis=1)
        small = self.costs <= np.quantile(self.costs, definition["share"])
        self.reference = int(np.where(small, self.losses, np.inf).argmin())
        self.limit = int(self.costs[self.reference])
        self.inside = self.costs <= self.limit
        self.feasible = FeasibleSet(self.truth.space, Budget(parameters=self.limit))

    @cached_property
    def noise(self) -> float:
        """The standard deviation of the loss of a child over validation batches.

        It is measured on feasible children of a SuperNet that was trained as by default.
        """
        run = get_ground_truth_table(self._name).plan_run(self._data)
        settings = replace(run.plan.search, policy_start=NEVER)
        validation = run.data.validation.examples
        search = Search(self.feasible, run.data.train.examples, validation, settings)
        search.run()
        rng = stream(0, "noise")
        sizes = self.definition["noise"]
        children = self.feasible.sample(sizes["children"], rng=rng)
        batches = rng.integers(len(validation), size=(sizes["batches"], settings.batch_size))
        losses = [
            [search.net.loss(child, validation, rows) for rows in batches] for child in children
        ]
        return float(np.std(losses, axis=1).mean())

    @cached_property
    def near(self) -> BoolArray:
        """Which architectures cost about as much as the reference, [architectures]."""
        return np.asarray(np.abs(self.costs / self.limit - 1) <= self.definition["near"])

    @cached_property
    def matching(self) -> BoolArray:
        """Which architectures are as good as the reference, [architectures]."""
        tolerance = self.definition["tolerance"] * self.truth.seed_std()[self.reference]
        return np.asarray(self.losses <= self.losses[self.reference] + tolerance)

    def describe(self) -> Row:
        """Describe the problem."""
        return {
            "reference": str(self.truth.architectures[self.reference]),
            "limit": self.limit,
            "feasible": self.feasible.count(),
            "architectures": len(self.costs),
            "near": int(self.near.sum()),
            "near_and_matching": int((self.near & self.matching).sum()),
            "noise": self.noise,
            "losses_std": float(self.losses[self.inside].std()),
        }

    def run(self, reward: Mapping[str, Any], rate: float) -> list[Row]:
        """Return a row for each beta, or one for a reward without: where all seeds end."""
        kind = REWARDS[reward["reward"]]
        if not issubclass(kind, BetaReward):
            options = {"samples": reward["samples"]} if "samples" in reward else {}
            ends = self._run_policies(kind(self.feasible, **options), rate, ())
            return [{"beta": None} | self._count(ends)]
        betas = self.definition["betas"]
        ends = self._run_policies(BetaGridReward(self, kind, betas), rate, (len(betas),))
        return [{"beta": beta} | self._count(end) for beta, end in zip(betas, ends, strict=True)]

    def _run_policies(self, reward: Reward, rate: float, settings: tuple[int, ...]) -> IntArray:
        """Return the architectures that the seeds of each setting end on, [*settings, seeds]."""
        batch = (*settings, self.definition["seeds"])
        controller = Controller(reward, Adam(learning_rate=rate), rng=0, batch=batch)
        rng = stream(0, "looks")
        for _ in range(self.definition["steps"]):
            choices = controller.suggest()
            noise = self.noise * rng.normal(size=(*batch, 1))
            controller.update(choices, 1 - (self.losses[self.truth.find(choices)] + noise))
        layers = np.arange(self.truth.choices.shape[1])
        joint = controller.policy.log_p[..., layers, self.truth.choices].sum(axis=-1)
        if reward.rejects_infeasible:
            joint = np.where(self.inside, joint, -np.inf)
        return np.asarray(joint.argmax(axis=-1))

    def _count(self, ends: IntArray) -> Row:
        return {
            "found": [str(self.truth.architectures[k]) for k in ends],
            "near": int(self.near[ends].sum()),
            "near_and_matching": int((self.near & self.matching)[ends].sum()),
            "feasible": int(self.inside[ends].sum()),
            "feasible_and_matching": int((self.inside & self.matching)[ends].sum()),
        }


class BetaGridReward(Reward):
    """A reward with many betas side by side, along the first axis of a batch of policies.

    Abs and MnasNet are `a + b * Q` with coefficients that depend on the architecture and the sign
    of Q only, so these are tabulated.
    """

    name = "beta_grid"

    def __init__(self, replay: GridReplay, kind: type[BetaReward], betas: Sequence[float]) -> None:
        super().__init__(replay.feasible)
        self._replay = replay
        rewards = [kind(replay.feasible, beta=beta) for beta in betas]
        choices = replay.truth.choices

        def evaluate(quality: float) -> FloatArray:  # [betas, all]
            qualities = np.full(len(choices), quality)
            return np.array([reward.value(qualities, choices) for reward in rewards])

        self._a = evaluate(0.0)
        self._b_positive = evaluate(1.0) - self._a
        self._b_negative = self._a - evaluate(-1.0)
        self._beta_index = np.arange(len(rewards))[:, None, None]

    def value(self, quality: FloatArray, choices: IntArray) -> FloatArray:
        at = self._beta_index, self._replay.truth.find(choices)  # [betas, seeds, workers]
        b = np.where(quality < 0, self._b_negative[at], self._b_positive[at])
        return np.asarray(self._a[at] + b * quality)
