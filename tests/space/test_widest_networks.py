"""Networks as wide as the limits allow, against all networks of the shape."""

from __future__ import annotations

from operator import le

from hypothesis import given
from hypothesis import strategies as st

from tabnas.space import (
    Architecture,
    Budget,
    CallableCost,
    Limit,
    SearchSpace,
    find_widest_equal,
    widen_to_limits,
)
from tests.problems import spaces, valid_choices

SPACE = SearchSpace([(0, 16, 32, 64)] * 3, inputs=10, outputs=1)


@given(space=spaces(embedded=True), data=st.data())
def test_widened_networks_keep_the_limits_and_cannot_be_widened_further(
    space: SearchSpace, data: st.DataObject
) -> None:
    start = space.architecture(data.draw(st.sampled_from(valid_choices(space))))
    slack = data.draw(st.integers(0, 2_000))
    budget = Budget(parameters=Budget(parameters=0).costs(space, start)["parameters"] + slack)
    widened = widen_to_limits(start, space, budget)
    assert budget.admits(space, widened)
    assert space.covers(widened)
    assert (widened.depth, widened.dimension) == (start.depth, start.dimension)
    assert all(wide >= narrow for wide, narrow in zip(widened.widths, start.widths, strict=True))
    widest = max(start.widths, default=0)
    for size in range(widest + 1, max(layer[-1] for layer in space.widths) + 1):
        scaled = [
            min(round(width * size / widest), layer[-1])
            for width, layer in zip(start.widths, space.widths, strict=False)
        ]
        if start.widths and budget.admits(space, Architecture(tuple(scaled), start.dimension)):
            assert all(map(le, scaled, widened.widths))


@given(space=spaces(embedded=True), limit=st.integers(1, 3_000), data=st.data())
def test_the_widest_equal_network_is_found_among_all(
    space: SearchSpace, limit: int, data: st.DataObject
) -> None:
    layers = data.draw(st.integers(1, space.depth))
    dimensions = (0,) if space.numeric_embeddings is None else space.numeric_embeddings.dimensions
    dimension = data.draw(st.sampled_from(dimensions))
    budget = Budget(parameters=limit)
    max_width = min(layer[-1] for layer in space.widths[:layers])
    fitting = [
        architecture
        for width in range(2, max_width + 1)  # normalization makes a single unit constant
        if budget.admits(space, architecture := Architecture((width,) * layers, dimension))
    ]
    found = find_widest_equal(space, budget, layers=layers, dimension=dimension)
    assert found == (fitting[-1] if fitting else None)


def test_widths_that_cost_less_than_narrower_ones_are_found() -> None:
    def blocks(architecture: Architecture) -> float:  # as in C, where 8 units are one block
        return sum(width // 8 + width % 8 for width in architecture.widths)

    budget = Budget(Limit(CallableCost(blocks), 8))
    assert find_widest_equal(SPACE, budget, layers=2) == Architecture((32, 32))
    assert widen_to_limits(Architecture((16, 16)), SPACE, budget) == Architecture((32, 32))


def test_all_limits_hold() -> None:
    budget = Budget(parameters=3_000, ram_bytes=200)
    for start in (Architecture((16,)), Architecture((16, 16)), Architecture((16, 16, 16))):
        widened = widen_to_limits(start, SPACE, budget)
        assert budget.admits(SPACE, widened)
        assert not budget.admits(SPACE, Architecture(tuple(w + 1 for w in widened.widths)))


def test_no_network_is_widened_beyond_the_space() -> None:
    budget = Budget(parameters=10**9)
    assert widen_to_limits(Architecture((16, 32)), SPACE, budget) == Architecture((32, 64))
    assert widen_to_limits(Architecture(()), SPACE, budget) == Architecture(())
    assert find_widest_equal(SPACE, budget, layers=3) == Architecture((64, 64, 64))
    assert find_widest_equal(SPACE, Budget(parameters=1), layers=1) is None
