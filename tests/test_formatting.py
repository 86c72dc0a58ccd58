from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite, nan

from hypothesis import given
from hypothesis import strategies as st

from tabnas.formatting import (
    MAX_NAME,
    MAX_TEXT,
    METRIC_LABELS,
    cost_label,
    format_interval,
    format_number,
    format_percent,
    sanitize,
    sanitize_texts,
)
from tabnas.model import METRICS
from tabnas.space import COSTS, LATENCY_ROWS


def test_every_metric_and_cost_has_a_label() -> None:
    directions = {name: greater for name, (_, greater) in METRIC_LABELS.items()}
    assert directions == {name: metric.greater_is_better for name, metric in METRICS.items()}
    assert cost_label("flops") == "operations a row"
    assert not any("_" in cost_label(name) for name in (*COSTS, *LATENCY_ROWS))


@given(st.floats(-1e300, 1e300) | st.sampled_from([nan, inf, -inf]))
def test_formatted_numbers_are_close(value: float) -> None:
    text = format_number(value)
    if not isfinite(value):
        assert text in ("not a number", "infinite", "-infinite")
        return
    assert abs(float(text.replace(",", "")) - value) <= 0.006 * abs(value)


@given(st.floats(0, 1))
def test_no_share_is_rounded_to_all_or_nothing(share: float) -> None:
    percent = float(format_percent(share).split("\N{NO-BREAK SPACE}")[0])
    assert abs(percent / 100 - share) <= 0.01
    assert percent < 100 or share > 0.99999


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12))
def test_ends_of_an_interval_are_in_order(value: float) -> None:
    ends = format_interval("rmse", value, value - abs(value) / 7, value + abs(value) / 5)
    middle, low, high = (float(end.replace(",", "")) for end in ends)
    assert low <= middle <= high


def test_intervals_that_are_not_numbers() -> None:
    assert format_interval("rmse", nan, -inf, inf) == ("not a number", "-infinite", "infinite")


@given(st.text())
def test_sanitized_texts_can_be_written_and_keep_their_length(text: str) -> None:
    safe = sanitize(text)
    safe.encode()
    assert len(safe) == len(text)
    assert sanitize(safe) == safe


@dataclass(frozen=True)
class Inner:
    names: tuple[str, ...]
    count: int = 3


@dataclass(frozen=True)
class Outer:
    note: str
    by_name: Mapping[str, Inner]
    values: list[float | None]


def test_names_that_are_cut_stay_different() -> None:
    question = "How satisfied are you with the following aspects of your job? " * 2
    names = [f"{question}[{aspect}]" for aspect in ("Pay", "Hours")]
    same_ends = [f"{question}{letter}{question}" for letter in "ab"]
    texts = Outer("", {name: Inner((name,)) for name in [*names, *same_ends, "short"]}, [])
    safe = sanitize_texts(texts).by_name
    assert len(safe) == 5
    assert max(map(len, safe)) <= MAX_NAME
    assert [name.endswith(("[Pay]", "[Hours]")) for name in safe][:2] == [True, True]
    assert list(safe)[-1] == "short"
    assert sanitize_texts(texts) == sanitize_texts(texts)


def test_all_texts_of_a_dataclass_are_sanitized() -> None:
    odd = Outer("a\x1bb" + "c" * 1_000, {"d\u202e": Inner(("e\0", "f"))}, [1.0, None])
    safe = sanitize_texts(odd)
    assert safe.note.startswith("a\N{REPLACEMENT CHARACTER}bc")
    assert len(safe.note) == MAX_TEXT
    (name,) = safe.by_name
    assert name == "d\N{REPLACEMENT CHARACTER}"
    assert safe.by_name[name] == Inner(("e\N{REPLACEMENT CHARACTER}", "f"))
    assert safe.values == odd.values
