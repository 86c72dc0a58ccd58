"""The longer training of the best candidate, in the report and in the model card."""

from __future__ import annotations

from tests.report.conftest import make_card, make_report, make_result
from tests.report.pages import check_page


def test_report_and_card_tell_of_the_longer_training() -> None:
    result = make_result()
    result["plan"]["longer_epochs"] = 1_600
    result["candidates"][0] |= {"is_longer": True, "epochs": 1_200}
    page = check_page(make_report(result))
    assert "trained for up to 40 epochs, the best for up to 1,600, by" in page.text
    assert "1,200 of 1,600" in page.text
    assert "12 of 40" in page.text
    assert "16-8, longer" in page.text
    assert "for up to 40 epochs, the best once more for up to 1,600, and the best by" in make_card(
        result
    )


def test_without_it_nothing_is_said() -> None:
    page = check_page(make_report(make_result()))
    assert "the best for up to" not in page.text
    assert ", longer" not in page.text
    assert "12 of 40" in page.text
    assert "once more" not in make_card(make_result())
