from __future__ import annotations

import numpy as np
import pytest

from tabnas import Architecture, FeasibleSet
from tabnas.strategies import STRATEGIES, RandomSearch, Strategy
from tabnas.testing import check_strategy
from tabnas.testing._strategies import check_progress
from tabnas.types import FloatArray, IntArray

OWN_TESTS = {"guided", "random", "tpe"}


@pytest.mark.parametrize("name", sorted(STRATEGIES.keys() - OWN_TESTS))
def test_conformance(name: str) -> None:
    check_strategy(lambda feasible, seed: STRATEGIES[name](feasible, rng=seed))


def test_conformance_of_random_search() -> None:
    check_strategy(lambda feasible, seed: RandomSearch(feasible, rng=seed), learns=False)


def test_conformance_of_tpe() -> None:
    pytest.importorskip("optuna")

    def make(feasible: FeasibleSet, seed: int) -> Strategy:
        return STRATEGIES["tpe"](feasible, rng=seed)

    check_strategy(make, learns=False)
    check_progress(make, seeds=1)  # Optuna takes seconds for each


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("evolution", {"population": 2, "top": 1}),
        ("policy", {"reward": "abs", "reward_options": {"beta": -1.0}, "workers": 3}),
        ("policy", {"reward": "rejection_monte_carlo", "recommend_by": "seen"}),
    ],
)
def test_conformance_with_options(name: str, options: dict[str, object]) -> None:
    check_strategy(
        lambda feasible, seed: STRATEGIES[name](feasible, rng=seed, **options), learns=False
    )


def test_random_search_does_not_beat_itself() -> None:
    with pytest.raises(AssertionError, match="must beat random search"):
        check_strategy(lambda feasible, seed: RandomSearch(feasible, rng=seed))


class _Own(RandomSearch):
    name = "own"


class _Reckless(_Own):
    """Recommends the widest of all."""

    def recommend(self, n: int = 1) -> list[Architecture]:
        return [Architecture(tuple(layer[-1] for layer in self.feasible.space.widths))]


class _Repetitive(_Own):
    def recommend(self, n: int = 1) -> list[Architecture]:
        return super().recommend(1) * min(n, 2)


class _Moody(_Own):
    """Depends on more than its rng."""

    drawn = 0

    def suggest(self) -> IntArray:
        _Moody.drawn += 1
        return self.feasible.condition().sample(1 + _Moody.drawn % 2, self.rng)


class _Curious(_Own):
    """Draws when asked for an answer."""

    def recommend(self, n: int = 1) -> list[Architecture]:
        return self.feasible.sample(1, rng=self.rng)


class _Forgetful(_Own):
    """Takes in half of what it is told."""

    def update(self, choices: IntArray, quality: FloatArray) -> None:
        super().update(choices[::2], quality[::2])

    def suggest(self) -> IntArray:
        return self.feasible.condition().sample(2, self.rng)


class _Gullible(_Own):
    """Counts what was not looked at."""

    def update(self, choices: IntArray, quality: FloatArray) -> None:
        super().update(choices, np.nan_to_num(quality))


@pytest.mark.parametrize(
    ("strategy", "complaint"),
    [
        (_Reckless, "must be feasible"),
        (_Repetitive, "none may be recommended twice"),
        (_Moody, "must depend only on evaluations and rng"),
        (_Curious, "must depend only on evaluations and rng"),
        (_Forgetful, "there must be 13 evaluations"),
        (_Gullible, "NaN must not count as an evaluation"),
    ],
)
def test_the_suite_finds_faults(strategy: type[Strategy], complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_strategy(lambda feasible, seed: strategy(feasible, rng=seed), learns=False)
