"""Limits on a maximum over layers, alone and together with others, against brute force."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
import pytest

from tabnas import (
    PAPER_WIDTHS,
    Architecture,
    Budget,
    FeasibleSet,
    InexactWarning,
    InfeasibleError,
    Limit,
    SearchSpace,
)
from tabnas.feasible import log_probabilities
from tabnas.policy import Policy, Rejection
from tabnas.space import COSTS, CallableCost, ChainCost, NumericEmbeddings, scale_limits
from tests.feasible.test_exact import check_samples
from tests.problems import BruteForce

METHODS = ["chain", "enumeration"]
PLAIN = SearchSpace([[2, 5, 9, 14], [0, 3, 4, 8, 12], [0, 2, 6, 11]], inputs=6, outputs=8)
EMBEDDED = SearchSpace(
    [[2, 5, 9, 14], [0, 3, 4, 8, 12]],
    inputs=5,
    outputs=8,
    numeric_embeddings=NumericEmbeddings(columns=3, knots=24, dimensions=(0, 1, 2, 9)),
)


class _Jump(ChainCost):
    """The largest difference of neighbouring widths, in thirds, and a part that all networks have.

    Wide layers are not always the expensive ones.
    """

    name = "jump"
    reduction = "max"

    def layer(self, fan_in: int, width: int) -> float:
        return abs(fan_in - width) / 3

    def head(self, fan_in: int, outputs: int) -> float:
        return abs(fan_in - outputs) / 3

    def embed(self, columns: int, knots: int, dimension: int) -> float:
        return dimension / 2

    def fixed(self, space: SearchSpace) -> float:
        return 0.3


class _Units(ChainCost):
    name = "units"

    def layer(self, fan_in: int, width: int) -> int:
        return width

    def head(self, fan_in: int, outputs: int) -> int:
        return 0


@dataclass(frozen=True)
class Problem:
    """A space, and limits. Each limit on a maximum excludes networks that the others admit."""

    space: SearchSpace
    jump: float
    units: int

    def make_budget(self, limits: str) -> Budget:
        """Return the budget of the named limits."""
        uppers = {"jump": self.jump, "units": self.units, "ram_bytes": 64, "parameters": 180}
        own = {"jump": _Jump(), "units": _Units()}
        names = limits.split()
        return Budget(*(Limit((own | COSTS)[name], uppers[name]) for name in names))


PROBLEMS = {
    "depths": Problem(PLAIN, jump=2.0, units=14),
    "dimensions": Problem(EMBEDDED, jump=2.4, units=12),
}
LIMITS = [
    "ram_bytes",
    "jump ram_bytes",
    "ram_bytes parameters",
    "parameters ram_bytes units",
    "jump ram_bytes parameters units",
]
every_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=list(PROBLEMS))


@every_problem
@pytest.mark.parametrize("limits", LIMITS[:-1])
def test_every_limit_on_a_maximum_excludes_something(limits: str, problem: Problem) -> None:
    """The tests below would not notice a limit that never binds."""
    budget = problem.make_budget(limits)
    together = len(BruteForce(problem.space, budget).choices)
    for limit in budget.limits:
        others = Budget(*(other for other in budget.limits if other is not limit))
        if limit.cost.name in ("jump", "ram_bytes"):
            assert together < len(BruteForce(problem.space, others).choices), limit


@pytest.mark.parametrize("method", METHODS)
@every_problem
@pytest.mark.parametrize("limits", LIMITS)
def test_everything_equals_brute_force(limits: str, problem: Problem, method: str) -> None:
    space, budget = problem.space, problem.make_budget(limits)
    logits = np.random.default_rng(4).normal(size=space.mask.shape)
    truth = BruteForce(space, budget, logits)
    members = [space.architecture(choices) for choices in truth.choices]
    assert 5 < len(members) < space.size
    feasible = FeasibleSet(space, budget, method=method)
    assert feasible.count() == len(members)
    assert feasible.members.tolist() == [list(choices) for choices in truth.choices]
    every = np.indices([len(layer) for layer in space.layers]).reshape(len(space.layers), -1).T
    assert [tuple(row) for row in every[feasible.contains(every)]] == truth.choices
    assert feasible.probability(logits) == pytest.approx(np.exp(truth.log_probability))
    assert feasible.marginals(logits) == pytest.approx(truth.marginals, abs=1e-12)
    best = [members[index] for index in np.argsort(-truth.log_p)]
    assert feasible.most_likely(len(best) + 1, logits) == best
    for cost in (*COSTS.values(), *(limit.cost for limit in budget.limits)):
        values = [cost(space, one) for one in members]
        assert cost(space, feasible.cheapest(cost)) == min(values)
        assert cost(space, feasible.most_expensive(cost)) == max(values)
    ratios = [
        max(limit.cost(space, one) / limit.upper for limit in budget.limits) for one in members
    ]
    assert feasible.cost_ratio(feasible.members) == pytest.approx(ratios)


@pytest.mark.parametrize("method", METHODS)
@every_problem
@pytest.mark.parametrize("limits", LIMITS[:3])
def test_samples_follow_the_conditional(limits: str, problem: Problem, method: str) -> None:
    space = problem.space
    feasible = FeasibleSet(space, problem.make_budget(limits), method=method)
    logits = np.random.default_rng(1).normal(size=space.mask.shape)
    check_samples(feasible, logits, BruteForce(space, feasible.budget, logits))


@every_problem
@pytest.mark.parametrize("limits", [LIMITS[0], LIMITS[-1]])
def test_the_policy_gradient_is_that_of_the_expected_quality(limits: str, problem: Problem) -> None:
    """d E[Q | V] / d l_ij = E[Q * (1[Y_i = j] - P(Y_i = j | V)) | V], by central differences."""
    space = problem.space
    feasible = FeasibleSet(space, problem.make_budget(limits))
    logits = np.random.default_rng(0).normal(size=space.mask.shape)
    quality = np.random.default_rng(1).normal(size=feasible.count())

    def expected_quality(logits: np.ndarray) -> float:
        return float(BruteForce(space, feasible.budget, logits).conditional @ quality)

    policy = Policy(feasible, log_probabilities(space, logits))
    expectation, known = Rejection(feasible).expectation(policy, np.random.default_rng(0))
    assert known.all()
    taken = np.eye(space.max_choices)[feasible.members]  # [members, layers, choices]
    weights = BruteForce(space, feasible.budget, logits).conditional * quality
    gradient = np.tensordot(weights, taken - expectation, 1)
    step = 1e-5
    for i, j in np.argwhere(space.mask):
        nudge = np.zeros_like(logits)
        nudge[i, j] = step
        rise = expected_quality(logits + nudge) - expected_quality(logits - nudge)
        assert gradient[i, j] == pytest.approx(rise / (2 * step), abs=1e-7)


def count_by_neighbours(space: SearchSpace, max_units: int) -> int:
    """Count the networks whose neighbouring activations have at most `max_units` together."""
    ways = {space.inputs: 1}
    for layer in space.widths:
        ways = {
            width: sum(n for before, n in ways.items() if before + width <= max_units)
            for width in layer
        }
    return sum(n for width, n in ways.items() if width + space.outputs <= max_units)


def test_spaces_of_any_size_are_exact() -> None:
    space = SearchSpace.uniform(layers=30, inputs=180, outputs=10)
    feasible = FeasibleSet(space, Budget(ram_bytes=4 * 300))
    assert feasible.method == "chain"
    assert feasible.count() == count_by_neighbours(space, 300) > 10**30
    for member in feasible.sample(20, rng=0):
        widths = (180, *member.widths, 10)
        assert max(a + b for a, b in pairwise(widths)) <= 300


def test_a_maximum_adds_no_states_to_a_sum() -> None:
    """It only forbids transitions, so the diagram still meets in the middle."""
    space = SearchSpace.uniform(layers=7, inputs=54, outputs=7)
    alone = FeasibleSet(space, Budget(parameters=20_000))
    both = FeasibleSet(space, Budget(parameters=20_000, ram_bytes=4 * 150))
    assert 0 < both.count() < alone.count()
    assert both._require_diagram().edges <= alone._require_diagram().edges


def test_a_sum_that_a_maximum_keeps_low_is_dropped() -> None:
    space = SearchSpace.uniform(layers=7, inputs=54, outputs=7, widths=PAPER_WIDTHS)
    alone = FeasibleSet(space, Budget(ram_bytes=4 * 80))
    largest = COSTS["parameters"](space, alone.most_expensive("parameters"))
    for parameters in (largest, largest - 1):
        both = FeasibleSet(space, Budget(ram_bytes=4 * 80, parameters=parameters))
        assert (both.count() == alone.count()) == (parameters == largest)


def test_of_equal_maxima_the_other_layers_decide() -> None:
    space = SearchSpace([[2, 5, 9], [0, 3, 4, 8], [0, 2, 6]], inputs=60, outputs=2)
    feasible = FeasibleSet(space, Budget(ram_bytes=4 * 65))
    assert feasible.most_expensive() == Architecture((5, 8, 6))
    assert feasible.cheapest() == Architecture((2,))


class _Square(ChainCost):
    """The sum of the squared distances of all widths from one width."""

    def __init__(self, center: int) -> None:
        self.name = f"from_{center}"
        self.center = center

    def layer(self, fan_in: int, width: int) -> int:
        return (width - self.center) ** 2

    def head(self, fan_in: int, outputs: int) -> int:
        return 0


def test_extremes_of_a_diagram_with_dead_ends() -> None:
    """Each of two limits may leave a way on where both together leave none."""
    space = SearchSpace.uniform(layers=4, widths=(10, 20, 30, 40, 50), inputs=7, outputs=1)
    found = 0
    for low, high in product(range(1_000, 4_001, 500), repeat=2):
        budget = Budget(Limit(_Square(10), low), Limit(_Square(50), high))
        try:
            feasible = FeasibleSet(space, budget, method="chain")
        except InfeasibleError:
            continue
        found += 0 in feasible._require_diagram()._counts
        for cost in (_Jump(), COSTS["ram_bytes"]):
            values = [cost(space, one) for one in feasible]
            assert cost(space, feasible.most_expensive(cost)) == max(values)
            assert cost(space, feasible.cheapest(cost)) == min(values)
    assert found > 3


def test_a_limit_that_nothing_meets_names_the_smallest_value() -> None:
    with pytest.raises(InfeasibleError, match=r"ram_bytes <= 39: the cheapest, 2, has 40$"):
        FeasibleSet(PLAIN, Budget(ram_bytes=39))
    cheapest = {Architecture.parse(text) for text in ("2", "2-3-2", "2-4-2", "2-8-2")}
    assert set(FeasibleSet(PLAIN, Budget(ram_bytes=40))) == cheapest
    with pytest.raises(InfeasibleError, match="ram_bytes <= 39"):
        FeasibleSet(PLAIN, Budget(ram_bytes=39, parameters=100))


def test_two_limits_that_nothing_meets_together() -> None:
    space = SearchSpace([[2], [8, 20]], inputs=4, outputs=9)
    missing = Limit(CallableCost(lambda a: 20 - a.widths[1], name="missing"), 0)
    with pytest.raises(InfeasibleError, match="together, though each single limit can be met"):
        FeasibleSet(space, Budget(missing, ram_bytes=70))


def test_a_set_estimated_from_samples_keeps_the_limit() -> None:
    space = SearchSpace.uniform(layers=6, inputs=54, outputs=7)
    units = Limit(CallableCost(lambda a: sum(a.widths), name="units"), 600)
    with pytest.warns(InexactWarning):
        feasible = FeasibleSet(space, Budget(units, ram_bytes=4 * 300), samples=2_000)
    assert not feasible.is_exact
    limited = [*feasible.sample(50, rng=0), feasible.cheapest(), feasible.most_expensive()]
    assert all(COSTS["ram_bytes"](space, one) <= 4 * 300 for one in limited)
    exact = FeasibleSet(space, Budget(ram_bytes=4 * 300))
    sampled = FeasibleSet(space, Budget(ram_bytes=4 * 300), method="monte carlo")
    assert float(sampled.probability()) == pytest.approx(float(exact.probability()), rel=0.05)


def test_relaxed_limits_leave_the_fixed_part() -> None:
    (limit,) = scale_limits(Budget(Limit(_Jump(), 0.5)), PLAIN, 2.0).limits
    assert limit.upper == pytest.approx(0.3 + 2 * 0.2)
