"""The conformance suite of rewards."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tabnas.feasible import FeasibleSet
from tabnas.policy import Adam, Controller, Policy, Reward
from tabnas.space import Budget, NumericEmbeddings, SearchSpace
from tabnas.types import FloatArray, IntArray

MakeReward = Callable[[FeasibleSet], Reward]

QUALITIES = (-3.0, -0.4, 0.0, 0.2, 0.7)
"""Qualities in ascending order. `1 - loss` is negative where a loss is above 1."""
TOLERANCE = 1e-12


def reward_problems() -> Iterator[FeasibleSet]:
    """Yield feasible sets for the checks.

    They are ragged, have optional layers, several limits, a limit on a maximum or numeric
    embeddings.
    """
    ragged = SearchSpace([[2, 5, 9], [3, 4, 8, 12]], inputs=11, outputs=2)
    optional = SearchSpace([[2, 5, 9], [0, 3, 4, 8], [0, 2, 6]], inputs=11, outputs=2)
    yield FeasibleSet(ragged, Budget(dense_parameters=100))
    yield FeasibleSet(optional, Budget(parameters=200))
    yield FeasibleSet(optional, Budget(parameters=300, flops=350))
    yield FeasibleSet(ragged, Budget(dense_parameters=100), method="enumeration")
    embeddings = NumericEmbeddings(columns=3, knots=12, dimensions=(0, 1, 4))
    embedded = SearchSpace(
        [[2, 5, 9], [0, 3, 4]], inputs=11, outputs=2, numeric_embeddings=embeddings
    )
    yield FeasibleSet(embedded, Budget(parameters=150))
    yield FeasibleSet(embedded, Budget(ram_bytes=72))


def check_reward(make: MakeReward) -> None:
    """Raise AssertionError unless the reward meets the contract of `tabnas.policy.Reward`.

    >>> from tabnas.policy import Abs
    >>> check_reward(lambda feasible: Abs(feasible, beta=-1.0))
    """
    for feasible in reward_problems():
        reward = make(feasible)
        assert reward.feasible is feasible, "a reward must keep the feasible set it was given"
        assert isinstance(reward.name, str), "a reward must have a name"
        check_samples(reward)
        check_values(reward)
        check_limit(reward)
        check_score(reward)
        check_skipped_steps(reward)
        check_learning(reward)


def check_samples(reward: Reward) -> None:
    """Check that samples are architectures of the space and reproducible, batched or not."""
    space = reward.feasible.space
    for batch in ((), (3,), (2, 2)):
        policy = _policy(reward, batch)
        sampled, again = (reward.sample(policy, 7, np.random.default_rng(5)) for _ in range(2))
        assert sampled.shape == (*batch, 7, len(space.layers)), "samples must be [..., n, layers]"
        assert (sampled == again).all(), "samples must depend only on the policy and the rng"
        evaluated = reward.needs_evaluation(sampled)
        assert evaluated.shape == (*batch, 7), "needs_evaluation must be [..., n]"
        assert evaluated.dtype == np.bool_, "needs_evaluation must be boolean"
        if reward.rejects_infeasible:
            inside = reward.feasible.contains(sampled)
            assert (evaluated == inside).all(), (
                "a reward that rejects must evaluate what is feasible"
            )
        for choices in sampled[evaluated]:
            space.architecture(choices)  # raises if it is invalid


def check_values(reward: Reward) -> None:
    """Check that values are finite, and never lower for a higher quality of an architecture."""
    sampled = reward.sample(_policy(reward), 200, np.random.default_rng(0))
    values = np.array([reward.value(np.full(200, quality), sampled) for quality in QUALITIES])
    assert values.shape == (len(QUALITIES), 200), "values must be [..., n]"
    assert np.isfinite(values).all(), "values must be finite"
    assert (np.diff(values, axis=0) >= 0).all(), "a higher quality must not have a lower value"


def check_limit(reward: Reward) -> None:
    """Check that values never rise with the cost over the limit, also for negative qualities."""
    space = reward.feasible.space
    every = np.indices([len(layer) for layer in space.layers]).reshape(len(space.layers), -1).T
    every = every[reward.needs_evaluation(every)]  # rejected architectures have no value
    ratio = reward.feasible.cost_ratio(every)
    order = np.argsort(ratio)
    over = order[
        (ratio[order] >= 1) & np.isfinite(ratio[order])
    ]  # invalid choices have the ratio inf
    for quality in QUALITIES:
        values = reward.value(np.full(len(over), quality), every[over])
        assert (np.diff(values) <= TOLERANCE).all(), (
            "of equal quality, what is farther over the limit must not have a higher value"
        )


def check_score(reward: Reward) -> None:
    """Check that the expectation is a distribution per layer; if unbiased, that of the samples."""
    space = reward.feasible.space
    rng = np.random.default_rng(1)
    policy = _policy(reward)
    repeated = Policy(
        reward.feasible, np.broadcast_to(policy.logits, (4_000, *policy.logits.shape))
    )
    expectation, known = reward.expectation(repeated, rng)
    assert expectation.shape == repeated.log_p.shape, "expectations must be like the logits"
    assert known.shape == (4_000,), "whether an expectation is known must be [...]"
    assert known.any(), "some expectations must be known"
    expectation = expectation[known]
    assert np.allclose(expectation.sum(axis=-1), 1), "expectations must sum to 1 in every layer"
    assert (expectation >= 0).all(), "expectations must not be negative"
    assert (expectation[:, ~space.mask] == 0).all(), "padding must have no probability"
    if reward.is_unbiased:
        sampled = reward.sample(policy, 40_000, rng)
        mean = _one_hot(reward, sampled[reward.needs_evaluation(sampled)]).mean(axis=0)
        assert np.allclose(mean, expectation.mean(axis=0), atol=0.02), (
            "the expectation must be that of the architectures that need evaluation"
        )


def check_skipped_steps(reward: Reward) -> None:
    """Check that a step without any architecture to evaluate changes nothing."""
    space = reward.feasible.space
    every = np.indices([len(layer) for layer in space.layers]).reshape(len(space.layers), -1).T
    dropped = every[~reward.needs_evaluation(every)]
    if len(dropped) == 0:
        return
    controller = Controller(reward, rng=0)
    choices = dropped[:1]
    before = controller.policy.logits
    step = controller.update(choices, np.array([np.nan]))
    assert not step.applied, "a step with nothing to evaluate must be skipped"
    assert (controller.policy.logits == before).all(), "a skipped step must leave the logits"
    assert controller.average.weight == 0, "a skipped step must leave the moving average"


def check_learning(reward: Reward) -> None:
    """Check that training on a noiseless quality raises the mean reward."""
    controller = Controller(reward, Adam(learning_rate=0.05), rng=2, workers=4, batch=(20,))

    def quality(choices: IntArray) -> FloatArray:
        return np.asarray(1 / (2 + np.abs(choices - 1).sum(axis=-1)))

    def mean_reward() -> float:
        sampled = reward.sample(controller.policy, 200, np.random.default_rng(3))
        rewards = reward.value(quality(sampled), sampled)
        return float(rewards[reward.needs_evaluation(sampled)].mean())

    before = mean_reward()
    for _ in range(150):
        choices = controller.suggest()
        controller.update(choices, quality(choices))
    assert mean_reward() > before, "learning must raise the reward"


def _policy(reward: Reward, batch: tuple[int, ...] = ()) -> Policy:
    shape = (*batch, *reward.feasible.space.mask.shape)
    return Policy(reward.feasible, np.random.default_rng(9).normal(size=shape))


def _one_hot(reward: Reward, choices: IntArray) -> FloatArray:
    return np.asarray(choices[..., None] == np.arange(reward.feasible.space.max_choices))
