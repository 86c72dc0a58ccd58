"""One SuperNet and several ways to choose from it, all at the cost of the default search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from time import process_time
from typing import Any

from tabnas.paper._experiment import Row
from tabnas.paper.experiments._judged import CANDIDATES, NEVER, Judged
from tabnas.paper.experiments._one_shot import OneShot
from tabnas.search import FrozenSearch, Search, build_candidate_pool, select, select_by_loss
from tabnas.space import Architecture
from tabnas.strategies import STRATEGIES, Strategy, StuckError, optimize
from tabnas.streams import stream

LARGE_LOOK = 2_048
"""Rows on which the default search compares its candidates; here, those of a large look."""


class EqualCost:
    """A table, a limit and a seed: the default search, and what others make of its SuperNet.

    Cost is counted in `passes`, validation rows that go through a network. What trains the SuperNet
    is the same for all: the default draws its children without asking the policy.
    """

    def __init__(self, judged: Judged, seed: int) -> None:
        self.judged = judged
        self.seed = seed

    @cached_property
    def _default(self) -> tuple[Search, dict[str, Any]]:
        judged = self.judged
        began = process_time()
        search = judged.search(judged.settings(self.seed))
        search.run()
        candidates = select(search, CANDIDATES)
        seconds = process_time() - began
        looks = sum(len(look.quality) for look in search.history.evaluations)
        judged_rows = min(LARGE_LOOK, len(judged.validation))
        pool = len(build_candidate_pool(search))
        row = {
            "looks": looks + pool,
            "passes": looks * search.settings.batch_size + pool * judged_rows,
            "seconds": seconds,
        }
        return search, row | judged.judge.named(candidates, self.seed)

    @cached_property
    def _trained(self) -> tuple[Search, float]:
        """The SuperNet without a policy, and the time it took."""
        began = process_time()
        search = self.judged.search(replace(self.judged.settings(self.seed), policy_start=NEVER))
        search.run()
        return search, process_time() - began

    @property
    def passes(self) -> int:
        """What the default search spends, its selection included."""
        return int(self._default[1]["passes"])

    def row(self, method: Mapping[str, Any]) -> Row:
        """What one method recommends, and what it took."""
        if method["kind"] == "default":
            return self._default[1]
        if method["kind"] == "frozen":
            return self._policy_alone()
        return self._explored(method)

    def _policy_alone(self) -> Row:
        """RL on the trained SuperNet, as many policy steps as the default makes."""
        trained, weights_seconds = self._trained
        default, spent = self._default
        began = process_time()
        search = FrozenSearch(
            self.judged.feasible,
            trained.net,
            self.judged.validation,
            default.settings,
            steps=len(default.history),
        )
        search.run()
        candidates = select(search, CANDIDATES)
        seconds = weights_seconds + process_time() - began
        cost = {"looks": spent["looks"], "passes": spent["passes"], "seconds": seconds}
        return cost | self.judged.judge.named(candidates, self.seed)

    def _explored(self, method: Mapping[str, Any]) -> Row:
        trained, weights_seconds = self._trained
        small = method["look"] == "small"
        began = process_time()
        quality = OneShot(
            trained.net,
            self.judged.validation,
            rows=trained.settings.batch_size if small else LARGE_LOOK,
            rng=stream(self.seed, "looks"),
            steady=not small,
        )
        strategy = STRATEGIES[method["strategy"]](
            self.judged.feasible, rng=stream(self.seed, "strategy"), **method.get("options", {})
        )
        stuck = explored(strategy, quality, max(1, self.passes // quality.rows))
        candidates = strategy.recommend(CANDIDATES)
        seconds = weights_seconds + process_time() - began
        cost = {"looks": quality.looks, "passes": quality.passes, "seconds": seconds}
        found = cost | {"stuck": stuck} | self.judged.judge.named(candidates, self.seed)
        ruled = self.judged.judge.named(self._by_our_rule(strategy), self.seed)
        return found | {f"{key}_by_rule": value for key, value in ruled.items()}

    def _by_our_rule(self, strategy: Strategy) -> list[Architecture]:
        """Of what a strategy has looked at, the candidates that our selection would take."""
        choices, quality = strategy.mean_qualities()
        inside = self.judged.feasible.contains(choices)
        pool = [self.judged.feasible.space.architecture(row) for row in choices[inside]]
        return select_by_loss(pool, -quality[inside], CANDIDATES, self.judged.feasible)


def explored(strategy: Strategy, quality: OneShot, looks: int) -> bool:
    """Let a strategy look; returns whether it was stuck before all looks were used."""
    try:
        optimize(strategy, quality, looks)
    except StuckError:
        return True
    return False
