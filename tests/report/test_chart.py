from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tabnas.report._chart import Scale, tick_labels

finite = st.floats(-1e300, 1e300)


@given(st.lists(finite, max_size=6), st.booleans())
def test_a_scale_contains_its_values_and_ticks(values: list[float], log: bool) -> None:
    scale = Scale.from_values(values, 10.0, 200.0, log=log)
    for value in values:
        assert scale.contains(value)
        assert 10.0 - 1e-6 <= scale(value) <= 200.0 + 1e-6
    places = [place for place, _ in tick_labels(scale, 5)]
    assert 1 <= len(places) <= 14
    assert all(10.0 - 1e-6 <= place <= 200.0 + 1e-6 for place in places)
    assert all(a < b for a, b in pairwise(places))


@given(st.floats(1e-200, 1e200), st.floats(25, 1e80))
def test_orders_of_magnitude_get_a_logarithmic_axis(low: float, ratio: float) -> None:
    scale = Scale.from_values([low, low * ratio], 0.0, 100.0, log=True)
    assert scale.logarithmic
    middle = low * ratio**0.5
    assert abs(scale(middle) - 50.0) < 1e-3


def test_ticks_have_the_same_digits() -> None:
    scale = Scale(0.0, 1.0, 0.0, 100.0)
    assert [text for _, text in tick_labels(scale, 4)] == ["0.00", "0.25", "0.50", "0.75", "1.00"]
    in_percent = [text for _, text in tick_labels(scale, 4, percent=True)]
    assert in_percent[1] == "25\N{NO-BREAK SPACE}%"
