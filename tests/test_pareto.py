from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tabnas.pareto import is_pareto_optimal


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=30))
def test_no_point_dominates_an_optimal_one(points: list[tuple[int, int]]) -> None:
    front = is_pareto_optimal(*zip(*points, strict=True))

    def dominates(a: tuple[int, int], b: tuple[int, int]) -> bool:
        return a[0] <= b[0] and a[1] <= b[1] and a != b

    for point, optimal in zip(points, front, strict=True):
        assert optimal == (not any(dominates(other, point) for other in points))
