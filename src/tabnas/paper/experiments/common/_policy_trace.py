"""Searches that record the policy over time and the duration of policy steps."""

from __future__ import annotations

from time import process_time
from typing import Any

import numpy as np

from tabnas.feasible import FeasibleSet
from tabnas.nets import Examples
from tabnas.search import Evaluation, PolicySearch, Search, SearchSettings, StepRecord, select
from tabnas.space import Architecture, Budget
from tabnas.streams import stream


class TracedSearch(Search):
    """A search that records how its policy changes.

    `trace` holds lists with an entry for each of `snapshots + 1` steps from the start to the end:
    `progress`, the exact P(V) as `p_feasible`, its Monte Carlo estimate `p_estimated` for rewards
    with samples, and the `probabilities` of all widths by layer.
    """

    def __init__(
        self,
        feasible: FeasibleSet,
        training: Examples,
        validation: Examples,
        settings: SearchSettings,
        *,
        snapshots: int,
    ) -> None:
        super().__init__(feasible, training, validation, settings)
        self.snapshots = snapshots
        self.trace: dict[str, list[Any]] = {
            name: [] for name in ("progress", "p_feasible", "p_estimated", "probabilities")
        }
        self._seconds: list[float] = []
        self._rng = stream(settings.seed, "watching")  # separate, so that the search is unchanged

    def run_traced(self) -> None:
        """Run the search to its end."""
        self._record()
        self.run(self._on_step)

    @property
    def step_microseconds(self) -> float:
        """The median processor time of a policy step that updated the policy."""
        return 1e6 * float(np.median(self._seconds)) if self._seconds else 0.0

    @property
    def policy_updates(self) -> int:
        """The number of policy steps that updated the policy."""
        return len(self._seconds)

    def policy_step(self, step: int) -> Evaluation:
        start = process_time()
        evaluation = super().policy_step(step)
        if np.isfinite(evaluation.quality).any():
            self._seconds.append(process_time() - start)
        return evaluation

    def _on_step(self, record: StepRecord) -> None:
        if record.step * self.snapshots >= len(self.trace["progress"]) * self.steps:
            self._record()

    def _record(self) -> None:
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


def find_most_likely(search: PolicySearch) -> Architecture:
    """Return the most likely architecture of the policy, which may be infeasible."""
    everything = FeasibleSet(search.feasible.space, Budget())
    return everything.most_likely(1, search.controller.policy.log_p)[0]


def describe_end(search: PolicySearch) -> dict[str, Any]:
    """Return the most likely architecture of all, and the feasible one of Algorithm 3."""
    feasible = search.feasible
    most_likely, selected = find_most_likely(search), select(search, 1, by="largest")[0]
    cost = feasible.budget.limits[0].cost
    return {
        "most_likely": str(most_likely),
        "most_likely_cost": int(cost(feasible.space, most_likely)),
        "most_likely_feasible": most_likely in feasible,
        "selected": str(selected),
        "selected_cost": int(cost(feasible.space, selected)),
    }
