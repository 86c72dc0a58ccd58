"""A run with the limits of a device has the size of its model as C in all of its files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tabnas.export import export_c
from tabnas.export.c import _size
from tabnas.runs import (
    FinishedRun,
    LabelledTable,
    RunFolder,
    RunSettings,
    TradeoffFolder,
    build_run_result,
    execute_in_folder,
    load_result,
    load_run_model,
    plan_tradeoff,
    run_in_folder,
)
from tabnas.runs.folders._c_size import measure_for_device
from tabnas.runs.folders._pages import write_card, write_report
from tests.runs.helpers import (
    SHORT,
    KilledError,
    kill_at,
    make_table,
    plan_short_run,
    read_finished_files,
)

LIMIT = {"bytes": 3_000}
OPTIONS = {"candidates": 1, "reference_models": False, "teacher": "none"}


def make_labelled() -> LabelledTable:
    return LabelledTable.from_table(make_table(300).drop(["value"]), "kind")


@pytest.fixture(scope="module")
def finished() -> FinishedRun:
    return plan_short_run(300, limits=LIMIT).execute()


def test_every_file_of_a_run_has_the_size_of_its_export(tmp_path: Path) -> None:
    settings = RunSettings(limits=LIMIT, **OPTIONS)
    run_in_folder(tmp_path / "run", make_labelled(), settings, saved_plan=SHORT)
    size = load_result(tmp_path / "run").c_size
    assert size is not None
    assert size == export_c(load_run_model(tmp_path / "run"), tmp_path / "c").size
    assert size.weight_bytes <= LIMIT["bytes"]
    assert size.compiled_bytes is not None
    assert size.compiled_bytes <= size.max_bytes
    assert size.max_bytes <= LIMIT["bytes"] + size.column_bytes + size.max_code_bytes
    for name in ("report.html", "MODEL_CARD.md"):
        text = (tmp_path / "run" / name).read_text()
        assert f"the model takes {size.compiled_bytes:,} of at most {size.max_bytes:,} b" in text


@pytest.mark.parametrize("cost", ["bytes", "ram_bytes"])
def test_limits_of_a_device_have_a_size(cost: str) -> None:
    run = plan_short_run(300, limits={cost: 3_000}, refit=False).execute()
    size = build_run_result(run).c_size
    assert size is not None
    assert size.weight_bytes == run.model.costs["bytes"]
    assert size.ram_bytes == run.model.costs["ram_bytes"]


def test_latency_in_c_has_a_size(finished: FinishedRun) -> None:
    model = replace(finished.model, limits={})
    latency = RunSettings(limits={"latency_us": 5.0})
    for settings, is_measured in ((replace(latency, runtime="c"), True), (latency, False)):
        run = replace(finished, model=model, settings=settings)
        assert (measure_for_device(run) is not None) is is_measured


def test_other_limits_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_size, "find_compiler", lambda: pytest.fail("nothing is to be compiled"))
    run = plan_short_run(300, limits={"parameters": 800, "flops": 2_000}, refit=False).execute()
    assert build_run_result(run).c_size is None


def test_float16_has_none() -> None:
    run = plan_short_run(300, limits=LIMIT, precision="float16", refit=False).execute()
    assert build_run_result(run).c_size is None


def test_without_a_compiler_the_bound_is_known(
    finished: FinishedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = build_run_result(finished).c_size
    monkeypatch.setattr(_size, "find_compiler", lambda: None)
    size = build_run_result(finished).c_size
    assert size is not None
    assert compiled is not None
    assert size.compiled_bytes is size.lookup_bytes is size.compiler is None
    assert size.max_bytes == compiled.max_bytes


def test_a_resumed_run_has_the_same_result(tmp_path: Path) -> None:
    settings = RunSettings(limits=LIMIT, **OPTIONS)
    data = make_labelled()
    run_in_folder(tmp_path / "whole", data, settings, saved_plan=SHORT)
    with pytest.raises(KilledError):
        run_in_folder(
            tmp_path / "killed",
            data,
            settings,
            saved_plan=SHORT,
            on_progress=kill_at("candidates", 1),
            checkpoint_seconds=0.0,
        )
    assert not (tmp_path / "killed" / "result.json").exists()
    run_in_folder(tmp_path / "killed", data, settings)
    files = read_finished_files(tmp_path / "killed")
    assert files == read_finished_files(tmp_path / "whole")
    assert files["result"]["c_size"]["compiled_bytes"] > 0


def test_every_limit_of_a_tradeoff_has_its_own_size(tmp_path: Path) -> None:
    limits = (400, 3_000)
    planned = plan_tradeoff(
        make_labelled(),
        RunSettings(limits={"flops": 10_000}, widths=(0, 4, 24), layers=1, **OPTIONS),
        limits,
        cost="bytes",
        saved_plan={"search_epochs": 2, "epochs": 2, "candidates": 1},
    )
    with TradeoffFolder(tmp_path / "curve") as folder:
        execute_in_folder(folder, planned, {"settings": {}})
    for limit in limits:
        path = tmp_path / "curve" / f"limit-{limit}"
        size = load_result(path).c_size
        assert size is not None
        assert size.weight_bytes <= limit
        assert size == export_c(load_run_model(path), tmp_path / "c").size


def test_old_results_are_read_and_shown(finished: FinishedRun, tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run") as folder:
        folder.write_config({"settings": finished.settings.to_dict()})
        folder.finish(finished)
    file = tmp_path / "run" / "result.json"
    result = json.loads(file.read_text())
    assert result.pop("c_size")
    file.write_text(json.dumps(result))
    for name in ("report.html", "MODEL_CARD.md"):
        assert "--c firmware" in (tmp_path / "run" / name).read_text()
        (tmp_path / "run" / name).unlink()
    for page in (write_report(tmp_path / "run"), write_card(tmp_path / "run")):
        assert "--c firmware" not in page.read_text()
