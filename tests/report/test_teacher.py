"""The section on the teacher, in the report and in the model card."""

from __future__ import annotations

import pytest

from tabnas.report import summarize_teacher
from tabnas.report._run_page import build_sections
from tabnas.results import RunResult, TeacherDistance, decode_result
from tests.report.conftest import (
    make_card,
    make_report,
    make_result,
    make_taught_result,
    make_tradeoff,
    make_tradeoff_page,
)
from tests.report.conftest import make_config as make_run_config
from tests.report.pages import check_page

MANY = {"training": 300_000, "validation": 10_000, "test": 5_000}
EVIL = "<script>alert(1)</script>|\u202e"


def decode_taught(*args: object, **values: object) -> RunResult:
    return decode_result(make_taught_result(*args, **values))


def test_without_a_teacher_there_is_no_section() -> None:
    page = check_page(make_report(make_result()))
    assert not any("teacher" in name for name in page.ids)
    assert "eacher" not in page.text
    assert "eacher" not in make_card(make_result())
    assert summarize_teacher(decode_result(make_result())) == ""


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_the_section_says_who_taught_and_what_it_is_worth(task: str) -> None:
    result = make_taught_result(task)
    page = check_page(make_report(result))
    assert {"teacher", "teacher-distance", "teacher-models"} <= set(page.ids)
    card = make_card(result)
    for text in (page.text, " ".join(card.split())):
        text = text.replace("\N{NO-BREAK SPACE}", " ")
        assert "is a blend of boosted trees (66 %) and a wide network (34 %)" in text
        assert "learned from 70 % the teacher's answers and 30 % the labels" in text
        assert "of the network is 0.200, and 0.250 without teacher" in text
        assert "of the teacher is 0.500" in text
        assert "covers 80 % of the distance" in text
        assert "On so few rows this may be chance" in text
        assert "0.512" in text  # out of fold
        loss = "mean squared error of the scaled target" if task == "regression" else "log loss"
        assert loss in text
    assert "## Teacher" in card


def test_the_figure_has_a_mark_for_each_model() -> None:
    (section,) = (s for s in build_sections(decode_taught(), ()) if s.key == "teacher")
    distance, models = section.figures
    (picture,) = distance.pictures()
    for name in ("network 0.520", "teacher 0.500", "network without teacher 0.600"):
        assert f">{name}</text>" in picture
    assert ">boosted trees 0.820</text>" in picture
    assert models.table is not None
    assert [row[0] for row in models.table.rows] == ["Boosted trees", "A wide network"]
    assert distance.table is not None
    assert distance.table.rows[0] == ["Network", "0.200", "0.520"]
    assert distance.table.rows[1] == ["Network without teacher", "0.250", "0.600"]


def test_labels_alone_may_be_better() -> None:
    text = check_page(make_report(make_taught_result(share=0.0))).text
    assert (
        "Labels alone were better in 5-fold cross-validation, so the network learned from them "
        "alone." in text
    )
    assert "the same architecture with a teacher has 0.250" in text
    assert "of the teacher is 0.500. That is better than the network." in text
    assert "of the distance" not in text
    assert "without teacher" not in text
    by_rows = make_taught_result(share=0.0)
    by_rows["plan"]["folds"] = 0
    assert (
        "Labels alone were better on the validation rows" in check_page(make_report(by_rows)).text
    )
    assert summarize_teacher(decode_result(by_rows)) == (
        "trees 66 %, network 34 %; labels alone were better"
    )


@pytest.mark.parametrize(
    ("values", "outcome", "sentence", "summary"),
    [
        ({"network": 0.52}, "part", "covers 80 % of the distance", "covers 80 % of the distance"),
        ({"network": 0.5}, "part", "covers 100 % of the distance", "covers 100 %"),
        ({"network": 0.49}, "beyond", "is beyond it", "the network is beyond it"),
        ({"network": 0.61}, "worse", "worse than without it", "worse than without it"),
        ({"teacher": 0.7}, "none", "no distance to cover", "hardly better"),
        ({"teacher": 0.599}, "none", "no distance to cover", "hardly better"),
        ({"teacher": 0.6, "network": 0.6}, "none", "no distance to cover", "hardly better"),
    ],
)
def test_percentages_are_given_only_where_they_mean_something(
    values: dict[str, float], outcome: str, sentence: str, summary: str
) -> None:
    result = make_taught_result("regression", **values)
    decoded = decode_result(result)
    assert decoded.teacher_distance is not None
    assert decoded.teacher_distance.outcome == outcome
    text = check_page(make_report(result)).text
    assert sentence in text.replace("\N{NO-BREAK SPACE}", " ")
    assert ("of the distance." in text) == (outcome == "part")
    assert summary in summarize_teacher(decoded)


def test_a_metric_may_grow() -> None:
    """The distance is in errors then: from 0.6 to 0.8 of an accuracy, three quarters are 0.75."""
    values = {"without": 0.6, "network": 0.75, "teacher": 0.8}
    decoded = decode_taught("binary", metric="accuracy", **values)
    assert decoded.teacher_distance is not None
    assert decoded.teacher_distance.outcome == "part"
    assert decoded.teacher_distance.covered == pytest.approx(0.75)
    assert "covers 75 % of the distance to it" in summarize_teacher(decoded)


def test_many_test_rows_need_no_warning() -> None:
    text = check_page(make_report(make_taught_result(rows=MANY))).text
    assert "On the 5,000 test rows" in text
    assert "so few rows" not in text


def test_without_test_rows_only_validation_is_compared() -> None:
    result = make_taught_result(scores={}, rows=MANY | {"test": 0})
    page = check_page(make_report(result))
    assert "and 0.250 without teacher" in page.text
    assert "distance to" not in page.text
    assert "teacher-distance-1-title" not in page.ids
    summary = summarize_teacher(decode_result(result))
    assert summary == "trees 66 %, network 34 %; 70 % of what the network learned from"


@pytest.mark.parametrize("value", [1e299, -1e299, 0.0])
def test_extreme_values_are_drawn(value: float) -> None:
    for name in ("teacher", "network", "without"):
        check_page(make_report(make_taught_result(**{name: value})))


def test_one_model_has_no_share() -> None:
    result = make_taught_result()
    result["teacher"]["models"] = [{"name": "trees", "share": 1.0, "out_of_fold_loss": 0.5}]
    assert (
        "The teacher, which has no limit, is boosted trees." in check_page(make_report(result)).text
    )
    assert summarize_teacher(decode_result(result)).startswith("trees; covers")


def test_a_model_of_the_user_has_its_own_name_and_no_claims() -> None:
    result = make_taught_result()
    result["teacher"]["models"] = [{"name": EVIL, "share": 1.0, "out_of_fold_loss": 0.5}]
    page = check_page(make_report(result))
    assert "<script>alert(1)</script>" in page.text
    assert "(out of fold)" not in page.text
    assert "<script>" not in make_card(result)


def test_candidates_say_what_they_learned_from() -> None:
    page = check_page(make_report(make_taught_result()))
    assert "Learned from" in page.text
    report = make_report(make_taught_result())
    assert "<title>16-8, 70 % teacher</title>" in report
    assert "<title>16-8, labels alone</title>" in report
    assert "3 networks were trained stand-alone" in page.text
    assert "4 candidates in all" in page.text
    plain = make_report(make_result())
    assert "<title>16-8</title>" in plain
    assert "Learned from" not in plain


def test_estimates_count_every_architecture_once() -> None:
    text = check_page(make_report(make_taught_result())).text
    assert "Of 3 pairs of candidates, 3 are in the same order" in text
    assert "Of an architecture that was trained several times, the best counts." in text
    assert "Left out:" not in text
    assert "several times, the best counts" not in check_page(make_report(make_result())).text


def test_the_scores_have_short_names_and_an_order() -> None:
    (section,) = (s for s in build_sections(decode_taught(), ()) if s.key == "found")
    figure = next(figure for figure in section.figures if figure.key == "scores")
    assert figure.table is not None
    assert figure.table.headings[1:] == [
        "network", "network without teacher", "teacher", "boosted trees", "trivial",
    ]  # fmt: skip
    assert ">without teacher</text>" in figure.pictures()[0]


def test_a_tradeoff_names_the_teacher_of_all_limits() -> None:
    models = make_taught_result()["teacher"]["models"]
    tradeoff = make_tradeoff(teacher=models)
    tradeoff["models"][1]["teacher_share"] = 0.4
    tradeoff["references"]["teacher"] = tradeoff["references"]["boosted trees"]
    config = make_run_config() | {"tradeoff": {"cost": "parameters", "limits": [500, 1_000, 2_000]}}
    text = check_page(make_tradeoff_page(tradeoff, config)).text
    assert "trees 66 %, network 34 %, for all limits; 1 of 3 networks learned from it" in text
    assert "The teacher is one for all limits, and has none." in text
    assert "eacher" not in check_page(make_tradeoff_page(make_tradeoff(), config)).text


def test_a_distance_of_nothing_has_no_percentage() -> None:
    distance = TeacherDistance(without=0.0, network=0.0, teacher=0.0)
    assert distance.outcome == "none"
