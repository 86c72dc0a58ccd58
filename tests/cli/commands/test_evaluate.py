from __future__ import annotations

import json
from pathlib import Path

import pytest

from tabnas.cli._main import run
from tests.cli.commands.test_search import run_refused
from tests.cli.conftest import ROWS, change, make_columns, write_csv


def test_scores_as_text_and_json(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["evaluate", str(finished / "classes"), str(finished / "good.csv")]
    assert run(arguments) == 0
    said = capsys.readouterr().out
    assert f"on {ROWS} rows of good.csv, with 95 % intervals" in said
    assert "accuracy" in said
    assert run([*arguments, "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["rows"] == ROWS
    assert 0 <= scores["metrics"]["accuracy"]["value"] <= 1


def test_rows_without_a_target_are_left_out(
    finished: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_csv(here / "some.csv", change("value", {0: "", 1: "NA"})())
    assert run(["evaluate", str(finished / "quantity"), "some.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == ROWS - 2


def test_rows_without_targets_or_with_new_labels_are_refused(
    finished: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = make_columns()
    del columns["kind"]
    write_csv(here / "without.csv", columns)
    write_csv(here / "missing.csv", change("kind", "")())
    write_csv(here / "unseen.csv", change("kind", {4: "purple"})())
    for file, sentence in (
        ("without.csv", "must have the target column 'kind'"),
        ("missing.csv", "'kind' is missing in all"),
        ("unseen.csv", "'kind' in row 5 is 'purple', which does not occur in the training rows"),
    ):
        assert sentence in run_refused(["evaluate", str(finished / "classes"), file], capsys)
