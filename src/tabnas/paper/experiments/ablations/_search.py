"""A search of an ablation, with P(V) over time and the candidates of every selection rule."""

from __future__ import annotations

from collections.abc import Sequence
from time import process_time

import numpy as np

from tabnas.feasible import FeasibleSet
from tabnas.paper._experiment import Row
from tabnas.paper.experiments.common import N_CANDIDATES, SearchProblem
from tabnas.search import Search, SearchSettings, StepRecord, select
from tabnas.space import Budget
from tabnas.streams import stream


class AblationSearch:
    """A search on a problem with a ground truth.

    `p_feasible` is the policy's P(V) at `snapshots + 1` steps. Choices that are not an
    architecture, since a layer follows an absent one, do not count.
    """

    def __init__(self, problem: SearchProblem, settings: SearchSettings, *, snapshots: int) -> None:
        self.problem = problem
        self.search: Search = problem.search(settings)
        self.snapshots = snapshots
        self.p_feasible: list[float] = []
        self.seconds = 0.0
        self._everything = FeasibleSet(problem.feasible.space, Budget())
        self._rng = stream(settings.seed, "watching")  # separate, so that the search is unchanged

    def run(self, *, infeasible_in_baseline: bool = False) -> None:
        """Run the search; optionally with infeasible architectures in the moving average."""
        self._record()
        overhead = 0.0

        def on_step(record: StepRecord) -> None:
            nonlocal overhead
            if infeasible_in_baseline:
                self._add_infeasible(record)
            start = process_time()
            if record.step * self.snapshots >= len(self.p_feasible) * self.search.steps:
                self._record()
            overhead += process_time() - start

        start = process_time()
        self.search.run(on_step)
        self.seconds = process_time() - start - overhead

    def rows(self, selections: Sequence[str], seed: int) -> list[Row]:
        """Return a row for each selection rule."""
        rows = []
        _, _, quality = self.search.history.flatten()
        for selection in selections:
            start = process_time()
            candidates = select(self.search, N_CANDIDATES, by=selection)
            row = {
                "selection": selection,
                "limit": self.problem.limit,
                "seconds": self.seconds + process_time() - start,
                "evaluations": len(quality),
                "p_feasible": self.p_feasible,
            }
            rows.append(row | self.problem.scorer.describe(candidates, seed))
        return rows

    def _record(self) -> None:
        log_p = self.search.controller.policy.log_p
        inside, valid = (
            float(members.condition_normalized(log_p).log_probability)
            for members in (self.problem.feasible, self._everything)
        )
        self.p_feasible.append(round(float(np.exp(inside - valid)), 4))

    def _add_infeasible(self, record: StepRecord) -> None:
        """Evaluate the infeasible samples of a step, and add them to the moving average."""
        if record.evaluation is None:
            return
        search = self.search
        for choices in record.evaluation.choices[np.isnan(record.evaluation.quality)]:
            rows = self._rng.integers(len(search.validation), size=search.settings.batch_size)
            quality = 1 - search.net.loss(choices, search.validation, rows)
            search.controller.average.add(np.array(quality), np.array(True))
