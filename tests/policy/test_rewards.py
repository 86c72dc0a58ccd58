from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tabnas import Budget, FeasibleSet, SearchSpace, TabNASError
from tabnas.policy import REWARDS, Abs, BetaReward, Oblivious, Policy, Rejection, Reward
from tabnas.testing import check_reward
from tabnas.types import BoolArray, FloatArray, IntArray

OPTIONS: dict[str, dict[str, object]] = {
    "rejection_monte_carlo": {"samples": 256},
    "rena": {"penalty": 0.3},
}


def made(name: str, feasible: FeasibleSet) -> Reward:
    """A reward with options of which the formulas below know."""
    usual = {"beta": -0.5} if issubclass(REWARDS[name], BetaReward) else {}
    return REWARDS[name](feasible, **OPTIONS.get(name, usual))


@pytest.mark.parametrize("name", REWARDS)
def test_conformance(name: str) -> None:
    check_reward(lambda feasible: made(name, feasible))


def test_conformance_of_the_paper_draws() -> None:
    check_reward(lambda feasible: Rejection(feasible, sample_from="policy"))


class _AllButTheLast(Oblivious):
    def needs_evaluation(self, choices: IntArray) -> BoolArray:
        return np.asarray(choices[..., 0] < 2)


class _SaysItRejects(Oblivious):
    rejects_infeasible = True


class _WrongShape(Oblivious):
    def value(self, quality: FloatArray, choices: IntArray) -> FloatArray:
        return quality[..., :1]


class _LikesFailure(Oblivious):
    def value(self, quality: FloatArray, choices: IntArray) -> FloatArray:
        return -quality


class _LikesTheLargeWhenBad(Abs):
    def __init__(self, feasible: FeasibleSet) -> None:
        super().__init__(feasible, beta=-1.0)

    def value(self, quality: FloatArray, choices: IntArray) -> FloatArray:
        return quality / self.cost_ratio(choices)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (_AllButTheLast, "expectation must be that of the architectures that need evaluation"),
        (_SaysItRejects, "must evaluate what is feasible"),
        (_WrongShape, "values must be"),
        (_LikesFailure, "a higher quality must not have a lower value"),
        (_LikesTheLargeWhenBad, "farther over the limit must not have a higher value"),
    ],
)
def test_the_suite_finds_what_is_broken(broken: Callable[..., Reward], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_reward(broken)


SPACE = SearchSpace([[2, 3, 4], [2, 3, 4]], inputs=2, outputs=1)
TOY = FeasibleSet(SPACE, Budget(dense_parameters=25))


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("abs", lambda q, t: q - 0.5 * abs(t - 1)),
        ("mnasnet_1", lambda q, t: q * t**-0.5),
        ("mnasnet_2", lambda q, t: q * max(1, t**-0.5)),
        ("mnasnet_hard", lambda q, t: q * min(1, t**-0.5)),
        ("rena", lambda q, t: q * 0.3 ** max(0, t - 1)),
        ("oblivious", lambda q, t: q),
        ("rejection", lambda q, t: q),
    ],
)
def test_formulas(name: str, formula: Callable[[float, float], float]) -> None:
    reward = made(name, TOY)
    for text, parameters in (("2-2", 15), ("4-2", 25), ("4-4", 37)):
        choices = np.array([SPACE.choices(text)])
        value = reward.value(np.array([0.8]), choices)
        assert value == pytest.approx(formula(0.8, parameters / 25))


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("abs", lambda q, t: q - 0.5 * abs(t - 1)),
        ("mnasnet_1", lambda q, t: q * (t**0.5 if t < 1 else 2 - t**-0.5)),
        ("mnasnet_2", lambda q, t: q * min(1, t**0.5)),
        ("mnasnet_hard", lambda q, t: q * (2 - min(1, t**-0.5))),
        ("rena", lambda q, t: q * (2 - 0.3 ** max(0, t - 1))),
    ],
)
def test_a_negative_quality_turns_no_penalty_into_a_bonus(
    name: str, formula: Callable[[float, float], float]
) -> None:
    """Over the limit it costs what it would cost at the same quality above 0."""
    reward = made(name, TOY)
    values = []
    for text, parameters in (("2-2", 15), ("4-2", 25), ("4-4", 37)):
        value = reward.value(np.array([-0.8]), np.array([SPACE.choices(text)])).item()
        assert value == pytest.approx(formula(-0.8, parameters / 25))
        values.append(value)
    small, at_the_limit, over = values
    assert over < at_the_limit or name == "mnasnet_2"  # which never penalises
    assert small >= at_the_limit or name == "abs"
    above = [
        reward.value(np.array([0.8]), np.array([SPACE.choices(text)])).item()
        for text in ("4-2", "4-4")
    ]
    assert at_the_limit - over == pytest.approx(above[0] - above[1])


def test_several_limits_count_the_tightest() -> None:
    feasible = FeasibleSet(SPACE, Budget(dense_parameters=25, parameters=100))
    reward = Abs(feasible, beta=-1.0)
    choices = np.array([SPACE.choices("4-4")])
    assert reward.value(np.array([1.0]), choices) == pytest.approx(1 - (37 / 25 - 1))


def test_the_strongest_penalty_of_rena_is_finite_whatever_the_quality() -> None:
    reward = REWARDS["rena"](TOY, penalty=0)
    over = np.array([SPACE.choices("4-4")])
    assert reward.value(np.array([0.8]), over) == 0
    assert reward.value(np.array([-0.8]), over) == -1.6


def test_exact_rejection_differentiates_the_conditional() -> None:
    """1[y] - E is the gradient of log P(y | V), by central differences."""
    logits = np.random.default_rng(0).normal(size=(2, 3))
    y = SPACE.choices("3-2")
    reward = Rejection(TOY)
    expectation, _ = reward.expectation(Policy(TOY, logits), np.random.default_rng(0))

    def log_conditional(x: FloatArray) -> float:
        policy = Policy(TOY, x)
        log_p = policy.log_p[[0, 1], y].sum()
        return float(log_p - policy.conditional.log_probability)

    step = 1e-5
    for i, j in np.ndindex(2, 3):
        nudge = np.zeros((2, 3))
        nudge[i, j] = step
        slope = (log_conditional(logits + nudge) - log_conditional(logits - nudge)) / (2 * step)
        assert (y[i] == j) - expectation[i, j] == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Abs(TOY, beta=1.0), "`beta` must be finite and not positive"),
        (lambda: Abs(FeasibleSet(SPACE, Budget()), beta=-1.0), "needs a limit"),
        (lambda: REWARDS["rena"](TOY, penalty=2), r"`penalty` must be in \[0, 1\]"),
        (lambda: REWARDS["rejection_monte_carlo"](TOY, samples=0), "at least 1"),
        (lambda: Rejection(TOY, sample_from="all"), "'feasible' or 'policy'"),
        (
            lambda: Rejection(FeasibleSet(SPACE, Budget(parameters=99), method="monte carlo")),
            "use the reward 'rejection_monte_carlo'",
        ),
    ],
)
def test_invalid_options_are_refused(make: Callable[[], Reward], message: str) -> None:
    with pytest.raises(TabNASError, match=message):
        make()
