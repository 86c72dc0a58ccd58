"""Recorded evaluations of every architecture during a search, and policies that learn from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tabnas.paper.experiments.common import SearchProblem
from tabnas.policy import REWARDS, Adam, Controller, Policy
from tabnas.search import StepRecord
from tabnas.streams import stream
from tabnas.types import FloatArray

POLICY_SETTINGS = (
    *("rl_learning_rate", "baseline", "warmup"),
    *("evaluations_per_step", "policy_every", "decay"),
)
"""Settings of a replay; all others are options of the reward."""


@dataclass(frozen=True, eq=False)
class Recording:
    """The losses of all architectures of a ground truth, at some steps of one search.

    They are recorded on several batches of validation rows, so the noise of an evaluation, and the
    correlation between evaluations on the same rows, are those of real searches.
    """

    problem: SearchProblem
    seed: int
    losses: FloatArray  # [snapshots, batches, architectures]
    steps: int  # of the weights

    @classmethod
    def record(
        cls, problem: SearchProblem, seed: int, *, snapshots: int, batches: int
    ) -> Recording:
        """Train a SuperNet as the default search does, and evaluate all architectures meanwhile."""
        settings = problem.settings(seed)
        search = problem.search(settings)
        rng = stream(seed, "recording")
        total = len(search.validation)
        shape = (batches, min(settings.validation_batch_size or settings.batch_size, total))
        losses: list[list[list[float]]] = []

        def on_step(record: StepRecord) -> None:
            if record.step / search.steps < (len(losses) + 1) / snapshots:
                return
            losses.append(
                [
                    [search.net.loss(choices, search.validation, rows) for choices in all_choices]
                    for rows in rng.integers(total, size=shape)
                ]
            )

        all_choices = problem.truth.choices
        search.run(on_step)
        return cls(problem, seed, np.array(losses), search.steps)

    def replay(self, reward: str, settings: Mapping[str, Any], *, policies: int) -> Policy:
        """Return policies that have learned from the recording, each with its own samples."""
        options = {key: value for key, value in settings.items() if key not in POLICY_SETTINGS}
        default = self.problem.settings(self.seed)
        controller = Controller(
            REWARDS[reward](self.problem.feasible, **options),
            Adam(learning_rate=settings["rl_learning_rate"]),
            rng=stream(self.seed, "replay"),
            workers=settings.get("evaluations_per_step", default.evaluations_per_step),
            baseline=settings.get("baseline", default.baseline),
            decay=settings.get("decay", 0.9),
            batch=(policies,),
        )
        rng = stream(self.seed, "replayed batches")
        snapshots, batches, _ = self.losses.shape
        steps = self.steps // settings.get("policy_every", default.policy_every)  # of the policy
        first = int(steps * settings.get("warmup", default.frozen_share))
        for step in range(first, steps):
            choices = controller.suggest()  # [policies, evaluations, layers]
            snapshot = min(int(step / steps * snapshots), snapshots - 1)
            batch = rng.integers(batches, size=(policies, 1))
            quality = 1 - self.losses[snapshot, batch, self.problem.truth.find(choices)]
            controller.update(
                choices, np.where(controller.needs_evaluation(choices), quality, np.nan)
            )
        return controller.policy
