"""A run is finished even where its report cannot be written."""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf, nan
from pathlib import Path

import pytest

from tabnas.runs import (
    FinishedRun,
    LabelledTable,
    RunFolder,
    RunSettings,
    load_result,
    load_run_model,
    plan_run,
)
from tests.runs.helpers import make_table


def test_a_run_finishes_even_if_its_report_cannot_be_written(tmp_path: Path) -> None:
    settings = RunSettings(
        limits={"parameters": 300}, candidates=1, reference_models=False, time=0.1
    )
    run = plan_run(LabelledTable.from_table(make_table(60).drop(["value"]), "kind"), settings)
    finished = run.execute()
    with RunFolder(tmp_path / "run") as folder:
        folder.write_config({"settings": settings.to_dict()})
        (folder.path / "report.html").mkdir()
        with pytest.warns(UserWarning, match=r"finished, but has no report\.html"):
            folder.finish(finished)
    assert load_result(tmp_path / "run").architecture == finished.model.architecture
    assert load_run_model(tmp_path / "run").costs == finished.model.costs


def test_a_report_is_written_even_if_some_numbers_are_unknown(tmp_path: Path) -> None:
    settings = RunSettings(
        limits={"parameters": 300}, candidates=3, reference_models=False, teacher="none"
    )
    plan = {"search_epochs": 2, "epochs": 2, "candidates": 3}
    run = plan_run(
        LabelledTable.from_table(make_table(60).drop(["value"]), "kind"), settings, saved_plan=plan
    )
    finished = run.execute()
    assert len(finished.candidates) == 3

    def lose(*losses: float) -> FinishedRun:
        candidates = [
            replace(one, one_shot_loss=loss)
            for one, loss in zip(finished.candidates, losses, strict=True)
        ]
        return replace(finished, candidates=tuple(candidates), diagnostics=None, limit_effects=())

    unknown = lose(nan, 0.5, 0.6)
    with RunFolder(tmp_path / "some") as folder:
        folder.write_config({"settings": settings.to_dict()})
        folder.finish(unknown)  # a warning, which a page that fails gives, is an error here
    result = json.loads((tmp_path / "some" / "result.json").read_text(encoding="utf-8"))
    assert result["candidates"][0]["one_shot_loss"] is None
    page = (tmp_path / "some" / "report.html").read_text(encoding="utf-8")
    assert "Left out: 1 candidate without a finite estimate" in page
    assert (tmp_path / "some" / "MODEL_CARD.md").exists()
    with RunFolder(tmp_path / "none") as folder:
        folder.write_config({"settings": settings.to_dict()})
        folder.finish(lose(nan, inf, -inf))
    page = (tmp_path / "none" / "report.html").read_text(encoding="utf-8")
    assert "too few candidates to compare estimates" in page
    assert (tmp_path / "none" / "MODEL_CARD.md").exists()
