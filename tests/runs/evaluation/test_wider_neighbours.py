"""The next wider networks and the limits they break."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tabnas.runs.evaluation._wider_neighbours import list_wider_neighbours
from tabnas.space import Architecture, Budget, SearchSpace
from tests.problems import spaces, valid_choices


def test_neighbours_name_the_limits_they_break() -> None:
    space = SearchSpace([(4, 8, 16), (0, 4, 8)], inputs=10, outputs=1)
    budget = Budget(dense_parameters=100, flops=10_000)
    neighbours = list_wider_neighbours(space, Architecture((4, 4)), budget)
    assert [(str(s.architecture), s.violates) for s in neighbours] == [
        ("8-4", ("dense_parameters",)),
        ("4-8", ()),
    ]
    assert list_wider_neighbours(space, Architecture((16, 8)), budget) == ()


@given(space=spaces(), data=st.data())
def test_a_neighbour_breaks_a_limit_or_is_feasible(space: SearchSpace, data: st.DataObject) -> None:
    start = space.architecture(data.draw(st.sampled_from(valid_choices(space))))
    budget = Budget(parameters=data.draw(st.integers(1, 2_000)))
    for neighbour in list_wider_neighbours(space, start, budget):
        assert neighbour.architecture in space
        assert neighbour.architecture != start
        assert (not neighbour.violates) == budget.admits(space, neighbour.architecture)
