from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tabnas.cli._main import run
from tests.cli.commands.test_search import run_refused
from tests.report.pages import check_page


@pytest.mark.parametrize("name", ["classes", "quantity"])
def test_every_run_has_a_report(finished: Path, name: str) -> None:
    page = check_page((finished / name / "report.html").read_text(encoding="utf-8"))
    assert "good.csv" in page.text
    assert "The limit holds" in page.text


def test_a_report_is_written_again(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(finished / "classes", tmp_path / "copy")
    page = copy / "report.html"
    before = page.read_bytes()
    page.unlink()
    (copy / "history.jsonl").unlink()
    assert run(["report", str(copy)]) == 0
    assert capsys.readouterr().out.strip() == str(page)
    assert page.read_bytes() != before
    assert "There is no record of the search" in check_page(page.read_text(encoding="utf-8")).text
    shutil.copy(finished / "classes" / "history.jsonl", copy)
    assert run(["report", str(copy)]) == 0
    assert page.read_bytes() == before


def test_unfinished_runs_are_refused(
    finished: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "must be the folder of a finished run" in run_refused(["report", "."], capsys)
    copy = shutil.copytree(finished / "classes", here / "copy")
    result = json.loads((copy / "result.json").read_text(encoding="utf-8"))
    (copy / "result.json").write_text(json.dumps(result | {"candidates": 3}), encoding="utf-8")
    assert "candidates must be a list" in run_refused(["report", str(copy)], capsys)
    (copy / "result.json").write_text(json.dumps(result), encoding="utf-8")
    (copy / "history.jsonl").write_text("{nothing", encoding="utf-8")
    assert "history.jsonl" in run_refused(["report", str(copy)], capsys)


def test_a_report_is_not_written_through_a_link(
    finished: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(finished / "classes", here / "copy")
    (copy / "report.html").unlink()
    (copy / "report.html").symlink_to(here / "elsewhere")
    assert "it is a link" in run_refused(["report", str(copy)], capsys)
    assert not (here / "elsewhere").exists()


def test_an_existing_model_card_is_not_changed(finished: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(finished / "classes", tmp_path / "copy")
    card = copy / "MODEL_CARD.md"
    made = card.read_text(encoding="utf-8")
    assert made.startswith("# Model card: predicting kind\n")
    card.write_text("completed", encoding="utf-8")
    assert run(["report", str(copy)]) == 0
    assert card.read_text(encoding="utf-8") == "completed"
    card.unlink()
    assert run(["report", str(copy)]) == 0
    assert card.read_text(encoding="utf-8") == made
