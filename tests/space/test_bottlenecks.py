from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas.space import (
    Architecture,
    NumericEmbeddings,
    SearchSpace,
    bottleneck_ratio,
    find_bottlenecks,
)

PRINTED = {  # inputs, and the paper's table of Pareto-optimal architectures
    1027: "32-144-24-112 48-112-8-80 48-384-16-176 96-144-32-240 96-384-48-16 32-240-16-8-96 "
    "48-128-64-16-128 48-256-16-8-384 64-144-48-96-160 96-512-24-256-48",
    180: "48-112-16-24 32-112-24-224 48-160-32-144 48-256-24-112 80-208-32-64 "
    "64-64-160-48-16-144-16-8-48 80-144-32-112-32-8-128-8-144 112-144-32-32-24-24-24-128-32 "
    "144-128-112-16-16-48-144-24-160 160-144-144-32-112-32-48-32-144",
}
PRINTED_ONES = [(name, inputs) for inputs, names in PRINTED.items() for name in names.split()]
WIDTHS = st.lists(st.integers(1, 6), max_size=6)


@pytest.mark.parametrize(("name", "inputs"), PRINTED_ONES)
def test_what_the_paper_calls_a_bottleneck_is_one(name: str, inputs: int) -> None:
    assert find_bottlenecks(Architecture.parse(name), inputs)
    assert bottleneck_ratio(Architecture.parse(name), inputs) >= 2


@pytest.mark.parametrize(
    ("name", "inputs", "expected"),
    [
        ("linear", 10, ()),
        ("4", 10, ()),  # outputs are not a layer
        ("16-8", 10, ()),
        ("8-16", 10, (1,)),  # the first layer, between input and second
        ("8-16", 8, ()),
        ("32-8-8-32", 10, (2, 3)),
        ("32-8-16-32", 10, (2, 3)),  # 16 has wider layers on both sides, though not next to it
        ("32-16-16-8", 10, ()),
        ("32-144-24", 1027, (1,)),
        ("48-160-32-144", 180, (1, 3)),
    ],
)
def test_bottlenecks(name: str, inputs: int, expected: tuple[int, ...]) -> None:
    assert find_bottlenecks(Architecture.parse(name), inputs) == expected


@given(WIDTHS, st.integers(1, 6))
def test_there_is_a_bottleneck_where_the_widths_have_a_valley(
    widths: list[int], inputs: int
) -> None:
    levels = [width for width, _ in groupby((inputs, *widths))]
    valleys = [b for a, b, c in zip(levels, levels[1:], levels[2:], strict=False) if a > b < c]
    found = find_bottlenecks(Architecture(tuple(widths)), inputs)
    assert bool(found) == bool(valleys)
    assert bool(found) == (bottleneck_ratio(Architecture(tuple(widths)), inputs) > 1)


def test_numeric_embeddings_widen_the_input() -> None:
    embeddings = NumericEmbeddings(columns=3, knots=12)
    space = SearchSpace([[8], [16]], inputs=4, outputs=1, numeric_embeddings=embeddings)
    for dimension, expected in ((0, ()), (1, ()), (2, (1,)), (8, (1,))):
        one = Architecture((8, 16), dimension)
        assert find_bottlenecks(one, space.input_width(dimension)) == expected
