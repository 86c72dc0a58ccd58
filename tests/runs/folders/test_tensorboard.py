"""Events for TensorBoard, read back by TensorBoard itself."""

from __future__ import annotations

import importlib.util
import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tabnas.cli._main import USAGE_ERROR, run
from tabnas.results import Snapshot
from tabnas.runs import (
    EventLog,
    LabelledTable,
    PlannedRun,
    Progress,
    RunSettings,
    plan_run,
)
from tabnas.runs.folders._tensorboard import POINTS, TENSORBOARD
from tests.runs.helpers import Nursery, made_table, written_table

pytest.importorskip("tensorboard", reason="needs the extra tensorboard")


def events(folder: Path) -> Any:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    read = EventAccumulator(
        str(folder / TENSORBOARD), size_guidance={"scalars": 0, "histograms": 0, "tensors": 0}
    )
    return read.Reload()


def scalars(read: Any, tag: str) -> dict[int, float]:
    """The values of a tag by step, of which none may be there twice."""
    found = [(event.step, event.value) for event in read.Scalars(tag)]
    assert len(dict(found)) == len(found)
    assert found == sorted(found)
    return dict(found)


@pytest.fixture(scope="module")
def planned() -> PlannedRun:
    data = LabelledTable.from_table(made_table(200).drop(["value"]), "kind")
    return plan_run(data, RunSettings(limits={"parameters": 300}, candidates=2, baselines=False))


def told(planned: PlannedRun, step: int, steps: int, quality: float | None = 0.5) -> Progress:
    widths = planned.plan.feasible.space.candidates
    snapshot = Snapshot(
        step=step,
        progress=step / steps,
        training_loss=1 / (1 + step),
        quality=quality,
        feasible_probability=0.25,
        entropy=3.0,
        favourite="8",
        favourite_cost=200,
        probabilities=[[1 / len(layer)] * len(layer) for layer in widths],
    )
    return Progress("search", snapshot.progress, snapshot)


@pytest.mark.slow
def test_what_is_told_is_passed_on_and_can_be_read(planned: PlannedRun, tmp_path: Path) -> None:
    heard: list[Progress] = []
    with EventLog(tmp_path, planned, heard.append) as log:
        for step in range(10):
            log(told(planned, step, 10, quality=None if step < 3 else 0.5))
        log(Progress("candidates", 0.5))
    assert len(heard) == 11
    read = events(tmp_path)
    loss = scalars(read, "search/training_loss")
    assert loss == pytest.approx({step: 1 / (1 + step) for step in range(10)})
    assert list(scalars(read, "search/quality")) == list(range(3, 10))
    assert set(scalars(read, "search/favourite_parameters").values()) == {200}
    widths = planned.plan.feasible.space.candidates
    for k, layer in enumerate(widths, start=1):
        drawn = read.Histograms(f"widths/layer_{k}")[-1].histogram_value
        assert drawn.bucket == pytest.approx([1 / len(layer)] * len(layer))
        for width, low, high in zip(
            layer, [-1.0, *drawn.bucket_limit], drawn.bucket_limit, strict=False
        ):
            assert low < width < high


@pytest.mark.slow
def test_a_long_search_has_no_more_points_than_a_screen(
    planned: PlannedRun, tmp_path: Path
) -> None:
    with EventLog(tmp_path, planned, lambda progress: None) as log:
        for step in range(5_001):
            log(told(planned, step, 5_000))
    steps = list(scalars(events(tmp_path), "search/entropy"))
    assert POINTS / 2 < len(steps) <= POINTS + 1
    assert steps[-1] == 5_000


@pytest.mark.slow
def test_a_process_that_goes_on_repeats_no_step(planned: PlannedRun, tmp_path: Path) -> None:
    with EventLog(tmp_path, planned, lambda progress: None) as log:
        for step in range(60):
            log(told(planned, step, 100))
    with EventLog(tmp_path, planned, lambda progress: None) as log:
        for step in range(41, 101):  # the checkpoint lay before the last events
            log(told(planned, step, 100))
    assert list(scalars(events(tmp_path), "search/entropy")) == list(range(101))


@pytest.mark.slow
def test_a_process_that_goes_on_after_the_search_forgets_nothing(
    planned: PlannedRun, tmp_path: Path
) -> None:
    with EventLog(tmp_path, planned, lambda progress: None) as log:
        log(told(planned, 7, 10))
    with EventLog(tmp_path, planned, lambda progress: None) as log:
        log(Progress("candidates", 0.5))
    assert list(scalars(events(tmp_path), "search/entropy")) == [7]


@pytest.mark.slow
def test_a_disk_that_is_full_ends_the_events_and_not_the_run(
    planned: PlannedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[Progress] = []
    with EventLog(tmp_path, planned, heard.append) as log:

        def full(event: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(log._writer, "add_event", full)
        with pytest.warns(UserWarning, match="no more events .*: No space left"):
            log(told(planned, 1, 10))
        log(told(planned, 5, 10))
    assert len(heard) == 2


@pytest.mark.slow
def test_events_of_a_whole_run_and_of_one_that_was_stopped(
    nursery: Nursery, tmp_path: Path
) -> None:
    """Killed while the search is at work, as soon as there is a checkpoint."""
    written_table(tmp_path / "t.parquet", 3_900)
    asked = ["t.parquet", "--target", "kind", "--max-parameters", "900", "--tensorboard"]
    asked += ["--candidates", "2", "--time", "2"]
    often = ["--checkpoint-seconds", "0.05", "--quiet"]
    nursery.begin("search", *asked, "--out", "run", *often)
    while nursery.alive and not list((tmp_path / "run").glob("checkpoint/*.checkpoint")):
        time.sleep(0.005)
    assert nursery.kill() == -signal.SIGKILL
    nursery.begin("resume", "run", *often)
    assert nursery.ended() == 0
    assert len(list((tmp_path / "run" / TENSORBOARD).iterdir())) == 2
    read = events(tmp_path / "run")
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert scalars(read, "search/entropy")
    network = result["scores"]["network"]["metrics"]
    for name, score in network.items():
        assert scalars(read, f"test/{name}") == pytest.approx({0: score["value"]}, rel=1e-6)
    losses = {k: one["score"] for k, one in enumerate(result["candidates"], start=1)}
    assert scalars(read, "candidates/log_loss") == pytest.approx(losses, rel=1e-6)
    words = read.Tensors("result")[0].tensor_proto.string_val[0].decode()
    assert f"| architecture | {result['architecture']} |" in words
    assert "hparams" in json.dumps(sorted(read.summary_metadata))


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        "tabnas.runs.folders._tensorboard.find_spec",
        lambda name: None if name == "tensorboard" else found(name),
    )


def test_without_the_package_a_search_is_refused_before_the_work(
    without: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    asked = ["search", "iris", "--max-parameters", "200", "--out", str(out), "--tensorboard"]
    assert run(asked) == USAGE_ERROR
    assert 'pip install "tabnas[tensorboard]"' in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.filterwarnings("always:no more events")
def test_without_the_package_a_run_goes_on_and_says_so(
    without: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = "[settings]\ncandidates = 1\ntime = 0.1\n[settings.limits]\nparameters = 200\n"
    (tmp_path / TENSORBOARD).mkdir()
    (tmp_path / "config.toml").write_text(f"[data]\ndata = 'iris'\n{settings}")
    assert run(["resume", str(tmp_path)]) == 0
    assert 'pip install "tabnas[tensorboard]"' in capsys.readouterr().err
    assert not list((tmp_path / TENSORBOARD).iterdir())
