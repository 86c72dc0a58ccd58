"""One SuperNet and several strategies that search it, all at the cost of the default search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from time import process_time
from typing import Any

from tabnas.paper._experiment import Row
from tabnas.paper.experiments.common import (
    N_CANDIDATES,
    NEVER,
    OneShotQuality,
    SearchProblem,
    run_strategy,
)
from tabnas.search import FixedWeightsSearch, Search, build_candidate_pool, select, select_by_loss
from tabnas.space import Architecture
from tabnas.strategies import STRATEGIES, Strategy
from tabnas.streams import stream

FIXED_ROWS = 2_048
"""Rows on which the default search compares its candidates, and strategies with fixed rows."""


class EqualCost:
    """The default search on a problem with one seed, and other strategies on its SuperNet.

    The cost is `rows_evaluated`, validation rows that go through a network. The SuperNet is the
    same for all, since the default samples its children without the policy.
    """

    def __init__(self, problem: SearchProblem, seed: int) -> None:
        self.problem = problem
        self.seed = seed

    @cached_property
    def _default(self) -> tuple[Search, dict[str, Any]]:
        """The default search and its row."""
        problem = self.problem
        start = process_time()
        search = problem.search(problem.settings(self.seed))
        search.run()
        candidates = select(search, N_CANDIDATES)
        seconds = process_time() - start
        evaluations = sum(len(evaluation.quality) for evaluation in search.history.evaluations)
        pool = len(build_candidate_pool(search))
        pool_rows = pool * min(FIXED_ROWS, len(problem.validation))
        row = {
            "evaluations": evaluations + pool,
            "rows_evaluated": evaluations * search.settings.batch_size + pool_rows,
            "seconds": seconds,
        }
        return search, row | problem.scorer.describe(candidates, self.seed)

    @cached_property
    def _trained(self) -> tuple[Search, float]:
        """The SuperNet without a policy, and the time of its training."""
        start = process_time()
        search = self.problem.search(replace(self.problem.settings(self.seed), policy_start=NEVER))
        search.run()
        return search, process_time() - start

    def run(self, method: Mapping[str, Any]) -> Row:
        """Return what one method recommends, and its cost."""
        if method["kind"] == "default":
            return self._default[1]
        if method["kind"] == "frozen":
            return self._run_policy()
        return self._run_strategy(method)

    def _run_policy(self) -> Row:
        """Run RL on the trained SuperNet, with as many policy steps as the default search."""
        trained, training_seconds = self._trained
        default, default_row = self._default
        start = process_time()
        search = FixedWeightsSearch(
            self.problem.feasible,
            trained.net,
            self.problem.validation,
            default.settings,
            steps=len(default.history),
        )
        search.run()
        candidates = select(search, N_CANDIDATES)
        row = {
            "evaluations": default_row["evaluations"],
            "rows_evaluated": default_row["rows_evaluated"],
            "seconds": training_seconds + process_time() - start,
        }
        return row | self.problem.scorer.describe(candidates, self.seed)

    def _run_strategy(self, method: Mapping[str, Any]) -> Row:
        trained, training_seconds = self._trained
        fixed = method["rows"] == "fixed"
        start = process_time()
        quality = OneShotQuality(
            trained.net,
            self.problem.validation,
            rows=FIXED_ROWS if fixed else trained.settings.batch_size,
            rng=stream(self.seed, "looks"),
            fixed=fixed,
        )
        strategy = STRATEGIES[method["strategy"]](
            self.problem.feasible, rng=stream(self.seed, "strategy"), **method.get("options", {})
        )
        budget = int(self._default[1]["rows_evaluated"])
        stuck = run_strategy(strategy, quality, max(1, budget // quality.rows))
        candidates = strategy.recommend(N_CANDIDATES)
        row = {
            "evaluations": quality.evaluations,
            "rows_evaluated": quality.rows_evaluated,
            "seconds": training_seconds + process_time() - start,
            "stuck": stuck,
        }
        row |= self.problem.scorer.describe(candidates, self.seed)
        by_rule = self.problem.scorer.describe(self._select_by_rule(strategy), self.seed)
        return row | {f"{key}_by_rule": value for key, value in by_rule.items()}

    def _select_by_rule(self, strategy: Strategy) -> list[Architecture]:
        """Apply our selection rule to the architectures that a strategy has evaluated."""
        choices, quality = strategy.mean_qualities()
        inside = self.problem.feasible.contains(choices)
        pool = [self.problem.feasible.space.architecture(row) for row in choices[inside]]
        return select_by_loss(pool, -quality[inside], N_CANDIDATES, self.problem.feasible)
