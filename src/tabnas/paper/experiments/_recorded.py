"""Looks at every architecture while a SuperNet was trained, and policies that learn from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tabnas.paper.experiments._judged import Judged
from tabnas.policy import REWARDS, Adam, Controller, Policy
from tabnas.search import StepRecord
from tabnas.streams import stream
from tabnas.types import FloatArray

OWN = ("rl_rate", "baseline", "warmup", "evaluations_per_step", "policy_every", "decay")
"""Settings of a replay; whatever else is given is an option of the reward."""


@dataclass(frozen=True, eq=False)
class Recording:
    """Looks at all architectures of a ground truth, at some moments of one search.

    Batches of validation rows are recorded as they are, so the noise of a look, and what looks on
    the same rows have in common, is that of real searches.
    """

    judged: Judged
    seed: int
    losses: FloatArray  # [moments, batches, architectures]
    steps: int  # of the weights

    @classmethod
    def make(cls, judged: Judged, seed: int, *, moments: int, batches: int) -> Recording:
        """Train a SuperNet as a search by default does, and look at everything on the way."""
        settings = judged.settings(seed)
        search = judged.search(settings)
        rng = stream(seed, "recording")
        every = judged.truth.choices
        total = len(search.validation)
        shape = (batches, min(settings.validation_batch_size or settings.batch_size, total))
        recorded: list[list[list[float]]] = []

        def look(now: StepRecord) -> None:
            if now.step / search.steps < (len(recorded) + 1) / moments:
                return
            rows = rng.integers(total, size=shape)
            recorded.append(
                [[search.net.loss(one, search.validation, some) for one in every] for some in rows]
            )

        search.run(look)
        return cls(judged, seed, np.array(recorded), search.steps)

    def replay(self, reward: str, said: Mapping[str, Any], *, policies: int) -> Policy:
        """Policies side by side, at their end, each with random streams of its own."""
        own = {key: value for key, value in said.items() if key in OWN}
        options = {key: value for key, value in said.items() if key not in OWN}
        default = self.judged.settings(self.seed)
        controller = Controller(
            REWARDS[reward](self.judged.feasible, **options),
            Adam(learning_rate=own["rl_rate"]),
            rng=stream(self.seed, "replay"),
            workers=own.get("evaluations_per_step", default.evaluations_per_step),
            baseline=own.get("baseline", default.baseline),
            decay=own.get("decay", 0.9),
            batch=(policies,),
        )
        rng = stream(self.seed, "replayed batches")
        moments, batches, _ = self.losses.shape
        steps = self.steps // own.get("policy_every", default.policy_every)  # of the policy
        first = int(steps * own.get("warmup", default.frozen_share))
        for step in range(first, steps):
            choices = controller.suggest()  # [policies, looks, layers]
            moment = min(int(step / steps * moments), moments - 1)
            batch = rng.integers(batches, size=(policies, 1))
            quality = 1 - self.losses[moment, batch, self.judged.truth.places(choices)]
            controller.update(
                choices, np.where(controller.needs_evaluation(choices), quality, np.nan)
            )
        return controller.policy
