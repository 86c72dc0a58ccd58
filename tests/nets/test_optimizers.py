"""Settings of optimisers and schedules are checked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas.errors import TabNASError
from tabnas.nets import SGD, Adam, Constant, Cosine


def test_arrays_of_state_per_parameter():
    assert [o.moments for o in (SGD(), SGD(momentum=0.9), Adam())] == [0, 1, 2]


@pytest.mark.parametrize(
    "make",
    [
        lambda: SGD(momentum=1.0),
        lambda: SGD(weight_decay=-0.1),
        lambda: Adam(beta1=-0.1),
        lambda: Adam(beta2=1.5),
        lambda: Adam(epsilon=float("nan")),
        lambda: Adam(epsilon=0.0),
        lambda: Constant(-1.0),
        lambda: Cosine(float("inf")),
        lambda: Cosine(0.1, final=True),
    ],
)
def test_settings_out_of_range_are_refused(make):
    with pytest.raises(TabNASError, match="must be at least"):
        make()


@given(st.floats(0.0, 10.0), st.floats(0.0, 10.0), st.integers(1, 1000))
def test_a_cosine_goes_from_its_rate_to_its_final_rate(rate, final, steps):
    schedule = Cosine(rate, final)
    rates = [schedule(step=step, steps=steps) for step in range(steps + 1)]
    assert rates[0] == pytest.approx(rate)
    assert rates[-1] == pytest.approx(final, abs=1e-12)
    sorted_rates = sorted(rates, reverse=rate >= final)
    assert rates == pytest.approx(sorted_rates)
