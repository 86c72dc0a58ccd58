"""`tabnas resume` completes runs that were killed while they wrote their last files."""

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
from tests.runs.helpers import make_started_run, write_table

SETTINGS = RunSettings(
    limits={"parameters": 800}, candidates=2, reference_models=False, teacher="none"
)
SHORT = {"search_epochs": 3, "epochs": 4, "candidates": 2}
FINISHED = {"config.toml", "history.jsonl", "model", "result.json", "report.html", "MODEL_CARD.md"}


class Killed(BaseException):
    """Stands for SIGKILL."""


def list_names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished run."""
    parent = tmp_path_factory.mktemp("finished")
    table = write_table(parent / "table.parquet", 300)
    folder = make_started_run(parent / "run", table, SETTINGS, SHORT)
    assert cli.run(["resume", str(folder), "--quiet"]) == 0
    assert list_names(folder) == FINISHED
    return folder


@pytest.fixture
def interrupted(finished: Path, tmp_path: Path) -> Path:
    """Return a copy of it as a kill between its result and its report leaves it."""
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    for name in ("report.html", "MODEL_CARD.md"):
        (folder / name).unlink()
    write_checkpoint(folder / "checkpoint", {}, {})
    for name in (".lock", "progress.json", ".report.html.0123abcd"):
        (folder / name).touch()
    (folder / f".model.{'0' * 32}.new").mkdir()
    (folder / f".model.{'0' * 32}.new" / "model.json").touch()
    return folder


def test_resume_writes_missing_files_and_removes_temporary_ones(
    interrupted: Path, finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["resume", str(interrupted)]) == 0
    captured = capsys.readouterr()
    assert "is finished" in captured.err
    assert "tabnas predict" in captured.out  # the summary
    assert list_names(interrupted) == FINISHED
    for name in ("report.html", "MODEL_CARD.md", "result.json"):
        assert (interrupted / name).read_bytes() == (finished / name).read_bytes()


def test_resume_of_a_finished_run_shows_it_and_changes_no_file(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.stat().st_mtime_ns for path in [finished, *finished.rglob("*")]}
    assert cli.run(["resume", str(finished), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((finished / "result.json").read_text()) | {"folder": str(finished)}
    assert {path: path.stat().st_mtime_ns for path in [finished, *finished.rglob("*")]} == before


def test_a_model_card_that_was_edited_is_kept(interrupted: Path) -> None:
    (interrupted / "MODEL_CARD.md").write_text("mine")
    complete_run(interrupted)
    assert list_names(interrupted) == FINISHED
    assert (interrupted / "MODEL_CARD.md").read_text() == "mine"


def test_a_folder_that_another_process_uses_is_refused(interrupted: Path) -> None:
    lock = FolderLock(interrupted)
    before = list_names(interrupted)
    with pytest.raises(TabNASError, match="another process is working"):
        complete_run(interrupted)
    assert list_names(interrupted) == before
    lock.release()


@pytest.mark.parametrize("name", ["checkpoint", "report.html", "model"])
def test_nothing_outside_the_folder_is_written_or_removed(
    name: str, interrupted: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").touch()
    if (interrupted / name).is_dir():
        shutil.rmtree(interrupted / name)
    (interrupted / name).symlink_to(outside)
    with pytest.raises(TabNASError, match="but it is a link"):
        complete_run(interrupted)
    assert list_names(outside) == {"mine"}


@pytest.mark.parametrize("moment", ["remove_progress", "write_pages"])
def test_a_run_killed_between_result_and_report_is_completed(
    moment: str, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_started_run(tmp_path / "run", finished.parent / "table.parquet", SETTINGS, SHORT)

    def raise_killed(*args: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(_run_folder, moment, raise_killed)
        with pytest.raises(Killed):
            cli.run(["resume", str(folder), "--quiet"])
    assert (folder / "result.json").exists()
    assert not (folder / "report.html").exists()
    assert cli.run(["resume", str(folder), "--quiet"]) == 0
    assert list_names(folder) == FINISHED


def test_a_half_written_model_is_replaced_by_the_next_process(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_started_run(tmp_path / "run", finished.parent / "table.parquet", SETTINGS, SHORT)

    def raise_killed(*args: object, **kwargs: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(_files.shutil, "rmtree", lambda *args, **kwargs: None)
        patched.setattr(_files, "sync_folder", raise_killed)
        with pytest.raises(Killed):
            cli.run(["resume", str(folder), "--quiet"])
    (unfinished,) = folder.glob(".model.*.new")
    assert list_names(unfinished)
    assert cli.run(["resume", str(folder), "--quiet"]) == 0
    assert list_names(folder) == FINISHED
    assert list_names(folder / "model") == list_names(finished / "model")


DYING = """
import os, signal, sys
from tabnas.cli._main import run
from tabnas.model import _files
from tabnas.runs.folders import _run_folder

def die(*given, **named):
    os.kill(os.getpid(), signal.SIGKILL)

setattr({"sync_folder": _files}.get(sys.argv[1], _run_folder), sys.argv[1], die)
run(sys.argv[2:])
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["sync_folder", "remove_progress", "write_pages"])
def test_killed_processes_are_completed(moment: str, finished: Path, tmp_path: Path) -> None:
    folder = make_started_run(tmp_path / "run", finished.parent / "table.parquet", SETTINGS, SHORT)
    often = ["--quiet", "--checkpoint-seconds", "0.001"]
    command = [sys.executable, "-c", DYING, moment, "resume", str(folder), *often]
    assert subprocess.run(command, env=os.environ).returncode == -9
    assert list_names(folder) - FINISHED  # at least the lock
    assert cli.run(["resume", str(folder), "--quiet"]) == 0
    assert list_names(folder) == FINISHED
    for file in ("history.jsonl", "model/model.json"):
        assert (folder / file).read_bytes() == (finished / file).read_bytes()
