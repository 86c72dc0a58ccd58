from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas import Architecture, Budget, FeasibleSet, SearchSpace, TabNASError
from tabnas.space import COSTS, default_space, relax
from tabnas.space._default_space import LADDER


@given(
    st.sampled_from(sorted(COSTS)),
    st.integers(1, 2_000_000),
    st.integers(1, 300),
    st.integers(1, 40),
    st.integers(0, 5_000),
    st.integers(1, 5),
)
def test_the_rule_holds_for_any_limit(
    cost: str, limit: int, inputs: int, outputs: int, embedded: int, layers: int
) -> None:
    budget = Budget(**{cost: limit})
    ends = {"inputs": inputs, "outputs": outputs, "embedding_parameters": embedded}
    space = default_space(budget, layers=layers, **ends)
    assert 1 <= space.depth <= layers
    assert all(layer[0] == 0 for layer in space.widths)  # depth is open
    for layer in space.widths:
        assert set(layer[1:]) <= set(LADDER)
        assert len(layer) <= 25
    if not budget.admits(space, Architecture(LADDER[:1])):
        # who refuses the limit finds the cheapest network of all, with layers or without
        every = [(), *((width,) * depth for width in LADDER for depth in range(1, layers + 1))]
        spent = {COSTS[cost](space, Architecture(widths)) for widths in every}
        held = {COSTS[cost](space, one) for one in FeasibleSet(space, Budget())}
        assert min(held) == min(spent)
        return
    # the best known shape at the limit is in the space: layers of equal width
    equal = [w for w in LADDER if budget.admits(space, Architecture((w,) * space.depth))]
    assert Architecture((equal[-1],) * space.depth) in FeasibleSet(space, budget)
    # and no candidate is beyond twice the room
    reach = relax(budget, space, 2.0)
    for layer, widths in enumerate(space.widths):
        before = tuple(candidates[1] for candidates in space.widths[:layer])
        assert reach.admits(space, Architecture((*before, widths[-1])))


@given(
    st.sampled_from(sorted(COSTS)),
    st.integers(200, 2_000_000),
    st.integers(1, 1_000),
    st.integers(1, 100),
    st.integers(1, 40),
)
def test_a_looser_limit_takes_no_small_network_away(
    cost: str, limit: int, times: int, inputs: int, outputs: int
) -> None:
    tight, loose = (
        default_space(Budget(**{cost: most}), inputs=inputs, outputs=outputs)
        for most in (limit, times * limit)
    )
    for narrow, wide in zip(tight.widths, loose.widths, strict=False):
        powers = {8, 16, 32, 64, 128, 256} & {w for w in narrow if w <= max(wide)}
        assert powers <= set(wide)


def test_a_million_parameters_leave_small_widths() -> None:
    space = default_space(Budget(parameters=1_000_000), inputs=10, outputs=1)
    for layer in space.widths:
        assert layer[:6] == (0, 8, 16, 32, 64, 128)
        assert layer[-1] == 1024


def test_relaxing_spares_what_no_architecture_can_change() -> None:
    space = SearchSpace([[4]], inputs=3, outputs=1, embedding_parameters=60)
    assert relax(Budget(parameters=100, flops=10), space, 3.0) == Budget(parameters=180, flops=30)
    assert relax(Budget(parameters=100), space, 0.5) == Budget(parameters=80)


def test_layers_are_checked() -> None:
    with pytest.raises(TabNASError, match="layers must be"):
        default_space(Budget(parameters=10), inputs=1, outputs=1, layers=0)
