"""The toy of the paper: two layers, nine architectures, losses known, only the policy learns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tabnas.feasible import FeasibleSet, log_likelihood
from tabnas.policy import REWARDS, Adam, Controller
from tabnas.space import Budget, SearchSpace
from tabnas.types import FloatArray


class Toy:
    """The problem as a TOML file describes it, and what becomes of a reward over many seeds."""

    def __init__(self, said: Mapping[str, Any], *, seeds: int) -> None:
        self.said = said
        self.seeds = seeds
        self.space = SearchSpace(**said["space"])
        self.feasible = FeasibleSet(self.space, Budget(**said["limit"]))
        self.losses = np.array(list(said["losses"].values()))  # [choices, choices]
        self.every = np.indices(self.losses.shape).reshape(2, -1).T  # all choices, [n, layers]
        self.inside = self.feasible.contains(self.every)
        self.optimum = self.name(int(np.where(self.inside, self.losses.ravel(), np.inf).argmin()))

    def name(self, index: int) -> str:
        """The architecture of an index into all."""
        return str(self.space.architecture(self.every[index]))

    @property
    def names(self) -> list[str]:
        """All architectures, by index."""
        return [self.name(index) for index in range(len(self.every))]

    def run(
        self,
        reward: str,
        options: Mapping[str, Any] | None = None,
        *,
        adam: Mapping[str, float] | None = None,
        update_baseline_first: bool = True,
        shown: tuple[int, ...] = (),
    ) -> dict[str, Any]:
        """All seeds of one setting side by side, as one row of results.

        `found` is where each seed ended, `optimum_probability` and `p_feasible` how sure it was and
        how much of the policy lies within the limit; `heat` the mean probability of all
        architectures at each step that is `shown`. Rejection is judged given V, and picks the most
        likely architecture there; other rewards pick the most likely of all.
        """
        rejects = REWARDS[reward].rejects_infeasible
        constants = dict(self.said["adam"]) | dict(adam or {})
        controller = Controller(
            REWARDS[reward](self.feasible, **(options or {})),
            Adam(learning_rate=constants.pop("rate"), **constants),
            rng=0,
            decay=self.said["decay"],
            update_baseline_first=update_baseline_first,
            batch=(self.seeds,),
        )
        heat = {}
        for step in range(self.said["steps"] + 1):
            if step in shown:
                heat[str(step)] = self._joint(controller, rejects).mean(axis=0).tolist()
            if step < self.said["steps"]:
                choices = controller.suggest()
                controller.update(choices, 1 - self.losses[choices[..., 0], choices[..., 1]])
        joint = self._joint(controller, rejects)
        best = self.names.index(self.optimum)
        return {
            "found": [self.name(index) for index in joint.argmax(axis=1).tolist()],
            "optimum_probability": joint[:, best].tolist(),
            "p_feasible": np.exp(controller.policy.conditional.log_probability).tolist(),
            "heat": heat,
        }

    def _joint(self, controller: Controller, rejects: bool) -> FloatArray:
        """The probability of every architecture, given V if the reward rejects, [seeds, all]."""
        every = np.broadcast_to(self.every, (self.seeds, *self.every.shape))
        p = np.exp(log_likelihood(controller.policy.log_p, every))
        if not rejects:
            return p
        p = np.where(self.inside, p, 0.0)
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def shares(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Where the seeds of a row ended."""
        over = {name for name, ok in zip(self.names, self.inside, strict=True) if not ok}
        found = row["found"]
        return {
            "success": found.count(self.optimum) / len(found),
            "infeasible": sum(name in over for name in found) / len(found),
            "optimum_probability_mean": float(np.mean(row["optimum_probability"])),
            "optimum_probability_std": float(np.std(row["optimum_probability"])),
            "p_feasible_mean": float(np.mean(row["p_feasible"])),
            "found": {name: found.count(name) for name in self.names if name in found},
        }
