"""Runs that were killed while they wrote their last files are finished by `tabnas resume`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tabnas.cli import _main as cli
from tabnas.errors import TabNASError
from tabnas.locks import FolderLock
from tabnas.model import _files
from tabnas.runs import RunSettings, complete_run
from tabnas.runs.checkpoints._file import write_checkpoint
from tabnas.runs.folders import _run_folder
from tests.runs.helpers import begun, written_table

SETTINGS = RunSettings(limits={"parameters": 800}, candidates=2, baselines=False)
SHORT = {"search_epochs": 3, "epochs": 4, "candidates": 2}
FINISHED = {"config.toml", "history.jsonl", "model", "result.json", "report.html", "MODEL_CARD.md"}


class Killed(BaseException):
    """Stands for the end of the process."""


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nothing has happened to."""
    place = tmp_path_factory.mktemp("whole")
    folder = begun(place / "run", written_table(place / "table.parquet", 300), SETTINGS, SHORT)
    assert cli.run(["resume", str(folder), "--quiet"]) == 0
    assert names(folder) == FINISHED
    return folder


@pytest.fixture
def left(whole: Path, tmp_path: Path) -> Path:
    """The same as it is after a kill between its result and its report."""
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    for name in ("report.html", "MODEL_CARD.md"):
        (folder / name).unlink()
    write_checkpoint(folder / "checkpoint", {}, {})
    for name in (".lock", "progress.json", ".report.html.0123abcd"):
        (folder / name).touch()
    (folder / f".model.{'0' * 32}.new").mkdir()
    (folder / f".model.{'0' * 32}.new" / "model.json").touch()
    return folder


def test_resume_writes_what_is_missing_removes_what_is_left_and_ends_well(
    left: Path, whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["resume", str(left)]) == 0
    said = capsys.readouterr()
    assert "is finished" in said.err
    assert "tabnas predict" in said.out  # the summary
    assert names(left) == FINISHED
    for name in ("report.html", "MODEL_CARD.md", "result.json"):
        assert (left / name).read_bytes() == (whole / name).read_bytes()


def test_resume_of_a_finished_run_shows_it_and_touches_nothing(
    whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.stat().st_mtime_ns for path in [whole, *whole.rglob("*")]}
    assert cli.run(["resume", str(whole), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts == json.loads((whole / "result.json").read_text()) | {"folder": str(whole)}
    assert {path: path.stat().st_mtime_ns for path in [whole, *whole.rglob("*")]} == before


def test_a_card_that_somebody_has_completed_stays(left: Path) -> None:
    (left / "MODEL_CARD.md").write_text("mine")
    complete_run(left)
    assert names(left) == FINISHED
    assert (left / "MODEL_CARD.md").read_text() == "mine"


def test_a_process_that_is_still_at_work_is_left_alone(left: Path) -> None:
    lock = FolderLock(left)
    before = names(left)
    with pytest.raises(TabNASError, match="another process is working"):
        complete_run(left)
    assert names(left) == before
    lock.release()


@pytest.mark.parametrize("name", ["checkpoint", "report.html", "model"])
def test_nothing_outside_the_folder_is_written_or_removed(
    name: str, left: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").touch()
    if (left / name).is_dir():
        shutil.rmtree(left / name)
    (left / name).symlink_to(outside)
    with pytest.raises(TabNASError, match="but it is a link"):
        complete_run(left)
    assert names(outside) == {"mine"}


@pytest.mark.parametrize("moment", ["remove_progress", "write_pages"])
def test_a_process_that_ends_between_result_and_report(
    moment: str, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = begun(tmp_path / "run", whole.parent / "table.parquet", SETTINGS, SHORT)

    def die(*given: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(_run_folder, moment, die)
        with pytest.raises(Killed):
            cli.run(["resume", str(folder), "--quiet"])
    assert (folder / "result.json").exists()
    assert not (folder / "report.html").exists()
    assert cli.run(["resume", str(folder), "--quiet"]) == 0
    assert names(folder) == FINISHED


def test_a_model_that_was_half_written_goes_with_the_next_process(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = begun(tmp_path / "run", whole.parent / "table.parquet", SETTINGS, SHORT)

    def die(*given: object, **named: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(_files.shutil, "rmtree", lambda *given, **named: None)
        patched.setattr(_files, "_sync", die)
        with pytest.raises(Killed):
            cli.run(["resume", str(folder), "--quiet"])
    (aside,) = folder.glob(".model.*.new")
    assert names(aside)
    assert cli.run(["resume", str(folder), "--quiet"]) == 0
    assert names(folder) == FINISHED
    assert names(folder / "model") == names(whole / "model")


DYING = """
import os, signal, sys
from tabnas.cli._main import run
from tabnas.model import _files
from tabnas.runs.folders import _run_folder

def die(*given, **named):
    os.kill(os.getpid(), signal.SIGKILL)

setattr({"_sync": _files}.get(sys.argv[1], _run_folder), sys.argv[1], die)
run(sys.argv[2:])
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["_sync", "remove_progress", "write_pages"])
def test_real_deaths(moment: str, whole: Path, tmp_path: Path) -> None:
    folder = begun(tmp_path / "run", whole.parent / "table.parquet", SETTINGS, SHORT)
    often = ["--quiet", "--checkpoint-seconds", "0.001"]
    command = [sys.executable, "-c", DYING, moment, "resume", str(folder), *often]
    assert subprocess.run(command, env=os.environ).returncode == -9
    assert names(folder) - FINISHED  # at least the lock
    assert cli.run(["resume", str(folder), "--quiet"]) == 0
    assert names(folder) == FINISHED
    for file in ("history.jsonl", "model/model.json"):
        assert (folder / file).read_bytes() == (whole / file).read_bytes()
