from __future__ import annotations

from pathlib import Path

import pytest

from tabnas.runs import Labelled, RunFolder, RunSettings, load_result, load_run_model, plan_run
from tests.runs.conftest import made_table


def test_a_report_that_cannot_be_written_is_no_end_of_a_run(tmp_path: Path) -> None:
    settings = RunSettings(limits={"parameters": 300}, candidates=1, baselines=False, time=0.1)
    run = plan_run(Labelled.of(made_table(60).drop(["value"]), "kind"), settings)
    outcome = run.execute()
    with RunFolder(tmp_path / "run") as folder:
        folder.write_config({"settings": settings.to_dict()})
        (folder.path / "report.html").mkdir()
        with pytest.warns(UserWarning, match=r"finished, but has no report\.html"):
            folder.finish(outcome)
    assert load_result(tmp_path / "run")["architecture"] == str(outcome.model.architecture)
    assert load_run_model(tmp_path / "run").costs == outcome.model.costs
