"""The size of a model as C in the report and in the model card."""

from __future__ import annotations

from typing import Any

import pytest

from tests.report.conftest import UNCOMPILED, make_c_size, make_card, make_report, make_result
from tests.report.pages import check_page
from tests.report.test_model_card import EVIL, read_structure, read_text
from tests.report.test_run_page import EVIL as EVIL_IN_HTML

PARTS = {
    "weights": "1,920",
    "columns": "204",
    "code, at most": "3,556",
    "together, at most": "5,680",
    "compiled": "4,811",
    "texts, besides": "377",
    "RAM of activations": "104",
}


def render(**changes: Any) -> tuple[str, str]:
    """Return the report and the model card of a result with such a size."""
    result = make_result(c_size=make_c_size(**changes))
    return make_report(result), make_card(result)


def test_report_and_card_have_every_part() -> None:
    report, card = render()
    assert "c-size" in check_page(report).ids
    for name, count in PARTS.items():
        assert f'<th scope="row">{name}</th><td>{count}</td>' in report
        assert f"| {name} | {count} |" in card
    for text in (check_page(report).text, card):
        assert (
            "compiled by cc (Birds) 12.2 with -O2, the model takes 4,811 of at most 5,680" in text
        )
        assert "The bound is that of gcc -O2 on x86-64." in text


def test_without_a_compiler_there_is_the_bound() -> None:
    report, card = render(**UNCOMPILED)
    for text in (check_page(report).text, card):
        assert "compiled by gcc -O2 on x86-64, the model takes at most 5,680 bytes." in text
        assert "That was not measured" in text
        assert "texts" not in text.partition("The size as C")[2].partition("Scores on rows")[0]
    assert '<th scope="row">compiled</th>' not in report
    assert "| compiled |" not in card


def test_a_size_above_the_bound_is_shown_as_such() -> None:
    for text in render(compiled_bytes=9_999):
        assert "takes 9,999 bytes, more than the 5,680 of gcc -O2 on x86-64" in text


def test_results_without_a_size_do_not_mention_c() -> None:
    report, card = make_report(), make_card()
    assert "c-size" not in check_page(report).ids
    for text in (report, card):
        assert "--c firmware" not in text
        assert "together, at most" not in text


@pytest.mark.parametrize("evil", [EVIL, EVIL_IN_HTML])
def test_the_name_of_a_compiler_is_escaped(evil: str) -> None:
    report, card = render(compiler=evil)
    page = check_page(report)
    assert "<script>alert" not in report
    assert "<script>alert(1)</script>" in page.text
    assert "\u202e" not in report + card
    assert "\x1b" not in report + card
    assert read_structure(card) == read_structure(render()[1])
    assert "<script>alert(1)</script>" in read_text(card)
