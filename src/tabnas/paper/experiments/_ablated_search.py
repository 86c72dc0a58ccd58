"""One search of an ablation, watched: P(V) over time, and what each rule makes of its end."""

from __future__ import annotations

from collections.abc import Sequence
from time import process_time
from typing import Any

import numpy as np

from tabnas.feasible import FeasibleSet
from tabnas.paper._experiment import Row
from tabnas.paper.experiments._judged import CANDIDATES, Judged
from tabnas.search import Search, SearchSettings, StepRecord, select
from tabnas.space import Budget
from tabnas.streams import stream


class AblatedSearch:
    """A search under a limit that has a ground truth.

    `p_feasible` is how much of the policy lies within the limit, at `moments` moments after the
    first; encodings of no architecture, a layer after an absent one, are not counted with.
    """

    def __init__(self, judged: Judged, settings: SearchSettings, *, moments: int) -> None:
        self.judged = judged
        self.search: Search = judged.search(settings)
        self.moments = moments
        self.p_feasible: list[float] = []
        self.seconds = 0.0
        self._everything = FeasibleSet(judged.feasible.space, Budget())
        self._rng = stream(settings.seed, "watching")  # its own: to watch changes nothing

    def run(self, *, average_of_all: bool = False) -> None:
        """Search to the end; perhaps with infeasible architectures in the moving average."""
        self._write_down()
        watching = 0.0

        def observe(now: StepRecord) -> None:
            nonlocal watching
            if average_of_all:
                self._average_infeasible(now)
            began = process_time()
            if now.step * self.moments >= len(self.p_feasible) * self.search.steps:
                self._write_down()
            watching += process_time() - began

        began = process_time()
        self.search.run(observe)
        self.seconds = process_time() - began - watching

    def rows(self, selections: Sequence[str], seed: int) -> list[Row]:
        """A row for each rule that selects candidates."""
        found = []
        for selection in selections:
            began = process_time()
            candidates = select(self.search, CANDIDATES, by=selection)
            seconds = self.seconds + process_time() - began
            said = {"selection": selection, "limit": self.judged.limit, "seconds": seconds}
            found.append(said | self._facts() | self.judged.judge.named(candidates, seed))
        return found

    def _facts(self) -> dict[str, Any]:
        _, _, quality = self.search.history.flatten()
        return {"looks": len(quality), "p_feasible": self.p_feasible}

    def _write_down(self) -> None:
        log_p = self.search.controller.policy.log_p
        sets = self.judged.feasible, self._everything
        inside, valid = (float(one.condition_normalized(log_p).log_probability) for one in sets)
        self.p_feasible.append(round(float(np.exp(inside - valid)), 4))

    def _average_infeasible(self, now: StepRecord) -> None:
        """What was drawn and did not count is looked at for the sake of the average."""
        if now.evaluation is None:
            return
        search = self.search
        for choices in now.evaluation.choices[np.isnan(now.evaluation.quality)]:
            rows = self._rng.integers(len(search.validation), size=search.settings.batch_size)
            quality = 1 - search.net.loss(choices, search.validation, rows)
            search.controller.average.add(np.array(quality), np.array(True))
