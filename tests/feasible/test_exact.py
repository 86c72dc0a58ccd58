"""Chain, enumeration and brute force must agree on everything."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tabnas import Budget, FeasibleSet, Limit, SearchSpace
from tabnas.space import COSTS, CallableCost, NumericEmbeddings
from tests.problems import BruteForce, policies, problems

METHODS = ["chain", "enumeration"]
EMBEDDED = SearchSpace(
    [[2, 5, 9], [0, 3, 4, 8]],
    inputs=5,
    outputs=2,
    numeric_embeddings=NumericEmbeddings(columns=3, knots=24, dimensions=(0, 1, 2, 9)),
)


@st.composite
def cases(draw: st.DrawFn, spread: float = 5.0) -> tuple[FeasibleSet, np.ndarray, BruteForce]:
    """A feasible set by either method, a policy, and the truth."""
    method = draw(st.sampled_from(METHODS))
    space, budget = draw(problems(chain_only=method == "chain"))
    logits = draw(policies(space, spread=spread))
    return FeasibleSet(space, budget, method=method), logits, BruteForce(space, budget, logits)


@given(cases())
@settings(max_examples=300)
def test_members(case: tuple[FeasibleSet, np.ndarray, BruteForce]) -> None:
    feasible, _, truth = case
    assert feasible.count() == len(truth.choices)
    listed = [feasible.space.choices(architecture) for architecture in feasible]
    assert sorted(listed) == truth.choices
    possible = np.zeros(feasible.space.mask.shape, dtype=bool)
    possible[np.arange(len(feasible.space.layers)), truth.choices] = True
    assert (feasible.reachable() == possible).all()
    every = np.indices([len(c) for c in feasible.space.layers]).reshape(len(possible), -1).T
    assert [tuple(row) for row in every[feasible.contains(every)]] == truth.choices


@given(cases())
@settings(max_examples=300)
def test_probability_and_marginals(case: tuple[FeasibleSet, np.ndarray, BruteForce]) -> None:
    feasible, logits, truth = case
    assert feasible.log_probability(logits) == pytest.approx(truth.log_probability, abs=1e-12)
    assert feasible.marginals(logits) == pytest.approx(truth.marginals, abs=1e-12)


@given(cases(spread=400.0))
def test_tiny_probabilities_are_exact(
    case: tuple[FeasibleSet, np.ndarray, BruteForce],
) -> None:
    feasible, logits, truth = case
    assert feasible.log_probability(logits) == pytest.approx(truth.log_probability, rel=1e-12)
    assert feasible.marginals(logits) == pytest.approx(truth.marginals, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("parameters", [80, 120, 160])
def test_of_two_limits_on_the_same_thing_the_tighter_counts(method: str, parameters: int) -> None:
    """Bytes are four times the parameters: either may be the one that binds."""
    space = SearchSpace([[2, 5, 9], [0, 3, 4, 8], [0, 2, 6]], inputs=11, outputs=2)
    limits = [Limit(COSTS["parameters"], parameters), Limit(COSTS["bytes"], 4 * 120)]
    alone = FeasibleSet(space, Budget(parameters=min(parameters, 120)))
    for order in (limits, limits[::-1]):
        budget = Budget(*order)
        feasible = FeasibleSet(space, budget, method=method)
        assert set(feasible) == set(alone)
        assert feasible.count() == len(BruteForce(space, budget).choices)


def test_no_probability_is_above_one() -> None:
    """Rounding may not leave log P(V) above 0, not even where everything is feasible."""
    space = SearchSpace([[2, 5, 9], [0, 3, 4, 8], [0, 2, 6]], inputs=11, outputs=2)
    dense = SearchSpace([[2, 5, 9], [3, 4, 8], [2, 6, 7]], inputs=11, outputs=2)
    for one in (space, dense):
        logits = np.random.default_rng(0).normal(size=(500, *one.mask.shape))
        assert (FeasibleSet(one, Budget()).log_probability(logits) <= 0).all()


def test_probability_of_1e_300() -> None:
    space = SearchSpace.uniform(layers=3, inputs=1027, outputs=1)
    feasible = FeasibleSet(space, Budget(dense_parameters=41_153))
    logits = np.random.default_rng(0).normal(size=(3, 20))
    logits[0, 5:] += 690.8  # the first layer cannot be wider than 32
    truth = BruteForce(space, feasible.budget, logits)
    assert -302 < truth.log_probability / np.log(10) < -298
    assert feasible.log_probability(logits) == pytest.approx(truth.log_probability)
    assert feasible.marginals(logits) == pytest.approx(truth.marginals, abs=1e-12)
    check_samples(feasible, logits, truth)


@given(cases(spread=1.0))
def test_marginals_are_the_gradient(case: tuple[FeasibleSet, np.ndarray, BruteForce]) -> None:
    """d log P(V) / d l_ij = P(Y_i = j | V) - p_ij, by central differences."""
    feasible, logits, _ = case
    mask = feasible.space.mask
    step = 1e-5
    nudged = logits + step * np.eye(mask.size).reshape(mask.size, *mask.shape)
    opposite = logits - step * np.eye(mask.size).reshape(mask.size, *mask.shape)
    rise = feasible.log_probability(nudged) - feasible.log_probability(opposite)
    p = np.where(mask, np.exp(logits), 0)
    p /= p.sum(axis=1, keepdims=True)
    expected = feasible.marginals(logits) - p
    assert (rise / (2 * step)).reshape(mask.shape) == pytest.approx(expected, abs=1e-7)


@given(cases(), st.integers(1, 8))
def test_most_likely(case: tuple[FeasibleSet, np.ndarray, BruteForce], n: int) -> None:
    feasible, logits, truth = case
    found = [feasible.space.choices(a) for a in feasible.most_likely(n, logits)]
    assert len(set(found)) == len(found) == min(n, len(truth.choices))
    log_p = dict(zip(truth.choices, truth.log_p, strict=True))
    expected = np.sort(truth.log_p)[::-1][:n]
    assert [log_p[choices] for choices in found] == pytest.approx(list(expected))


@given(cases())
def test_cheapest_and_most_expensive(case: tuple[FeasibleSet, np.ndarray, BruteForce]) -> None:
    feasible, _, truth = case
    space = feasible.space
    members = [space.architecture(choices) for choices in truth.choices]
    for limit in feasible.budget.limits:
        costs = [limit.cost(space, architecture) for architecture in members]
        name = limit.cost.name
        assert limit.cost(space, feasible.cheapest(name)) == pytest.approx(min(costs))
        assert limit.cost(space, feasible.most_expensive(name)) == pytest.approx(max(costs))
        assert feasible.cheapest(name) in feasible
        assert feasible.most_expensive(name) in feasible
    assert feasible.most_expensive("flops") in feasible


@given(cases())
def test_cost_ratio_is_that_of_the_tightest_limit(
    case: tuple[FeasibleSet, np.ndarray, BruteForce],
) -> None:
    feasible, _, truth = case
    space = feasible.space
    ratios = feasible.cost_ratio(np.array(truth.choices))
    for choices, ratio in zip(truth.choices, ratios, strict=True):
        costs = feasible.budget.costs(space, space.architecture(choices)).values()
        limits = [limit.upper for limit in feasible.budget.limits]
        by_hand = [cost / most if most else 0 for cost, most in zip(costs, limits, strict=True)]
        assert ratio == pytest.approx(max(by_hand))
        assert ratio <= 1 + 1e-12


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("hidden", [0.0, 500.0], ids=["linear", "log-space"])
@pytest.mark.parametrize("limits", [{"dense_parameters": 100}, {"parameters": 120, "flops": 180}])
def test_samples_follow_the_conditional(
    method: str, hidden: float, limits: dict[str, float]
) -> None:
    space = SearchSpace([[2, 5, 9], [0, 3, 4, 8], [0, 2, 6]], inputs=11, outputs=2)
    feasible = FeasibleSet(space, Budget(**limits), method=method)
    logits = np.random.default_rng(1).normal(size=space.mask.shape)
    logits[0, 2] += hidden  # the widest first layer is infeasible: P(V) is e^-500 then
    assert not feasible.reachable()[0, 2]
    check_samples(feasible, logits, BruteForce(space, feasible.budget, logits))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("hidden", [0.0, 500.0], ids=["linear", "log-space"])
@pytest.mark.parametrize("limits", [{"parameters": 150}, {"parameters": 200, "flops": 400}])
def test_samples_with_numeric_embeddings_follow_the_conditional(
    method: str, hidden: float, limits: dict[str, float]
) -> None:
    feasible = FeasibleSet(EMBEDDED, Budget(**limits), method=method)
    logits = np.random.default_rng(1).normal(size=EMBEDDED.mask.shape)
    logits[0, 3] += hidden  # the largest dimension is infeasible
    assert feasible.unused_dimensions() == (9,)
    check_samples(feasible, logits, BruteForce(EMBEDDED, feasible.budget, logits))


def check_samples(feasible: FeasibleSet, logits: np.ndarray, truth: BruteForce) -> None:
    """A chi-square test of draws against the exact conditional."""
    n = 40_000
    drawn = feasible.condition(logits).sample(n, np.random.default_rng(2))
    names, counts = np.unique(drawn, axis=0, return_counts=True)
    seen = dict(zip(map(tuple, names.tolist()), counts, strict=True))
    assert set(seen) <= set(truth.choices)
    observed = np.array([seen.get(choices, 0) for choices in truth.choices])
    expected = n * truth.conditional
    often = expected > 5
    assert often.sum() > 5
    statistic = ((observed - expected)[often] ** 2 / expected[often]).sum()
    assert stats.chi2.sf(statistic, often.sum() - 1) > 1e-3
    assert observed[~often].sum() <= 10 + 3 * expected[~often].sum()


def test_a_batch_is_its_policies_one_by_one() -> None:
    space = SearchSpace([[2, 5, 9], [0, 3, 4, 8]], inputs=11, outputs=2)
    feasible = FeasibleSet(space, Budget(parameters=150))
    logits = np.random.default_rng(0).normal(size=(2, 3, *space.mask.shape))
    together = feasible.condition(logits)
    assert together.sample(7, np.random.default_rng(0)).shape == (2, 3, 7, 2)
    for i, j in np.ndindex(2, 3):
        alone = feasible.condition(logits[i, j])
        assert together.log_probability[i, j] == alone.log_probability
        assert (together.marginals[i, j] == alone.marginals).all()


@pytest.mark.parametrize("limits", [{}, {"parameters": 150}, {"parameters": 200, "flops": 400}])
@pytest.mark.parametrize("custom", [False, True], ids=["chain costs", "with a callable cost"])
def test_everything_with_numeric_embeddings(limits: dict[str, float], custom: bool) -> None:
    """A space whose members are few enough to compare all answers with a list of them."""
    cost = CallableCost(lambda a: a.dimension * (1 + a.depth), name="numbers")
    budget = Budget(*([Limit(cost, 4)] if custom else []), **limits)
    logits = np.random.default_rng(4).normal(size=EMBEDDED.mask.shape)
    truth = BruteForce(EMBEDDED, budget, logits)
    members = [EMBEDDED.architecture(choices) for choices in truth.choices]
    for method in METHODS[custom:]:
        feasible = FeasibleSet(EMBEDDED, budget, method=method)
        assert feasible.members.tolist() == [list(choices) for choices in truth.choices]
        assert feasible.probability(logits) == pytest.approx(np.exp(truth.log_probability))
        assert feasible.marginals(logits) == pytest.approx(truth.marginals, abs=1e-12)
        best = [members[index] for index in np.argsort(-truth.log_p)]
        assert feasible.most_likely(len(best) + 1, logits) == best
        for name in (*COSTS, cost):
            named = COSTS.get(name, cost)
            values = [named(EMBEDDED, one) for one in members]
            assert named(EMBEDDED, feasible.cheapest(name)) == min(values)
            assert named(EMBEDDED, feasible.most_expensive(name)) == max(values)
        assert all(one in feasible for one in feasible.sample(20, logits, rng=0))
        unused = {*EMBEDDED.layers[0]} - {one.dimension for one in members}
        assert feasible.unused_dimensions() == tuple(sorted(unused))
        assert [len(widths) for widths in feasible.unused_widths()] == [0, 0]


@given(cases())
def test_logits_may_be_one_array_for_each_layer(
    case: tuple[FeasibleSet, np.ndarray, BruteForce],
) -> None:
    feasible, logits, truth = case
    layers = feasible.space.layers
    rows = [row[: len(layer)] for row, layer in zip(logits, layers, strict=True)]
    assert feasible.log_probability(rows) == pytest.approx(truth.log_probability, abs=1e-12)


@pytest.mark.parametrize("limits", [{"parameters": 150}, {"parameters": 150, "flops": 200}])
def test_dimension_0_alone_is_the_space_without_numeric_embeddings(
    limits: dict[str, float],
) -> None:
    plain = SearchSpace(EMBEDDED.widths, inputs=5, outputs=2)
    only_0 = NumericEmbeddings(columns=3, knots=24, dimensions=[0])
    space = SearchSpace(EMBEDDED.widths, inputs=5, outputs=2, numeric_embeddings=only_0)
    logits = np.random.default_rng(0).normal(size=plain.mask.shape)
    with_row = np.concatenate([np.zeros((1, plain.max_choices)), logits])
    ours, theirs = FeasibleSet(space, Budget(**limits)), FeasibleSet(plain, Budget(**limits))
    assert set(ours) == set(theirs)
    assert ours.probability(with_row) == pytest.approx(theirs.probability(logits), rel=1e-12)
    assert ours.marginals(with_row)[0].tolist() == pytest.approx([1, 0, 0, 0])
    assert ours.marginals(with_row)[1:] == pytest.approx(theirs.marginals(logits), abs=1e-12)


def test_many_layers_after_numeric_embeddings_are_counted_by_dimension() -> None:
    """The set is the union of the sets of its dimensions: spaces with other inputs."""
    embeddings = NumericEmbeddings(columns=20, knots=200)
    space = SearchSpace.uniform(layers=5, inputs=27, outputs=1, numeric_embeddings=embeddings)
    limit = 75_353
    feasible = FeasibleSet(space, Budget(parameters=limit))
    assert feasible.method == "chain"
    counts = [
        FeasibleSet(
            SearchSpace.uniform(layers=5, inputs=27 + 20 * dimension, outputs=1),
            Budget(parameters=limit - 200 * dimension),
        ).count()
        for dimension in embeddings.dimensions
    ]
    assert feasible.count() == sum(counts)
    assert feasible.marginals()[0, :5] == pytest.approx(np.array(counts) / sum(counts))
