from __future__ import annotations

from math import inf, isfinite, nan

from hypothesis import given
from hypothesis import strategies as st

from tabnas.latency import COST_NAMES
from tabnas.model import METRICS
from tabnas.report._words import METRICS as NAMED_METRICS
from tabnas.report._words import cost_words, harmless, interval, number, percent
from tabnas.space import COSTS


def test_every_metric_and_cost_has_words() -> None:
    directions = {name: greater for name, (_, greater) in NAMED_METRICS.items()}
    assert directions == {name: metric.greater_is_better for name, metric in METRICS.items()}
    assert cost_words("flops") == "operations a row"
    assert not any("_" in cost_words(name) for name in (*COSTS, *COST_NAMES))


@given(st.floats())
def test_numbers_are_close_to_what_they_say(value: float) -> None:
    said = number(value)
    if not isfinite(value):
        assert said in ("not a number", "infinite", "-infinite")
        return
    assert abs(float(said.replace(",", "")) - value) <= 0.006 * abs(value)


@given(st.floats(0, 1))
def test_no_share_is_rounded_to_all_or_nothing(share: float) -> None:
    said = float(percent(share).split("\N{NO-BREAK SPACE}")[0])
    assert abs(said / 100 - share) <= 0.01
    assert said < 100 or share > 0.99999


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12))
def test_ends_of_an_interval_are_in_order(value: float) -> None:
    ends = interval("rmse", value, value - abs(value) / 7, value + abs(value) / 5)
    said, low, high = (float(end.replace(",", "")) for end in ends)
    assert low <= said <= high


def test_intervals_of_what_is_no_number() -> None:
    assert interval("rmse", nan, -inf, inf) == ("not a number", "-infinite", "infinite")


@given(st.text())
def test_harmless_texts_can_be_written_and_keep_their_length(text: str) -> None:
    safe = harmless(text)
    safe.encode()
    assert len(safe) == len(text)
    assert harmless(safe) == safe
