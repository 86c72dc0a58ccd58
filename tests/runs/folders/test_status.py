"""The status file of a running run: written at most twice a second, read with checks."""

from __future__ import annotations

import json
import os
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tabnas.errors import TabNASError
from tabnas.locks import FolderLock
from tabnas.results import Snapshot
from tabnas.runs import (
    LabelledTable,
    Progress,
    RunFolder,
    RunSettings,
    RunStatus,
    StatusFile,
    TradeoffFolder,
    execute_in_folder,
    is_locked,
    plan_tradeoff,
    read_status,
    run_in_folder,
)
from tabnas.runs.folders import _status as status_module
from tests.mutations import mutate_bytes, mutate_values
from tests.runs.helpers import make_table

SHORT = {"search_epochs": 3, "epochs": 3, "candidates": 1}


def make_snapshot(progress: float, quality: float | None = 0.5) -> Snapshot:
    return Snapshot(
        step=int(1_000 * progress),
        progress=progress,
        training_loss=0.3,
        quality=quality,
        feasible_probability=0.25,
        entropy=3.0,
        most_likely="8-16",
        most_likely_cost=200,
        probabilities=((0.25, 0.75), (0.5, 0.5)),
    )


def make_progress(progress: float) -> Progress:
    return Progress("search", progress, make_snapshot(progress), epoch=3.0, rows_per_second=1e5)


@pytest.fixture
def write_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write every progress report to the file."""
    monkeypatch.setattr(status_module, "WRITE_SECONDS", 0.0)


def read_existing_status(folder: Path) -> RunStatus:
    status = read_status(folder)
    assert status is not None
    return status


def test_a_running_run_has_a_status_and_a_finished_one_has_none(
    tmp_path: Path, write_always: None
) -> None:
    seen: list[tuple[Progress, RunStatus, bool]] = []

    def record(progress: Progress) -> None:  # the file is written after this, so it is one behind
        seen.append((progress, read_existing_status(tmp_path / "run"), is_locked(tmp_path / "run")))

    settings = RunSettings(
        limits={"parameters": 300}, knots=6, candidates=2, reference_models=False, time=0.1
    )
    data = LabelledTable.from_table(make_table(200).drop(["value"]), "kind")
    run_in_folder(tmp_path / "run", data, settings, on_progress=record)
    for (progress, _, locked), (_, after, _) in pairwise(seen):
        assert locked
        assert (after.phase, after.done, after.note) == (
            progress.phase,
            progress.done,
            progress.note,
        )
        assert after.snapshot == progress.snapshot or progress.snapshot is None
    searched = [status for _, status, _ in seen if status.phase == "search"]
    assert searched
    for status in searched:
        assert status.pid == os.getpid()
        assert (status.target, status.cost, status.limit) == ("kind", "parameters", 300)
        assert status.snapshot is not None
        assert list(map(len, status.layers)) == list(map(len, status.snapshot.probabilities))
        assert status.dimensions[:2] == [0, 1]
        assert status.curve[0][0] == searched[0].curve[0][0]
    assert {status.phase for _, status, _ in seen} >= {"reading", "search", "candidates"}
    assert read_status(tmp_path / "run") is None
    assert not list((tmp_path / "run").glob(".*"))


def test_a_status_that_is_removed_while_it_is_read_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / status_module.PROGRESS
    path.write_text("{}")
    read = status_module.read_file

    def remove_and_read(*arguments: Any, **options: Any) -> bytes:
        path.unlink()
        return read(*arguments, **options)

    monkeypatch.setattr(status_module, "read_file", remove_and_read)
    assert read_status(tmp_path) is None


def test_the_status_is_written_at_most_twice_a_second_and_in_every_phase(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(status_module, "monotonic", lambda: now)
    reports: list[Progress] = []
    file = StatusFile(tmp_path, reports.append)
    written = []
    for step in range(50):
        now = 100.0 + step / 10
        file(make_progress(step / 100))
        written.append(read_existing_status(tmp_path).done)
    assert len(set(written)) == 10
    file(Progress("comparison", 0.0))
    assert read_existing_status(tmp_path).phase == "comparison"
    assert read_existing_status(tmp_path).snapshot == make_snapshot(0.49)
    assert len(reports) == 51


def test_the_curve_has_few_points_and_ends_at_the_last_step(
    tmp_path: Path, write_always: None
) -> None:
    file = StatusFile(tmp_path, lambda progress: None)
    for step in range(3_000):
        file(make_progress(step / 3_000))
    curve = read_existing_status(tmp_path).curve
    assert 90 <= len(curve) <= status_module.MAX_POINTS
    assert curve[-1][0] == pytest.approx(1, abs=0.02)


def test_a_resumed_run_keeps_the_curve_up_to_the_checkpoint(
    tmp_path: Path, write_always: None
) -> None:
    first = StatusFile(tmp_path, lambda progress: None)
    for step in range(30):
        first(make_progress(step / 50))
    resumed = StatusFile(tmp_path, lambda progress: None)
    assert len(read_existing_status(tmp_path).curve) == 30
    resumed(make_progress(0.305))
    points = [point[0] for point in read_existing_status(tmp_path).curve]
    assert points == pytest.approx([step / 50 for step in range(16)])


def test_the_status_of_a_tradeoff_follows_each_search(tmp_path: Path, write_always: None) -> None:
    """Limits with other knots have other spaces; one search at a time is shown."""
    data = LabelledTable.from_table(make_table(1_600).drop(["value", "colour"]), "kind")
    settings = RunSettings(limits={"parameters": 3_000}, candidates=1, reference_models=False)
    tradeoff = plan_tradeoff(data, settings, [300, 3_000], saved_plan=SHORT)
    assert len(tradeoff.groups) == 2
    assert len({run.plan.feasible.space.layers for run in tradeoff.runs}) == 2
    seen: list[RunStatus] = []
    with TradeoffFolder(tmp_path / "t") as folder:
        status = StatusFile(folder.path, lambda _: seen.append(read_existing_status(folder.path)))
        execute_in_folder(folder, tradeoff, {"settings": settings.to_dict()}, status=status)
    searched = [status for status in seen if status.phase == "search" and status.snapshot]
    assert {status.limit for status in searched} == {300, 3_000}
    for status in searched:
        run = tradeoff.runs[tradeoff.limits.index(status.limit)]
        assert status.layers == [list(layer) for layer in run.plan.feasible.space.layers]


def test_a_status_that_cannot_be_written_does_not_end_the_run(
    tmp_path: Path, write_always: None
) -> None:
    (tmp_path / status_module.PROGRESS).mkdir()
    reports: list[Progress] = []
    file = StatusFile(tmp_path, reports.append)
    file(make_progress(0.5))
    file = StatusFile(tmp_path / "gone", reports.append)
    file(make_progress(0.5))
    assert len(reports) == 2


def test_a_link_is_replaced_and_never_written_through(tmp_path: Path, write_always: None) -> None:
    other = tmp_path / "other"
    other.write_text("mine")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / status_module.PROGRESS).symlink_to(other)
    StatusFile(tmp_path / "run", lambda progress: None)(make_progress(0.5))
    assert other.read_text() == "mine"
    assert read_existing_status(tmp_path / "run").done == 0.5


def test_files_of_a_killed_process_do_not_block_a_folder(tmp_path: Path) -> None:
    StatusFile(tmp_path, lambda progress: None)
    for name in (status_module.PROGRESS, "config.toml", "result.json"):
        (tmp_path / f".{name}.0123abcd").write_text("{")
    with RunFolder(tmp_path):
        pass
    assert not list(tmp_path.iterdir())


def test_is_locked_does_not_take_the_lock(tmp_path: Path) -> None:
    assert not is_locked(tmp_path)
    lock = FolderLock(tmp_path)
    assert is_locked(tmp_path)
    assert is_locked(tmp_path)
    with pytest.raises(TabNASError, match="another process"):
        FolderLock(tmp_path)
    lock.release()
    assert not is_locked(tmp_path)
    FolderLock(tmp_path).release()


# -- malformed files -----------------------------------------------------------------------------


@pytest.fixture
def document(tmp_path: Path) -> dict[str, Any]:
    file = StatusFile(tmp_path, lambda progress: None)
    file(make_progress(0.5))
    document: dict[str, Any] = json.loads((tmp_path / status_module.PROGRESS).read_text())
    return document | {"widths": [[8, 16], [0, 16]], "target": "kind", "limit": 300.0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "newer tabnas"),
        ({"format": None}, "format must be an integer"),
        ({"pid": "1"}, "pid must be an integer"),
        ({"curve": [[0.0]]}, "curve\\[0\\] must be a list of 4 elements"),
        ({"curve": [[0.0] * 4] * 1_000}, "at most 200"),
        ({"widths": [[8, 16]]}, "a probability for each candidate"),
        ({"snapshot": 3}, "snapshot must be an object"),
        ({"extra": 3}, "extra is unknown"),
        ({"pid": 10**30}, "pid must be an integer"),
    ],
)
def test_a_malformed_status_is_refused(
    change: dict[str, Any], message: str, document: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / status_module.PROGRESS).write_text(json.dumps(document))
    assert read_existing_status(tmp_path).target == "kind"
    (tmp_path / status_module.PROGRESS).write_text(json.dumps(document | change))
    with pytest.raises(TabNASError, match=message):
        read_status(tmp_path)


def test_damaged_files_are_refused_with_a_clear_error(
    document: dict[str, Any], tmp_path: Path
) -> None:
    content = json.dumps(document).encode()
    file = tmp_path / status_module.PROGRESS
    for seed in range(400):
        rng = Random(seed)
        if seed % 2:
            file.write_bytes(mutate_bytes(rng, content))
        else:
            file.write_text(json.dumps(mutate_values(rng, document)))
        error = read_error(tmp_path)
        assert not error or status_module.PROGRESS in error


def read_error(folder: Path) -> str:
    try:
        read_status(folder)
    except TabNASError as error:
        return str(error)
    return ""


def test_an_integer_beyond_all_floats_is_refused(document: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / status_module.PROGRESS).write_text(json.dumps(document | {"done": 10**400}))
    with pytest.raises(TabNASError, match="done must be a number"):
        read_status(tmp_path)


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "secret").write_text("{}")
    (tmp_path / "run" / status_module.PROGRESS).symlink_to(tmp_path / "secret")
    with pytest.raises(TabNASError, match="link out of it"):
        read_status(tmp_path / "run")
