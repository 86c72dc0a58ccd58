"""The toy problem of the paper: two layers, nine architectures with known losses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tabnas.feasible import FeasibleSet, log_likelihood
from tabnas.policy import REWARDS, Adam, Controller
from tabnas.space import Budget, SearchSpace
from tabnas.types import FloatArray


class Toy:
    """The problem of a definition, on which policies of many seeds learn side by side."""

    def __init__(self, definition: Mapping[str, Any], *, seeds: int) -> None:
        self.definition = definition
        self.seeds = seeds
        space = definition["space"]
        self.space = SearchSpace(
            space["candidates"], inputs=space["inputs"], outputs=space["outputs"]
        )
        self.feasible = FeasibleSet(self.space, Budget(**definition["limit"]))
        self.losses = np.array(list(definition["losses"].values()))  # [choices, choices]
        self.choices = np.indices(self.losses.shape).reshape(2, -1).T  # of all, [all, layers]
        self.inside = self.feasible.contains(self.choices)
        self.names = [str(self.space.architecture(row)) for row in self.choices]
        best = int(np.where(self.inside, self.losses.ravel(), np.inf).argmin())
        self.optimum = self.names[best]

    def run(
        self,
        reward: str,
        options: Mapping[str, Any] | None = None,
        *,
        adam: Mapping[str, float] | None = None,
        update_baseline_first: bool = True,
        snapshots: tuple[int, ...] = (),
    ) -> dict[str, Any]:
        """Run all seeds with one setting, and return the row of results.

        `found` is the architecture on which each seed ended, `optimum_probability` the probability
        of the optimum, `p_feasible` P(V), and `heat` the mean probability of all architectures at
        the steps of `snapshots`. For rewards that reject, probabilities are conditional on V and
        the found architecture is the most likely one of V; for others, of all.
        """
        rejects = REWARDS[reward].rejects_infeasible
        controller = Controller(
            REWARDS[reward](self.feasible, **(options or {})),
            Adam(**(self.definition["adam"] | dict(adam or {}))),
            rng=0,
            decay=self.definition["decay"],
            update_baseline_first=update_baseline_first,
            batch=(self.seeds,),
        )
        heat = {}
        for step in range(self.definition["steps"] + 1):
            if step in snapshots:
                heat[str(step)] = self._probabilities(controller, rejects).mean(axis=0).tolist()
            if step < self.definition["steps"]:
                choices = controller.suggest()
                controller.update(choices, 1 - self.losses[choices[..., 0], choices[..., 1]])
        p = self._probabilities(controller, rejects)
        return {
            "found": [self.names[k] for k in p.argmax(axis=1).tolist()],
            "optimum_probability": p[:, self.names.index(self.optimum)].tolist(),
            "p_feasible": np.exp(controller.policy.conditional.log_probability).tolist(),
            "heat": heat,
        }

    def _probabilities(self, controller: Controller, rejects: bool) -> FloatArray:
        """Return the probability of every architecture, given V if it rejects, [seeds, all]."""
        choices = np.broadcast_to(self.choices, (self.seeds, *self.choices.shape))
        p = np.exp(log_likelihood(controller.policy.log_p, choices))
        if not rejects:
            return p
        p = np.where(self.inside, p, 0.0)
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def summarize(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the shares of seeds that ended on the optimum and elsewhere."""
        over = {name for name, inside in zip(self.names, self.inside, strict=True) if not inside}
        names = row["found"]
        return {
            "success": names.count(self.optimum) / len(names),
            "infeasible": sum(name in over for name in names) / len(names),
            "optimum_probability_mean": float(np.mean(row["optimum_probability"])),
            "optimum_probability_std": float(np.std(row["optimum_probability"])),
            "p_feasible_mean": float(np.mean(row["p_feasible"])),
            "found": {name: names.count(name) for name in self.names if name in names},
        }
