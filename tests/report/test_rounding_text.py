"""What reports and the command line say about rounded weights."""

from __future__ import annotations

from typing import Any

from tabnas.report._rounding_text import describe_rounding, summarize_rounding
from tabnas.results import RunResult, decode_result
from tests.report.conftest import make_result


def make_rounded_result(**plan: Any) -> RunResult:
    result = make_result()
    result["candidates"][0] |= {"precision": "int8", "score_before_rounding": 0.1964}
    result["plan"] |= plan
    return decode_result(result)


def test_the_summary_has_the_score_before_and_after_rounding() -> None:
    expected = "int8; log loss 0.196 before rounding, 0.200 after"
    assert summarize_rounding(make_rounded_result()) == expected


def test_the_sentence_names_the_rows() -> None:
    start = "The weights are stored as int8; log loss 0.196 before rounding, 0.200 after"
    assert describe_rounding(make_rounded_result()) == f"{start}, over the folds."
    assert describe_rounding(make_rounded_result(folds=0)) == f"{start}, on the validation rows."


def test_float32_is_not_mentioned() -> None:
    result = decode_result(make_result())
    assert summarize_rounding(result) == describe_rounding(result) == ""
