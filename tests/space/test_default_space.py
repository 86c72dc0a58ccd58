from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas import Architecture, Budget, FeasibleSet, SearchSpace, TabNASError
from tabnas.space import COSTS, NumericEmbeddings, default_space, scale_limits, spanning_space
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
    reach = scale_limits(budget, space, 2.0)
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
    assert scale_limits(Budget(parameters=100, flops=10), space, 3.0) == Budget(
        parameters=180, flops=30
    )
    assert scale_limits(Budget(parameters=100), space, 0.5) == Budget(parameters=80)


def test_layers_are_checked() -> None:
    with pytest.raises(TabNASError, match="layers must be"):
        default_space(Budget(parameters=10), inputs=1, outputs=1, layers=0)


@given(
    st.sampled_from(sorted(COSTS)),
    st.integers(1, 20_000),
    st.integers(1, 60),
    st.integers(1, 40),
    st.sets(st.integers(0, 9), min_size=1),
    st.data(),
)
def test_a_dimension_is_kept_if_it_fits(
    cost: str, limit: int, inputs: int, outputs: int, dimensions: set[int], data: st.DataObject
) -> None:
    """Every dimension of the space is in a feasible network, and no other one could be."""
    columns = data.draw(st.integers(1, inputs))
    embeddings = NumericEmbeddings(columns=columns, knots=10 * columns, dimensions=dimensions)
    ends = {"inputs": inputs, "outputs": outputs}
    budget = Budget(**{cost: limit})
    space = default_space(budget, **ends, layers=2, numeric_embeddings=embeddings)
    kept = space.numeric_embeddings
    assert kept is not None
    every = SearchSpace(space.widths, **ends, numeric_embeddings=embeddings)
    cheapest = {
        dimension: min(
            COSTS[cost](every, Architecture(widths, dimension))
            for widths in ((), *((width,) for width in space.widths[0][1:]))
        )
        for dimension in dimensions
    }
    fitting = {dimension for dimension, value in cheapest.items() if value <= limit}
    assert set(kept.dimensions) == (fitting or {min(dimensions)})
    if fitting:
        assert FeasibleSet(space, budget).unused_dimensions() == ()


def test_widths_are_those_without_numeric_embeddings() -> None:
    budget = Budget(parameters=2_000)
    plain = default_space(budget, inputs=16, outputs=26)
    embeddings = NumericEmbeddings(columns=16, knots=160)
    space = default_space(budget, inputs=16, outputs=26, numeric_embeddings=embeddings)
    assert space.widths == plain.widths
    # dimension 8: 1,280 parameters of its own, and 144 inputs for 5 units
    assert space.layers[0] == (0, 1, 2, 4)
    # if there is no dimension 0, the widths are narrower
    embeddings = NumericEmbeddings(columns=16, knots=160, dimensions=[4])
    narrow = default_space(budget, inputs=16, outputs=26, numeric_embeddings=embeddings)
    assert max(narrow.widths[0]) < max(space.widths[0])
    assert FeasibleSet(narrow, budget).count() > 0


def test_a_hidden_layer_may_be_what_makes_a_dimension_fit() -> None:
    """With 40 outputs, a layer of two units costs less than a linear network."""
    embeddings = NumericEmbeddings(columns=10, knots=20, dimensions=(0, 4))
    budget = Budget(parameters=400)
    space = default_space(budget, inputs=10, outputs=40, numeric_embeddings=embeddings)
    assert not budget.admits(space, Architecture((), 4))
    assert space.layers[0] == (0, 4)
    assert FeasibleSet(space, budget).unused_dimensions() == ()


def test_the_spanning_space_has_all_dimensions() -> None:
    def space(*dimensions: int) -> SearchSpace:
        embeddings = NumericEmbeddings(columns=2, knots=8, dimensions=dimensions)
        return SearchSpace([[8]], inputs=4, outputs=1, numeric_embeddings=embeddings)

    plain = SearchSpace([[16]], inputs=4, outputs=1)
    assert spanning_space([space(0, 1), space(0, 4)]).layers == ((0, 1, 4), (8,))
    assert spanning_space([plain, space(2)]).layers == ((0, 2), (8, 16))
    assert spanning_space([plain, plain]).numeric_embeddings is None
