"""One process to a folder, and nothing of the lock is left behind."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tabnas import locks
from tabnas.errors import TabNASError
from tabnas.locks import FolderLock, is_locked
from tabnas.runs import RunFolder
from tabnas.stores import encode_store


def test_a_folder_is_locked_until_it_is_released(tmp_path: Path) -> None:
    assert not is_locked(tmp_path)
    lock = FolderLock(tmp_path)
    assert is_locked(tmp_path)
    with pytest.raises(TabNASError, match="another process is working in"):
        FolderLock(tmp_path)
    lock.release()
    assert not is_locked(tmp_path)
    FolderLock(tmp_path).release(remove=True)
    assert not list(tmp_path.iterdir())


def test_a_lock_that_was_removed_before_it_was_had_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else two processes could each hold a file that was called .lock."""
    lock, removed = locks._lock, []

    def late(file: Any) -> None:
        if not removed:
            removed.append((tmp_path / ".lock").unlink())
        lock(file)

    monkeypatch.setattr(locks, "_lock", late)
    held = FolderLock(tmp_path)
    monkeypatch.undo()
    assert is_locked(tmp_path)
    held.release()


def test_a_run_that_ended_just_before_the_lock_was_had_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.toml").touch()
    lock = locks._lock

    def late(file: Any) -> None:
        (tmp_path / "result.json").touch()
        lock(file)

    monkeypatch.setattr(locks, "_lock", late)
    with pytest.raises(TabNASError, match="is finished"):
        RunFolder(tmp_path, resume=True)
    assert not is_locked(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {".lock", "config.toml", "result.json"}


# -- where open files cannot be removed ------------------------------------------------------------


@pytest.fixture
def as_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse to remove a file that this process has open."""
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("there is no list of open files here")
    unlink = os.unlink

    def careful(path: Any, *, dir_fd: int | None = None) -> None:
        folder = Path.cwd() if dir_fd is None else Path(f"/proc/self/fd/{dir_fd}").resolve()
        handles = [one for one in Path("/proc/self/fd").iterdir() if one.exists()]
        if (folder / path).absolute() in [handle.resolve() for handle in handles]:
            raise PermissionError(13, "The process cannot access the file", str(path))
        unlink(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", careful)
    monkeypatch.setattr(locks, "REMOVES_OPEN_FILES", False)


@pytest.mark.usefixtures("as_on_windows")
@pytest.mark.parametrize("there", [False, True])
def test_a_run_that_comes_to_nothing_leaves_nothing(there: bool, tmp_path: Path) -> None:
    path = tmp_path / "runs" / "run"
    if there:
        path.mkdir(parents=True)
    with RunFolder(path) as folder:
        folder.write_config({"settings": {}})
        (path / "tensorboard").mkdir()
        (path / "tensorboard" / "events").touch()
    assert list(tmp_path.iterdir()) == ([tmp_path / "runs"] if there else [])
    assert not there or not list(path.iterdir())


@pytest.mark.usefixtures("as_on_windows")
def test_a_finished_run_has_no_lock(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run") as folder:
        folder.write_config({"settings": {}})
        (folder.path / "progress.json").touch()
        folder.remove_checkpoint()
        assert is_locked(folder.path)  # until all is written
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["config.toml"]


@pytest.mark.usefixtures("as_on_windows")
def test_a_store_that_cannot_be_begun_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(TabNASError):
        encode_store(tmp_path / "t.csv", tmp_path / "store", target="c")
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.usefixtures("as_on_windows")
def test_a_lock_that_another_process_has_opened_meanwhile_stays(
    tmp_path: Path,
) -> None:
    lock = FolderLock(tmp_path)
    with (tmp_path / ".lock").open("rb"):
        lock.release(remove=True)
    assert (tmp_path / ".lock").exists()
    assert not is_locked(tmp_path)
