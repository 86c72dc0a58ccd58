"""Searches as the paper runs them, watched: the policy over time, and what a policy step takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from tabnas.feasible import FeasibleSet
from tabnas.nets import Examples
from tabnas.paper._tables import PreparedTable, paper_table
from tabnas.search import Evaluation, PolicySearch, Search, SearchSettings, StepRecord, select
from tabnas.space import Architecture, Budget
from tabnas.streams import stream


class WatchedSearch(Search):
    """A search that writes down how its policy changes.

    Its `trace` lists, for each of `moments + 1` moments from the beginning to the end: `progress`,
    the exact P(V) as `p_feasible`, Monte Carlo's `p_estimated` for rewards that have an N, and the
    `probabilities` of all widths by layer.
    """

    def __init__(
        self,
        feasible: FeasibleSet,
        training: Examples,
        validation: Examples,
        settings: SearchSettings,
        *,
        moments: int,
    ) -> None:
        super().__init__(feasible, training, validation, settings)
        self.moments = moments
        self.trace: dict[str, list[Any]] = {
            name: [] for name in ("progress", "p_feasible", "p_estimated", "probabilities")
        }
        self._seconds: list[float] = []
        self._rng = stream(settings.seed, "watching")  # its own: to watch changes nothing

    def watch(self) -> None:
        """Search to the end."""
        self._write_down()
        self.run(self._observe)

    @property
    def step_microseconds(self) -> float:
        """Of a core, in the median, for a policy step whose architecture counted, look included."""
        return 1e6 * float(np.median(self._seconds)) if self._seconds else 0.0

    @property
    def policy_updates(self) -> int:
        """Policy steps whose architecture counted."""
        return len(self._seconds)

    def policy_step(self, step: int) -> Evaluation:
        began = process_time()
        look = super().policy_step(step)
        if np.isfinite(look.quality).any():
            self._seconds.append(process_time() - began)
        return look

    def _observe(self, now: StepRecord) -> None:
        if now.step * self.moments >= len(self.trace["progress"]) * self.steps:
            self._write_down()

    def _write_down(self) -> None:
        policy = self.controller.policy
        samples = self.settings.reward_options.get("samples")
        estimated = None
        if samples is not None:
            estimate = self.feasible.estimate(policy.log_p, samples=samples, rng=self._rng)
            estimated = float(np.exp(estimate.log_probability))
        self.trace["progress"].append(self.progress)
        self.trace["p_feasible"].append(float(np.exp(policy.conditional.log_probability)))
        self.trace["p_estimated"].append(estimated)
        self.trace["probabilities"].append(policy.probabilities.round(4).tolist())


def prepared(said: Mapping[str, Any], data: Path | None) -> PreparedTable:
    """A table of `tables.toml`, with the `changes` that an experiment makes to it."""
    changes = dict(said.get("changes", {}))
    if "widths" in changes:
        changes["widths"] = tuple(changes["widths"])
    return replace(paper_table(said["table"]), **changes).prepare(data)


def favourite(search: PolicySearch) -> Architecture:
    """The most likely architecture of all, feasible or not: where a policy itself has gone."""
    everything = FeasibleSet(search.feasible.space, Budget())
    return everything.most_likely(1, search.controller.policy.log_p)[0]


def ending(search: PolicySearch) -> dict[str, Any]:
    """Where a search ended: its favourite, and the feasible one that Algorithm 3 makes of it."""
    feasible = search.feasible
    liked, chosen = favourite(search), select(search, 1, by="largest")[0]
    cost = feasible.budget.limits[0].cost
    return {
        "favourite": str(liked),
        "favourite_cost": int(cost(feasible.space, liked)),
        "favourite_feasible": liked in feasible,
        "chosen": str(chosen),
        "chosen_cost": int(cost(feasible.space, chosen)),
    }
