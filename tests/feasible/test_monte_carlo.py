"""Algorithm 2: unbiased, consistent, and never a division by nothing."""

from __future__ import annotations

import numpy as np
import pytest

from tabnas import (
    Budget,
    FeasibleSet,
    InexactError,
    InexactWarning,
    InfeasibleError,
    Limit,
    SearchSpace,
    TabNASError,
)
from tabnas.space import CallableCost, NumericEmbeddings

SPACE = SearchSpace([[2, 5, 9], [0, 3, 4, 8], [0, 2, 6]], inputs=11, outputs=2)
BUDGET = Budget(dense_parameters=150)
LOGITS = np.random.default_rng(3).normal(size=SPACE.mask.shape)
PROPOSAL = LOGITS / 2


@pytest.mark.parametrize("proposal", [None, PROPOSAL], ids=["q=p", "another q"])
def test_the_estimate_is_unbiased(proposal: np.ndarray | None) -> None:
    feasible = FeasibleSet(SPACE, BUDGET)
    repeats, samples = 20_000, 5
    batch = np.broadcast_to(LOGITS, (repeats, *LOGITS.shape))
    estimates = np.exp(feasible.estimate(batch, samples=samples, proposal=proposal).log_probability)
    error = estimates.std() / np.sqrt(repeats)
    assert estimates.mean() == pytest.approx(float(feasible.probability(LOGITS)), abs=4 * error)


@pytest.mark.parametrize("proposal", [None, PROPOSAL], ids=["q=p", "another q"])
def test_the_gradient_is_consistent(proposal: np.ndarray | None) -> None:
    feasible = FeasibleSet(SPACE, BUDGET)
    errors = [
        np.abs(
            feasible.estimate(LOGITS, samples=samples, proposal=proposal).marginals
            - feasible.marginals(LOGITS)
        ).max()
        for samples in (1_000, 2_500_000)  # more than one chunk
    ]
    assert errors[1] < 0.003
    assert errors[1] < errors[0]


def test_tiny_weights_do_not_underflow() -> None:
    """A proposal nowhere near the policy: weights p / q of e-400."""
    feasible = FeasibleSet(SPACE, BUDGET)
    far = np.where(np.arange(4) == 3, 200.0, 0.0) * np.ones((3, 1))
    far[:, :3] += np.random.default_rng(0).normal(size=(3, 3))
    estimate = feasible.estimate(far, samples=100_000, proposal=np.zeros_like(far))
    assert np.isfinite(estimate.log_probability)
    assert estimate.log_probability == pytest.approx(float(feasible.log_probability(far)), abs=0.1)
    assert estimate.marginals == pytest.approx(feasible.marginals(far), abs=0.05)


def test_no_feasible_sample_divides_nothing() -> None:
    feasible = FeasibleSet(SPACE, BUDGET)
    wide = np.where(np.arange(4) >= 2, 60.0, 0.0) * np.ones((3, 1))
    mixed = np.stack([wide, LOGITS])
    estimate = feasible.estimate(mixed, samples=50)
    assert list(estimate.usable) == [False, True]
    assert estimate.log_probability[0] == -np.inf
    assert (estimate.marginals[0] == 0).all()
    assert np.isfinite(estimate.marginals).all()


def test_monte_carlo_on_request() -> None:
    exact = FeasibleSet(SPACE, BUDGET)
    sampled = FeasibleSet(SPACE, BUDGET, method="monte carlo", samples=200_000)
    assert not sampled.is_exact
    assert sampled.probability(LOGITS) == pytest.approx(exact.probability(LOGITS), abs=0.01)
    assert sampled.marginals(LOGITS) == pytest.approx(exact.marginals(LOGITS), abs=0.01)
    assert all(architecture in exact for architecture in sampled.sample(50, LOGITS))
    assert sampled.most_likely(3, LOGITS) == exact.most_likely(3, LOGITS)
    assert sampled.cheapest() == exact.cheapest()
    assert sampled.most_expensive() == exact.most_expensive()
    assert sampled.condition(np.stack([LOGITS] * 2)).sample(3, np.random.default_rng(0)).shape == (
        2,
        3,
        3,
    )
    with pytest.raises(InexactError, match="cannot be counted"):
        sampled.count()
    with pytest.raises(InexactError, match="cannot be counted or listed"):
        iter(sampled)


def test_a_custom_cost_in_a_huge_space_gives_a_warning() -> None:
    space = SearchSpace.uniform(layers=8, inputs=11, outputs=2)
    with pytest.warns(InexactWarning, match="is not a ChainCost"):
        feasible = FeasibleSet(space, Budget(Limit(lambda a: max(a.widths), 64)), samples=2_000)
    assert feasible.method == "monte carlo"
    assert all(max(architecture.widths) <= 64 for architecture in feasible.sample(3))


def test_too_many_states_warn() -> None:
    space = SearchSpace(
        [[prime + 210 * k for k in range(12)] for prime in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29)],
        inputs=11,
        outputs=2,
    )
    with pytest.warns(InexactWarning, match="more than 5,000,000 edges"):
        FeasibleSet(space, Budget(parameters=8_000_000, flops=15_000_000), samples=5_000)


def test_nothing_feasible_among_the_samples() -> None:
    space = SearchSpace.uniform(layers=3, inputs=11, outputs=2)
    with pytest.raises(InfeasibleError, match="the cheapest, 8-8-8, has 306"):
        FeasibleSet(space, Budget(parameters=10), method="monte carlo", samples=100)
    rare = CallableCost(lambda a: 0 if a.widths == (512, 512, 512) else 1, name="rare")
    with pytest.raises(InfeasibleError, match="none of 100 sampled architectures meets rare"):
        FeasibleSet(space, Budget(Limit(rare, 0)), method="monte carlo", samples=100)


def test_weightless_samples_are_no_gradient() -> None:
    """Feasible samples of q to which the policy gives no probability at all."""
    feasible = FeasibleSet(SPACE, BUDGET)
    logits = np.where(np.arange(4) == 0, 0.0, -np.inf) * np.ones((3, 1))
    proposal = np.where(np.arange(4) == 1, 50.0, 0.0) * np.ones((3, 1))
    estimate = feasible.estimate(logits, samples=50, proposal=proposal)
    assert estimate.feasible_samples > 0
    assert not estimate.usable


def test_large_batches_are_sampled_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tabnas.feasible._monte_carlo.MAX_CHUNK", 1_000)
    feasible = FeasibleSet(SPACE, BUDGET)
    batch = np.broadcast_to(LOGITS, (7, *LOGITS.shape))
    estimate = feasible.estimate(batch, samples=20_000)
    assert estimate.marginals == pytest.approx(
        np.broadcast_to(feasible.marginals(LOGITS), batch.shape), abs=0.03
    )


def test_chunks_add_up_to_the_full_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same samples, weighed together or a few at a time: later ones may weigh much more."""
    feasible = FeasibleSet(SPACE, BUDGET)
    steep = 5 * LOGITS
    options = {"samples": 500, "proposal": np.zeros_like(steep), "rng": 1}
    whole = feasible.estimate(steep, **options)
    for chunk in (1, 3, 100):
        monkeypatch.setattr("tabnas.feasible._monte_carlo.MAX_CHUNK", chunk)
        pieces = feasible.estimate(steep, **options)
        assert pieces.feasible_samples == whole.feasible_samples
        assert pieces.log_probability == pytest.approx(whole.log_probability, rel=1e-12)
        assert pieces.marginals == pytest.approx(whole.marginals, rel=1e-12)


@pytest.mark.parametrize("samples", [0, -5, 2.5])
def test_samples_must_be_a_number(samples: int) -> None:
    with pytest.raises(TabNASError, match="samples must be an integer of at least 1"):
        FeasibleSet(SPACE, BUDGET).estimate(samples=samples)


def test_rare_sets_end_with_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tabnas.feasible._monte_carlo.MAX_DRAWS", 10_000)
    space = SearchSpace.uniform(layers=3, inputs=11, outputs=2)
    feasible = FeasibleSet(space, Budget(parameters=306), method="monte carlo", samples=100)
    with pytest.raises(InfeasibleError, match="but 100 were requested"):
        feasible.sample(100)


def test_estimates_with_numeric_embeddings() -> None:
    embeddings = NumericEmbeddings(columns=3, knots=24, dimensions=(0, 1, 9))
    space = SearchSpace([[2, 5, 9], [0, 3, 4]], inputs=5, outputs=2, numeric_embeddings=embeddings)
    logits = np.random.default_rng(3).normal(size=space.mask.shape)
    exact = FeasibleSet(space, BUDGET)
    sampled = FeasibleSet(space, BUDGET, method="monte carlo", samples=200_000)
    assert sampled.probability(logits) == pytest.approx(exact.probability(logits), abs=0.01)
    assert sampled.marginals(logits) == pytest.approx(exact.marginals(logits), abs=0.01)
    assert all(architecture in exact for architecture in sampled.sample(50, logits))
    assert sampled.most_likely(3, logits) == exact.most_likely(3, logits)
    assert sampled.cheapest() == exact.cheapest()
    assert sampled.sampled_members.tolist() == exact.members.tolist()
