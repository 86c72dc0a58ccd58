"""Events are written for TensorBoard, and TensorBoard can read them."""

from __future__ import annotations

import importlib.util
import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tabnas.cli._main import USAGE_ERROR, run
from tabnas.results import Snapshot, decode_result
from tabnas.runs import (
    EventLog,
    LabelledTable,
    PlannedRun,
    Progress,
    RunSettings,
    plan_run,
)
from tabnas.runs.folders._tensorboard import POINTS, TENSORBOARD
from tests.report.conftest import make_result, make_taught_result
from tests.runs.helpers import ForkServer, make_table, write_table

pytest.importorskip("tensorboard", reason="needs the extra tensorboard")


def read_events(folder: Path) -> Any:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    log = EventAccumulator(
        str(folder / TENSORBOARD), size_guidance={"scalars": 0, "histograms": 0, "tensors": 0}
    )
    return log.Reload()


def read_scalars(log: Any, tag: str) -> dict[int, float]:
    """Return the values of a tag by step, and assert that no step occurs twice."""
    values = [(event.step, event.value) for event in log.Scalars(tag)]
    assert len(dict(values)) == len(values)
    assert values == sorted(values)
    return dict(values)


@pytest.fixture(scope="module")
def planned_run() -> PlannedRun:
    data = LabelledTable.from_table(make_table(200).drop(["value"]), "kind")
    settings = RunSettings(
        limits={"parameters": 300}, knots=6, candidates=2, reference_models=False
    )
    return plan_run(data, settings)


def make_progress(
    planned_run: PlannedRun, step: int, steps: int, quality: float | None = 0.5
) -> Progress:
    layers = planned_run.plan.feasible.space.layers
    snapshot = Snapshot(
        step=step,
        progress=step / steps,
        training_loss=1 / (1 + step),
        quality=quality,
        feasible_probability=0.25,
        entropy=3.0,
        most_likely="8",
        most_likely_cost=200,
        probabilities=tuple((1 / len(layer),) * len(layer) for layer in layers),
    )
    return Progress("search", snapshot.progress, snapshot)


@pytest.mark.slow
def test_progress_is_passed_on_and_its_events_can_be_read(
    planned_run: PlannedRun, tmp_path: Path
) -> None:
    reports: list[Progress] = []
    with EventLog(tmp_path, planned_run, reports.append) as log:
        for step in range(10):
            log(make_progress(planned_run, step, 10, quality=None if step < 3 else 0.5))
        log(Progress("candidates", 0.5))
    assert len(reports) == 11
    log = read_events(tmp_path)
    loss = read_scalars(log, "search/training_loss")
    assert loss == pytest.approx({step: 1 / (1 + step) for step in range(10)})
    assert list(read_scalars(log, "search/quality")) == list(range(3, 10))
    assert set(read_scalars(log, "search/most_likely_parameters").values()) == {200}
    layers = planned_run.plan.feasible.space.layers
    names = ["input", *(f"layer_{k}" for k in range(1, len(layers)))]
    assert log.Tags()["histograms"] == [f"policy/{name}" for name in names]
    assert layers[0][:3] == (0, 1, 2)
    for name, layer in zip(names, layers, strict=True):
        histogram = log.Histograms(f"policy/{name}")[-1].histogram_value
        assert histogram.bucket == pytest.approx([1 / len(layer)] * len(layer))
        for width, low, high in zip(
            layer, [-1.0, *histogram.bucket_limit], histogram.bucket_limit, strict=False
        ):
            assert low < width < high


@pytest.mark.slow
def test_candidates_say_what_they_learned_from(planned_run: PlannedRun, tmp_path: Path) -> None:
    with EventLog(tmp_path, planned_run, lambda progress: None) as log:
        log.finish(decode_result(make_taught_result()))
    log = read_events(tmp_path)
    shares = read_scalars(log, "candidates/teacher_share")
    assert shares == pytest.approx({1: 0.7, 2: 0.0, 3: 0.0, 4: 0.0})
    table = log.Tensors("result")[0].tensor_proto.string_val[0].decode()
    assert "| candidate 1 | 16-8, 70 % teacher: 0.2 |" in table
    assert "| candidate 2 | 16-8, labels alone: 0.25 |" in table
    assert "| teacher | trees 66 %, network 34 %; covers 80 % of the distance to it |" in table
    assert "| network without teacher: log_loss | 0.6 (0.55 to 0.65) |" in table


@pytest.mark.slow
def test_a_run_without_a_teacher_has_no_share(planned_run: PlannedRun, tmp_path: Path) -> None:
    with EventLog(tmp_path, planned_run, lambda progress: None) as log:
        log.finish(decode_result(make_result()))
    assert "candidates/teacher_share" not in read_events(tmp_path).Tags()["scalars"]


@pytest.mark.slow
def test_a_search_without_an_input_layer_has_no_histogram_of_it(tmp_path: Path) -> None:
    data = LabelledTable.from_table(make_table(200).drop(["value"]), "kind")
    settings = RunSettings(
        limits={"parameters": 300}, numeric_dimensions=(0,), reference_models=False
    )
    run = plan_run(data, settings)
    with EventLog(tmp_path, run, lambda progress: None) as log:
        log(make_progress(run, 1, 10))
    tags = read_events(tmp_path).Tags()["histograms"]
    assert tags == [f"policy/layer_{k}" for k in range(1, run.plan.feasible.space.depth + 1)]


@pytest.mark.slow
def test_a_long_search_has_a_bounded_number_of_points(
    planned_run: PlannedRun, tmp_path: Path
) -> None:
    with EventLog(tmp_path, planned_run, lambda progress: None) as log:
        for step in range(5_001):
            log(make_progress(planned_run, step, 5_000))
    steps = list(read_scalars(read_events(tmp_path), "search/entropy"))
    assert POINTS / 2 < len(steps) <= POINTS + 1
    assert steps[-1] == 5_000


@pytest.mark.slow
def test_a_resumed_process_repeats_no_step(planned_run: PlannedRun, tmp_path: Path) -> None:
    with EventLog(tmp_path, planned_run, lambda progress: None) as log:
        for step in range(60):
            log(make_progress(planned_run, step, 100))
    with EventLog(tmp_path, planned_run, lambda progress: None) as log:
        for step in range(41, 101):  # the checkpoint is older than the last events
            log(make_progress(planned_run, step, 100))
    assert list(read_scalars(read_events(tmp_path), "search/entropy")) == list(range(101))


@pytest.mark.slow
def test_a_process_resumed_after_the_search_keeps_its_events(
    planned_run: PlannedRun, tmp_path: Path
) -> None:
    with EventLog(tmp_path, planned_run, lambda progress: None) as log:
        log(make_progress(planned_run, 7, 10))
    with EventLog(tmp_path, planned_run, lambda progress: None) as log:
        log(Progress("candidates", 0.5))
    assert list(read_scalars(read_events(tmp_path), "search/entropy")) == [7]


@pytest.mark.slow
def test_a_full_disk_ends_the_events_and_not_the_run(
    planned_run: PlannedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports: list[Progress] = []
    with EventLog(tmp_path, planned_run, reports.append) as log:

        def raise_disk_full(event: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(log._writer, "add_event", raise_disk_full)
        with pytest.warns(UserWarning, match="no more events .*: No space left"):
            log(make_progress(planned_run, 1, 10))
        log(make_progress(planned_run, 5, 10))
    assert len(reports) == 2


@pytest.mark.slow
def test_events_of_a_run_that_was_killed_and_resumed(
    fork_server: ForkServer, tmp_path: Path
) -> None:
    """The search is killed as soon as there is a checkpoint."""
    write_table(tmp_path / "t.parquet", 3_900)
    arguments = ["t.parquet", "--target", "kind", "--max-parameters", "900", "--tensorboard"]
    arguments += ["--candidates", "2", "--time", "2"]
    checkpoint_often = ["--checkpoint-seconds", "0.05", "--quiet"]
    fork_server.start("search", *arguments, "--out", "run", *checkpoint_often)
    while fork_server.is_alive and not list((tmp_path / "run").glob("checkpoint/*.checkpoint")):
        time.sleep(0.005)
    assert fork_server.kill() == -signal.SIGKILL
    fork_server.start("resume", "run", *checkpoint_often)
    assert fork_server.wait() == 0
    assert len(list((tmp_path / "run" / TENSORBOARD).iterdir())) == 2
    log = read_events(tmp_path / "run")
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert read_scalars(log, "search/entropy")
    network = result["scores"]["network"]["metrics"]
    for name, score in network.items():
        assert read_scalars(log, f"test/{name}") == pytest.approx({0: score["value"]}, rel=1e-6)
    losses = {k: one["score"] for k, one in enumerate(result["candidates"], start=1)}
    assert read_scalars(log, "candidates/log_loss") == pytest.approx(losses, rel=1e-6)
    table = log.Tensors("result")[0].tensor_proto.string_val[0].decode()
    assert f"| architecture | {result['architecture']} |" in table
    assert "hparams" in json.dumps(sorted(log.summary_metadata))


@pytest.fixture
def without_tensorboard(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        "tabnas.runs.folders._tensorboard.find_spec",
        lambda name: None if name == "tensorboard" else find_spec(name),
    )


def test_without_the_package_a_search_is_refused_before_it_starts(
    without_tensorboard: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    arguments = ["search", "iris", "--max-parameters", "200", "--out", str(out), "--tensorboard"]
    assert run(arguments) == USAGE_ERROR
    assert 'pip install "tabnas[tensorboard]"' in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.filterwarnings("always:no more events")
def test_without_the_package_a_resumed_run_warns_and_continues(
    without_tensorboard: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = "[settings]\ncandidates = 1\ntime = 0.1\n[settings.limits]\nparameters = 200\n"
    (tmp_path / TENSORBOARD).mkdir()
    (tmp_path / "config.toml").write_text(f"[data]\ndata = 'iris'\n{settings}")
    assert run(["resume", str(tmp_path)]) == 0
    assert 'pip install "tabnas[tensorboard]"' in capsys.readouterr().err
    assert not list((tmp_path / TENSORBOARD).iterdir())
