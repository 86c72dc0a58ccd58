"""Policies that are all but sure, of right and of wrong choices: exact, never NaN."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas import Budget, FeasibleSet, SearchSpace, TabNASError
from tabnas.policy import SGD, Adam, Controller, Oblivious, Policy, PolicyOptimizer, Rejection
from tabnas.space import Architecture
from tests.problems import BruteForce, problems

SPACE = SearchSpace([[2, 3, 4], [2, 3, 4]], inputs=2, outputs=1)
TOY = FeasibleSet(SPACE, Budget(dense_parameters=25))


def collapsed(choices: tuple[int, int], size: float) -> Policy:
    """All on one choice a layer."""
    logits = np.full((2, 3), -size)
    logits[[0, 1], list(choices)] = size
    return Policy(TOY, logits)


@pytest.mark.parametrize("size", [1e3, 1e4, 1e150])
def test_a_deterministic_policy_has_probability_one(size: float) -> None:
    policy = collapsed((2, 0), size)
    assert policy.probabilities.tolist() == [[0, 0, 1], [1, 0, 0]]
    assert policy.entropy == 0
    assert not np.signbit(policy.entropy)
    assert policy.conditional.log_probability == 0
    assert policy.conditional.marginals.tolist() == policy.probabilities.tolist()
    assert (policy.conditional.sample(50, np.random.default_rng(0)) == [2, 0]).all()
    assert len(set(policy.most_likely(9))) == TOY.count() == 6
    assert policy.most_likely()[0] == Architecture((4, 2))


def test_sure_and_feasible_has_no_gradient() -> None:
    """Whatever the reward: the only choice there is cannot be made likelier."""
    for reward in (Rejection(TOY), Oblivious(TOY)):
        controller = Controller(reward, SGD(learning_rate=1.0), rng=0)
        controller._optimizer.logits[...] = collapsed((2, 0), 1e4).logits
        controller.policy = Policy(TOY, controller._optimizer.logits)
        before = controller.policy.logits.copy()
        for quality in (0.5, -3.0, 9.0):
            controller.update(controller.suggest(), np.array([quality]))
        np.testing.assert_array_equal(controller.policy.logits, before)


def test_sure_of_an_infeasible_choice_still_knows_the_next_best() -> None:
    """P(V) is about exp(-2e4), which no float holds; given V, everything is exact."""
    assert Architecture((4, 4)) not in TOY
    policy = collapsed((2, 2), 1e4)
    assert policy.conditional.log_probability < -1e4
    brute = BruteForce(SPACE, TOY.budget, policy.logits)
    assert policy.conditional.log_probability == pytest.approx(brute.log_probability, abs=1e-9)
    assert policy.conditional.marginals == pytest.approx(brute.marginals, abs=1e-9)
    drawn = policy.conditional.sample(200, np.random.default_rng(0))
    assert TOY.contains(drawn).all()
    controller = Controller(Rejection(TOY), SGD(learning_rate=1.0), rng=0, workers=2)
    controller._optimizer.logits[...] = policy.logits
    controller.policy = Policy(TOY, controller._optimizer.logits)
    choices = controller.suggest()
    assert TOY.contains(choices).all()
    controller.update(choices, np.array([1.0, 0.0]))
    assert np.isfinite(controller.policy.logits).all()


@given(st.data())
def test_given_v_every_policy_is_exact(data: st.DataObject) -> None:
    """Random spaces and logits up to 1e5, against enumeration in log-space."""
    space, budget = data.draw(problems())
    size = 10 ** data.draw(st.floats(0, 5))
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    logits = size * rng.choice(
        [rng.normal(size=space.mask.shape), np.sign(rng.normal(size=space.mask.shape))]
    )
    feasible = FeasibleSet(space, budget)
    policy = Policy(feasible, logits)
    brute = BruteForce(space, budget, logits)
    conditional = policy.conditional
    assert conditional.log_probability == pytest.approx(brute.log_probability, rel=1e-12, abs=1e-9)
    assert conditional.marginals == pytest.approx(brute.marginals, abs=1e-8)
    assert conditional.marginals.sum(axis=-1) == pytest.approx(1.0, abs=1e-12)
    drawn = conditional.sample(20, rng)
    assert feasible.contains(drawn).all()
    # what is drawn has a chance: nothing that all others outweigh beyond any float
    chances = dict(zip(brute.choices, brute.conditional.tolist(), strict=True))
    assert all(chances[tuple(choices)] > 0 for choices in drawn.tolist())
    n = min(5, len(brute.choices))
    best = policy.most_likely(n)
    assert len(set(best)) == len(best)
    assert all(one in feasible for one in best)


@given(st.data())
def test_logits_of_any_size_are_finite_and_inside(data: st.DataObject) -> None:
    """Far beyond what precision allows to be exact: never NaN, always a distribution over V."""
    space, budget = data.draw(problems())
    size = 10 ** data.draw(st.floats(5, 300))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    feasible = FeasibleSet(space, budget)
    policy = Policy(feasible, size * rng.normal(size=space.mask.shape))
    marginals = policy.conditional.marginals
    assert (marginals >= 0).all()
    assert marginals.sum(axis=-1) == pytest.approx(1.0, abs=1e-12)
    assert np.isfinite(policy.conditional.log_probability)
    assert feasible.contains(policy.conditional.sample(10, rng)).all()
    assert policy.entropy >= 0


def test_underflow_against_exact_fractions() -> None:
    """P(V) of 2^-4000, and the marginals given V, in integers of any size."""
    half = float(np.log(0.5))
    powers = np.array([[-4000, -4001, 0], [-1, -2, 0]])  # of two, before the softmax
    policy = Policy(TOY, -powers * half)
    weight = [[Fraction(2) ** int(power) for power in layer] for layer in powers]
    members = BruteForce(SPACE, TOY.budget, policy.logits).choices
    chance = {pair: weight[0][pair[0]] * weight[1][pair[1]] for pair in members}
    whole = sum(chance.values())
    expected = [
        [float(sum(c for pair, c in chance.items() if pair[i] == j) / whole) for j in range(3)]
        for i in range(2)
    ]
    assert policy.conditional.marginals == pytest.approx(np.array(expected), abs=1e-12)


@pytest.mark.parametrize(
    "optimizer", [Adam(learning_rate=0.1), SGD(learning_rate=0.1)], ids=["adam", "sgd"]
)
@pytest.mark.parametrize("size", [1.0, 1e30, 1e150])
def test_thousands_of_updates_by_huge_rewards(optimizer: PolicyOptimizer, size: float) -> None:
    controller = Controller(Rejection(TOY), optimizer, rng=0, workers=3, baseline="others")
    rng = np.random.default_rng(1)
    for _ in range(3_000):
        choices = controller.suggest()
        assert TOY.contains(choices).all()
        controller.update(choices, size * np.where(rng.random(3) < 0.5, -1.0, choices[:, 0] / 2))
    state = controller.state_dict()
    assert all(np.isfinite(value).all() for name, value in state.items() if name != "random")
    assert np.isfinite(controller.policy.conditional.marginals).all()
    assert controller.policy.most_likely()[0] in TOY


def test_rewards_whose_squares_overflow_are_refused() -> None:
    controller = Controller(Rejection(TOY), rng=0)
    before = controller.state_dict()
    with pytest.raises(TabNASError, match=r"must be finite and at most 1e\+150"):
        controller.update(controller.suggest(), np.array([1e200]))
    np.testing.assert_array_equal(
        controller.state_dict()["optimizer/logits"], before["optimizer/logits"]
    )
