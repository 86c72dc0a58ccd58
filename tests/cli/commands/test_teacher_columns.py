"""`--teacher-column` and `--teacher-columns`: answers of somebody else's model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tabnas.cli._main import run
from tabnas.runs import load_config
from tests.cli.conftest import BRIEF, make_columns, write_csv

SEARCH = ["--target", "kind", "--drop", "value", "--quiet", *BRIEF]
LIMIT = ["--max-parameters", "300"]


@pytest.fixture
def answered(here: Path) -> Path:
    """A table with the probabilities of `high` and `low`, and a file of new rows without."""
    columns = make_columns()
    low = ["0.8" if kind == "low" else "0.25" for kind in columns["kind"]]
    high = [f"{1 - float(text):.2f}" for text in low]
    write_csv(here / "new.csv", make_columns(90))
    return write_csv(here / "rows.csv", {**columns, "p_high": high, "p_low": low})


def test_search_and_predict(answered: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["search", "rows.csv", *SEARCH, *LIMIT]
    assert run([*arguments, "--teacher-columns", "p_high,p_low", "--out", "two"]) == 0
    arguments[arguments.index("--drop") + 1] += ",p_high"
    assert run([*arguments, "--teacher-column", "p_low", "--out", "one"]) == 0
    for name, teacher in (("two", "columns p_high, p_low"), ("one", "column p_low")):
        result = json.loads((Path(name) / "result.json").read_text())
        assert [model["name"] for model in result["teacher"]["models"]] == [teacher]
        assert load_config(Path(name))["settings"]["teacher"] == "own"
        assert run(["predict", name, "new.csv", "--out", f"{name}.csv"]) == 0
    assert "--teacher-columns p_high,p_low" in Path("two/MODEL_CARD.md").read_text()


def test_tradeoff(answered: Path) -> None:
    arguments = [
        "tradeoff",
        "rows.csv",
        *(word for word in SEARCH if word not in ("--time", "0.1")),
    ]
    assert run([*arguments, "--limits", "60,120", "--teacher-columns", "p_high,p_low",
                "--out", "both"]) == 0  # fmt: skip
    for limit in (60, 120):
        result = json.loads(Path(f"both/limit-{limit}/result.json").read_text())
        assert result["teacher"]["models"][0]["name"] == "columns p_high, p_low"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--teacher-columns", "p_low,p_high"], "'p_low', the probability of 'high'"),
        (["--teacher-column", "p_low", "--teacher", "none"], "teacher must be 'own' if teacher_c"),
        (["--teacher-column", "kind"], "--teacher-columns must not name the target, got 'kind'"),
        (["--teacher-column", "p_lo"], "there is no column 'p_lo'; did you mean 'p_low'?"),
        (["--teacher-column", "p_low", "--numeric", "p_low"], "must be neither features nor"),
        (["--teacher", "own"], "the teacher 'own' must be given, got none"),
    ],
)
def test_refusals(
    options: list[str], message: str, answered: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["search", "rows.csv", *SEARCH, *LIMIT, *options]) == 2
    assert message in capsys.readouterr().err


def test_stores_have_no_answers(answered: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["encode", "rows.csv", "--target", "kind", "--out", "store", "--quiet"]) == 0
    capsys.readouterr()
    assert run(["search", "store", *LIMIT, *BRIEF, "--teacher-column", "p_low"]) == 2
    assert "teacher_columns must be columns of a table, but a store" in capsys.readouterr().err


def write_more(answers: bool) -> None:
    columns = make_columns(30)
    del columns["kind"]
    if answers:
        columns |= {"p_high": ["0.4"] * 30, "p_low": ["0.6"] * 30}
    write_csv(Path("more.csv"), columns)


def test_rows_without_a_target_have_answers_too(answered: Path) -> None:
    write_more(answers=True)
    arguments = ["search", "rows.csv", *SEARCH, *LIMIT, "--teacher-columns", "p_high,p_low"]
    assert run([*arguments, "--unlabelled", "more.csv", "--out", "run"]) == 0
    result = json.loads(Path("run/result.json").read_text())
    assert any(candidate["uses_unlabelled"] for candidate in result["candidates"])


def test_rows_without_a_target_must_have_answers(
    answered: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_more(answers=False)
    arguments = ["search", "rows.csv", *SEARCH, *LIMIT, "--teacher-columns", "p_high,p_low"]
    assert run([*arguments, "--unlabelled", "more.csv", "--out", "run"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "lacks 'p_high', 'p_low'; add the teacher's answers to these rows" in said
