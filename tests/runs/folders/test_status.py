"""What a run says of itself while it works."""

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
    is_locked,
    read_status,
    run_in_folder,
)
from tabnas.runs.folders import _status as live
from tests.mutations import mutated_bytes, mutated_values
from tests.runs.helpers import made_table


def at(progress: float, quality: float | None = 0.5) -> Snapshot:
    return Snapshot(
        step=int(1_000 * progress),
        progress=progress,
        training_loss=0.3,
        quality=quality,
        feasible_probability=0.25,
        entropy=3.0,
        favourite="8-16",
        favourite_cost=200,
        probabilities=[[0.25, 0.75], [0.5, 0.5]],
    )


def searching(progress: float) -> Progress:
    return Progress("search", progress, at(progress), epoch=3.0, rows_per_second=1e5)


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that is told is due."""
    monkeypatch.setattr(live, "WRITE_SECONDS", 0.0)


def stand_of(folder: Path) -> RunStatus:
    stand = read_status(folder)
    assert stand is not None
    return stand


def test_a_run_is_seen_at_work_and_leaves_no_trace_of_it(tmp_path: Path, unhurried: None) -> None:
    seen: list[tuple[Progress, RunStatus, bool]] = []

    def look(told: Progress) -> None:  # the file is written after this, so it is one behind
        seen.append((told, stand_of(tmp_path / "run"), is_locked(tmp_path / "run")))

    settings = RunSettings(limits={"parameters": 300}, candidates=2, baselines=False, time=0.1)
    data = LabelledTable.from_table(made_table(200).drop(["value"]), "kind")
    run_in_folder(tmp_path / "run", data, settings, on_progress=look)
    for (told, _, locked), (_, after, _) in pairwise(seen):
        assert locked
        assert (after.phase, after.done, after.note) == (told.phase, told.done, told.note)
        assert after.snapshot == told.snapshot or told.snapshot is None
    searched = [stand for _, stand, _ in seen if stand.phase == "search"]
    assert searched
    for stand in searched:
        assert stand.pid == os.getpid()
        assert (stand.target, stand.cost, stand.limit) == ("kind", "parameters", 300)
        assert stand.snapshot is not None
        assert list(map(len, stand.widths)) == list(map(len, stand.snapshot.probabilities))
        assert stand.curve[0][0] == searched[0].curve[0][0]
    assert {stand.phase for _, stand, _ in seen} >= {"reading", "search", "candidates"}
    assert read_status(tmp_path / "run") is None
    assert not list((tmp_path / "run").glob(".*"))


def test_two_writes_a_second_at_most_but_every_phase(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(live, "monotonic", lambda: now)
    heard: list[Progress] = []
    file = StatusFile(tmp_path, heard.append)
    written = []
    for step in range(50):
        now = 100.0 + step / 10
        file(searching(step / 100))
        written.append(stand_of(tmp_path).done)
    assert len(set(written)) == 10
    file(Progress("comparison", 0.0))
    assert stand_of(tmp_path).phase == "comparison"
    assert stand_of(tmp_path).snapshot == at(0.49)
    assert len(heard) == 51


def test_a_course_has_few_points_and_ends_where_the_search_is(
    tmp_path: Path, unhurried: None
) -> None:
    file = StatusFile(tmp_path, lambda told: None)
    for step in range(3_000):
        file(searching(step / 3_000))
    course = stand_of(tmp_path).curve
    assert 90 <= len(course) <= live.MAX_POINTS
    assert course[-1][0] == pytest.approx(1, abs=0.02)


def test_who_goes_on_keeps_the_course_up_to_the_checkpoint(tmp_path: Path, unhurried: None) -> None:
    killed = StatusFile(tmp_path, lambda told: None)
    for step in range(30):
        killed(searching(step / 50))
    gone_on = StatusFile(tmp_path, lambda told: None)
    assert len(stand_of(tmp_path).curve) == 30
    gone_on(searching(0.305))
    points = [point[0] for point in stand_of(tmp_path).curve]
    assert points == pytest.approx([step / 50 for step in range(16)])


def test_a_file_that_cannot_be_written_ends_nothing(tmp_path: Path, unhurried: None) -> None:
    (tmp_path / live.PROGRESS).mkdir()
    heard: list[Progress] = []
    file = StatusFile(tmp_path, heard.append)
    file(searching(0.5))
    file = StatusFile(tmp_path / "gone", heard.append)
    file(searching(0.5))
    assert len(heard) == 2


def test_a_link_is_replaced_and_never_written_through(tmp_path: Path, unhurried: None) -> None:
    other = tmp_path / "other"
    other.write_text("mine")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / live.PROGRESS).symlink_to(other)
    StatusFile(tmp_path / "run", lambda told: None)(searching(0.5))
    assert other.read_text() == "mine"
    assert stand_of(tmp_path / "run").done == 0.5


def test_what_a_killed_process_left_does_not_occupy_a_folder(tmp_path: Path) -> None:
    StatusFile(tmp_path, lambda told: None)
    for name in (live.PROGRESS, "config.toml", "result.json"):
        (tmp_path / f".{name}.0123abcd").write_text("{")
    with RunFolder(tmp_path):
        pass
    assert not list(tmp_path.iterdir())


def test_to_ask_for_a_lock_is_not_to_take_it(tmp_path: Path) -> None:
    assert not is_locked(tmp_path)
    lock = FolderLock(tmp_path)
    assert is_locked(tmp_path)
    assert is_locked(tmp_path)
    with pytest.raises(TabNASError, match="another process"):
        FolderLock(tmp_path)
    lock.release()
    assert not is_locked(tmp_path)
    FolderLock(tmp_path).release()


# -- files of others -----------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path: Path) -> dict[str, Any]:
    file = StatusFile(tmp_path, lambda told: None)
    file(searching(0.5))
    facts: dict[str, Any] = json.loads((tmp_path / live.PROGRESS).read_text())
    return facts | {"widths": [[8, 16], [0, 16]], "target": "kind", "limit": 300.0}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"format": 2}, "newer tabnas"),
        ({"format": None}, "format must be an integer"),
        ({"pid": "1"}, "pid must be an integer"),
        ({"curve": [[0.0]]}, "curve\\[0\\] must be a list of 4 elements"),
        ({"curve": [[0.0] * 4] * 1_000}, "at most 200"),
        ({"widths": [[8, 16]]}, "a probability for each width"),
        ({"snapshot": 3}, "snapshot must be an object"),
        ({"extra": 3}, "extra is unknown"),
        ({"pid": 10**30}, "pid must be an integer"),
    ],
)
def test_what_is_malformed_is_refused(
    change: dict[str, Any], named: str, written: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / live.PROGRESS).write_text(json.dumps(written))
    assert stand_of(tmp_path).target == "kind"
    (tmp_path / live.PROGRESS).write_text(json.dumps(written | change))
    with pytest.raises(TabNASError, match=named):
        read_status(tmp_path)


def test_damage_of_any_kind_is_refused_or_harmless(written: dict[str, Any], tmp_path: Path) -> None:
    whole = json.dumps(written).encode()
    file = tmp_path / live.PROGRESS
    for seed in range(400):
        rng = Random(seed)
        if seed % 2:
            file.write_bytes(mutated_bytes(rng, whole))
        else:
            file.write_text(json.dumps(mutated_values(rng, written)))
        said = refusal(tmp_path)
        assert not said or live.PROGRESS in said


def refusal(folder: Path) -> str:
    try:
        read_status(folder)
    except TabNASError as error:
        return str(error)
    return ""


def test_an_integer_beyond_all_floats_is_refused(written: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / live.PROGRESS).write_text(json.dumps(written | {"done": 10**400}))
    with pytest.raises(TabNASError, match="done must be a number"):
        read_status(tmp_path)


def test_a_file_elsewhere_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "secret").write_text("{}")
    (tmp_path / "run" / live.PROGRESS).symlink_to(tmp_path / "secret")
    with pytest.raises(TabNASError, match="link out of it"):
        read_status(tmp_path / "run")
