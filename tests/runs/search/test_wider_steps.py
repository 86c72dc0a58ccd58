"""Steps to the next wider networks and the limits they break."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tabnas.runs.search._wider_steps import list_wider_steps
from tabnas.space import Architecture, Budget, SearchSpace
from tests.problems import spaces, valid_choices


def test_steps_name_the_limits_they_break() -> None:
    space = SearchSpace([(4, 8, 16), (0, 4, 8)], inputs=10, outputs=1)
    budget = Budget(dense_parameters=100, flops=10_000)
    steps = list_wider_steps(space, Architecture((4, 4)), budget)
    assert [(str(s.architecture), s.violates) for s in steps] == [
        ("8-4", ("dense_parameters",)),
        ("4-8", ()),
    ]
    assert list_wider_steps(space, Architecture((16, 8)), budget) == ()


@given(space=spaces(), data=st.data())
def test_a_step_breaks_a_limit_or_is_feasible(space: SearchSpace, data: st.DataObject) -> None:
    start = space.architecture(data.draw(st.sampled_from(valid_choices(space))))
    budget = Budget(parameters=data.draw(st.integers(1, 2_000)))
    for step in list_wider_steps(space, start, budget):
        assert step.architecture in space
        assert step.architecture != start
        assert (not step.violates) == budget.admits(space, step.architecture)
