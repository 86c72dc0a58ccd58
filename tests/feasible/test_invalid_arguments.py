from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas import Budget, FeasibleSet, InfeasibleError, Limit, SearchSpace, TabNASError
from tabnas.space import COSTS, CallableCost, ChainCost
from tests.problems import spaces, valid_choices

SPACE = SearchSpace([[8, 16], [4, 8, 16]], inputs=10, outputs=1)


def test_the_error_about_a_too_tight_limit_names_the_cheapest() -> None:
    with pytest.raises(
        InfeasibleError,
        match=r"no architecture meets dense_parameters <= 100: "
        r"the cheapest, 8-4, has 129",
    ):
        FeasibleSet(SPACE, Budget(dense_parameters=100))
    assert FeasibleSet(SPACE, Budget(dense_parameters=129)).count() == 1


@given(spaces(embedded=True), st.data())
def test_limits_below_the_cheapest_raise_an_error(space: SearchSpace, data: st.DataObject) -> None:
    cost = COSTS[data.draw(st.sampled_from(sorted(COSTS)))]
    cheapest = min(cost(space, space.architecture(c)) for c in valid_choices(space))
    for method in ("chain", "enumeration"):
        with pytest.raises(InfeasibleError, match=f"has {cheapest:,}"):
            FeasibleSet(space, Budget(Limit(cost, cheapest - 1)), method=method)
        with pytest.raises(InfeasibleError):
            FeasibleSet(
                space, Budget(Limit(cost, cheapest - 1), Limit(_Fractions(), 0)), method=method
            )


class _Fractions(ChainCost):
    """Terms that no power of two divides."""

    name = "fractions"

    def layer(self, fan_in: int, width: int) -> float:
        return 0.1 * fan_in + width / 3

    def head(self, fan_in: int, outputs: int) -> float:
        return 0.7 * fan_in

    def fixed(self, space: SearchSpace) -> float:
        return 0.31024187555895566


@given(spaces(embedded=True), st.data())
def test_a_limit_set_to_a_cost_admits_it(space: SearchSpace, data: st.DataObject) -> None:
    cost = _Fractions()
    witness = space.architecture(data.draw(st.sampled_from(valid_choices(space))))
    budget = Budget(Limit(cost, cost(space, witness)))
    feasible = FeasibleSet(space, budget)
    assert witness in feasible
    members = {space.architecture(c) for c in valid_choices(space)}
    assert set(feasible) == {a for a in members if budget.admits(space, a)}


class _Bad(_Fractions):
    def __init__(self, term: float, resolution: float = 2.0**-20) -> None:
        self.term = term
        self.resolution = resolution

    def head(self, fan_in: int, outputs: int) -> float:
        return self.term


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        (_Bad(float("nan")), "must be finite and at least 0, got nan"),
        (_Bad(float("inf")), "must be finite and at least 0"),
        (_Bad(-1.0), "must be finite and at least 0"),
        (_Bad(1e20), "too large for exact sums"),
        (_Bad(1.0, 0.001), "must be a power of two"),
    ],
)
def test_terms_that_cannot_be_added_exactly(cost: ChainCost, message: str) -> None:
    with pytest.raises(TabNASError, match=message):
        FeasibleSet(SPACE, Budget(Limit(cost, 1e30)))


def test_costs_with_the_same_name_are_distinct() -> None:
    feasible = FeasibleSet(SPACE, Budget(Limit(lambda a: a.widths[0], 16)))
    assert feasible.most_expensive(lambda a: 100 - a.widths[0]).widths[0] == 8
    assert feasible.most_expensive(lambda a: a.widths[0]).widths[0] == 16


def test_an_inconsistent_cost_raises_an_error() -> None:
    answers = iter([1] * 6 + [9] * 100)
    feasible = FeasibleSet(SPACE, Budget(Limit(lambda _: next(answers), 5)))
    with pytest.raises(InfeasibleError, match="different values for the same architecture"):
        feasible.sample(1)


def test_limits_that_exclude_each_other() -> None:
    narrow = Limit(CallableCost(lambda a: a.widths[0], name="narrow"), 8)
    wide = Limit(CallableCost(lambda a: 24 - a.widths[0], name="wide"), 8)
    with pytest.raises(InfeasibleError, match="together, though each single limit can be met"):
        FeasibleSet(SPACE, Budget(narrow, wide))


@pytest.mark.parametrize(
    ("logits", "message"),
    [
        (np.full((2, 3), np.nan), "NaN"),
        (np.full((2, 3), np.inf), "largest logit of each layer must be finite"),
        (np.full((2, 3), -np.inf), "largest logit of each layer must be finite"),
        (np.zeros((2, 4)), r"shape \(2, 4\)"),
        (np.zeros(3), r"shape \(3,\)"),
        ([[0.0, 0.0], [0.0]], "one per candidate of each layer"),
        ("uniform", "one per candidate"),
        (["ab", "cd"], "one per candidate"),
        ({"a": 1}, "one per candidate"),
        (np.zeros((0, 2, 3)), "one per candidate"),
    ],
)
def test_invalid_logits_are_refused(logits: object, message: str) -> None:
    with pytest.raises(TabNASError, match=message):
        FeasibleSet(SPACE, Budget(parameters=1_000)).probability(logits)


def test_logits_may_be_one_array_per_layer() -> None:
    feasible = FeasibleSet(SPACE, Budget(parameters=300))
    ragged = [[0.5, -1.0], [0.0, 1.0, 2.0]]
    padded = np.array([[0.5, -1.0, 99.0], [0.0, 1.0, 2.0]])  # padding is ignored
    assert feasible.probability(ragged) == feasible.probability(padded)


def test_a_policy_that_rules_out_the_feasible_set() -> None:
    feasible = FeasibleSet(SPACE, Budget(dense_parameters=129))
    logits = np.zeros((2, 3))
    logits[0, 0] = -np.inf
    assert feasible.probability(logits) == 0
    questions = [
        lambda: feasible.marginals(logits),
        lambda: feasible.sample(1, logits),
        lambda: feasible.most_likely(1, logits),
    ]
    for ask in questions:
        with pytest.raises(TabNASError, match="a positive probability"):
            ask()


def test_methods_that_do_not_apply() -> None:
    own = Budget(Limit(lambda a: max(a.widths), 8))
    with pytest.raises(TabNASError, match="is not a ChainCost"):
        FeasibleSet(SPACE, own, method="chain")
    with pytest.raises(TabNASError, match="'enumeration' cannot be used"):
        FeasibleSet(SearchSpace.uniform(layers=6, inputs=1, outputs=1), own, method="enumeration")
    with pytest.raises(TabNASError, match="did you mean 'monte carlo'"):
        FeasibleSet(SPACE, own, method="monte_carlo")


@pytest.mark.parametrize("value", [float("nan"), -1.0])
def test_a_custom_cost_must_be_a_number(value: float) -> None:
    with pytest.raises(TabNASError, match="'odd' must be at least 0, got"):
        FeasibleSet(SPACE, Budget(Limit(type("odd", (), {"__call__": lambda *_: value})(), 8)))


@pytest.mark.parametrize("n", [-1, 1.5])
def test_numbers_of_architectures(n: int) -> None:
    feasible = FeasibleSet(SPACE, Budget(parameters=1_000))
    with pytest.raises(TabNASError, match="n must be an integer"):
        feasible.sample(n)
    with pytest.raises(TabNASError, match="n must be an integer"):
        feasible.most_likely(n)


def test_architectures_outside_the_space_are_not_feasible() -> None:
    feasible = FeasibleSet(SPACE, Budget(parameters=1_000))
    assert "8-4" in feasible
    assert "8-5" not in feasible
    assert "8" not in feasible
    assert "garbage" not in feasible
    assert 84 not in feasible


@pytest.mark.parametrize("method", ["contains", "cost_ratio"])
@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ([[1, -1]], r"must be indices of candidates, got \[1, -1\]"),
        ([[0, 0], [8, 16]], r"must be indices of candidates, got \[8, 16\]"),
        ([[0, 10**15]], "must be indices of candidates"),
        ([[0.9, 0.9]], "must be indices of candidates"),
        ([[np.nan, 0]], "must be indices of candidates"),
        ([0, 1, 2], r"an index for each of the 2 layers, got the shape \(3,\)"),
        ([["8", "4"]], "must be indices of candidates, got values of the type <U1"),
    ],
)
def test_choices_that_are_no_indices_are_refused(
    method: str, choices: list[list[float]], message: str
) -> None:
    feasible = FeasibleSet(SPACE, Budget(dense_parameters=300))
    with pytest.raises(TabNASError, match=message):
        getattr(feasible, method)(np.array(choices))


def test_the_architecture_of_choices_is_checked() -> None:
    feasible = FeasibleSet(SPACE, Budget(dense_parameters=300))
    assert str(feasible.architecture([1, 0])) == "16-4"
    with pytest.raises(InfeasibleError, match=r"16-16 does not meet dense_parameters <= 300$"):
        feasible.architecture([1, 2])
    with pytest.raises(TabNASError, match=r"must be indices of candidates, got \[0, -1\]"):
        feasible.architecture([0, -1])
