"""What every reward must do, ours and a user's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tabnas.feasible import FeasibleSet
from tabnas.policy import Adam, Controller, Policy, Reward
from tabnas.space import Budget, SearchSpace
from tabnas.types import FloatArray, IntArray

MakeReward = Callable[[FeasibleSet], Reward]

QUALITIES = (-3.0, -0.4, 0.0, 0.2, 0.7)
"""In ascending order. `1 - loss` is negative where a loss is above 1."""
TOLERANCE = 1e-12


def reward_problems() -> Iterator[FeasibleSet]:
    """Feasible sets that a reward should cope with: ragged, optional layers, several limits."""
    ragged = SearchSpace([[2, 5, 9], [3, 4, 8, 12]], inputs=11, outputs=2)
    optional = SearchSpace([[2, 5, 9], [0, 3, 4, 8], [0, 2, 6]], inputs=11, outputs=2)
    yield FeasibleSet(ragged, Budget(dense_parameters=100))
    yield FeasibleSet(optional, Budget(parameters=200))
    yield FeasibleSet(optional, Budget(parameters=300, flops=350))
    yield FeasibleSet(ragged, Budget(dense_parameters=100), method="enumeration")


def check_reward(make: MakeReward) -> None:
    """Raise AssertionError unless the reward keeps the contract of `tabnas.policy.Reward`.

    >>> from tabnas.policy import Abs
    >>> check_reward(lambda feasible: Abs(feasible, beta=-1.0))
    """
    for feasible in reward_problems():
        reward = make(feasible)
        assert reward.feasible is feasible, "a reward must keep the feasible set it was given"
        assert isinstance(reward.name, str), "a reward must have a name"
        check_draws(reward)
        check_values(reward)
        check_limit(reward)
        check_score(reward)
        check_skips(reward)
        check_learning(reward)


def check_draws(reward: Reward) -> None:
    """Architectures of the space, the same for the same random state, batched or not."""
    space = reward.feasible.space
    for batch in ((), (3,), (2, 2)):
        policy = _policy(reward, batch)
        drawn, again = (reward.draw(policy, 7, np.random.default_rng(5)) for _ in range(2))
        assert drawn.shape == (*batch, 7, space.depth), "draws must be [..., n, layers]"
        assert (drawn == again).all(), "draws must depend on the policy and the rng alone"
        counts = reward.counts(drawn)
        assert counts.shape == (*batch, 7), "counts must be [..., n]"
        assert counts.dtype == np.bool_, "counts must be true or false"
        if reward.rejects:
            inside = reward.feasible.contains(drawn)
            assert (counts == inside).all(), "a reward that rejects must count what is feasible"
        for choices in drawn[counts]:
            space.architecture(choices)  # raises if it is none


def check_values(reward: Reward) -> None:
    """Finite, and never lower for a higher quality of the same architecture."""
    drawn = reward.draw(_policy(reward), 200, np.random.default_rng(0))
    values = np.array([reward.value(np.full(200, quality), drawn) for quality in QUALITIES])
    assert values.shape == (len(QUALITIES), 200), "values must be [..., n]"
    assert np.isfinite(values).all(), "values must be finite"
    assert (np.diff(values, axis=0) >= 0).all(), "a higher quality must not be worth less"


def check_limit(reward: Reward) -> None:
    """Of equal quality, be it negative, what is farther over the limit is never worth more."""
    space = reward.feasible.space
    every = np.indices([len(layer) for layer in space.candidates]).reshape(space.depth, -1).T
    every = every[reward.counts(every)]  # what is rejected has no worth
    load = reward.feasible.load(every)
    order = np.argsort(load)
    over = order[(load[order] >= 1) & np.isfinite(load[order])]  # that of no architecture is inf
    for quality in QUALITIES:
        values = reward.value(np.full(len(over), quality), every[over])
        assert (np.diff(values) <= TOLERANCE).all(), (
            "of equal quality, what is farther over the limit must not be worth more"
        )


def check_score(reward: Reward) -> None:
    """The expectation is a distribution per layer; if unbiased, that of what counts."""
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
    if reward.unbiased:
        drawn = reward.draw(policy, 40_000, rng)
        mean = _one_hot(reward, drawn[reward.counts(drawn)]).mean(axis=0)
        assert np.allclose(mean, expectation.mean(axis=0), atol=0.02), (
            "the expectation must be that of the architectures which count"
        )


def check_skips(reward: Reward) -> None:
    """A step in which nothing counts changes nothing."""
    space = reward.feasible.space
    every = np.indices([len(layer) for layer in space.candidates]).reshape(space.depth, -1).T
    dropped = every[~reward.counts(every)]
    if len(dropped) == 0:
        return
    controller = Controller(reward, rng=0)
    choices = dropped[:1]
    before = controller.policy.logits
    step = controller.update(choices, np.array([np.nan]))
    assert not step.applied, "a step in which nothing counts must be skipped"
    assert (controller.policy.logits == before).all(), "a skipped step must leave the logits"
    assert controller.average.weight == 0, "a skipped step must leave the moving average"


def check_learning(reward: Reward) -> None:
    """Over a noiseless quality, the policies' mean reward of what counts rises."""
    controller = Controller(reward, Adam(rate=0.05), rng=2, workers=4, batch=(20,))

    def quality(choices: IntArray) -> FloatArray:
        return np.asarray(1 / (2 + np.abs(choices - 1).sum(axis=-1)))

    def mean_reward() -> float:
        drawn = reward.draw(controller.policy, 200, np.random.default_rng(3))
        rewards = reward.value(quality(drawn), drawn)
        return float(rewards[reward.counts(drawn)].mean())

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
