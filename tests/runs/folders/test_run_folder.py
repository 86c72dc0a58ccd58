"""The folder of a run: one process at a time, nothing outside it is read or written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tabnas.errors import TabNASError
from tabnas.jobs import JobConfig
from tabnas.runs import (
    LabelledTable,
    PlannedRun,
    RunCheckpoint,
    RunFolder,
    RunSettings,
    TradeoffFolder,
    execute_in_folder,
    load_config,
    load_result,
    load_run_model,
    plan_run,
    plan_tradeoff,
    run_in_folder,
)
from tabnas.runs.checkpoints._file import write_checkpoint
from tests.runs.helpers import make_table


def test_only_one_process_can_use_a_folder(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run"), pytest.raises(TabNASError, match="another process"):
        RunFolder(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_folder_that_can_be_resumed_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with RunFolder(path) as folder:
        folder.write_config({"settings": {}})
        write_checkpoint(folder.checkpoint, {}, {})
    assert (path / "config.toml").exists()
    with pytest.raises(TabNASError, match="not finished; name another folder, or make the call ag"):
        RunFolder(path)
    with RunFolder(path, resume=True) as folder, pytest.raises(TabNASError, match="another proc"):
        RunFolder(path, resume=True)
    (path / "result.json").write_text("{}")
    with pytest.raises(TabNASError, match="is finished"):
        RunFolder(path, resume=True)
    with pytest.raises(TabNASError, match="that was stopped"):
        RunFolder(tmp_path / "other", resume=True)


def test_the_folder_in_the_command_to_continue_is_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, quoted in (("run", "run"), ("my table", "'my table'")):
        with RunFolder(name) as folder:
            folder.write_config({"data": {}, "settings": {}})
            write_checkpoint(folder.checkpoint, {}, {})
        with pytest.raises(TabNASError, match=f"folder, or continue with: tabnas resume {quoted}$"):
            RunFolder(name)


@pytest.mark.parametrize("place", ["file/run", "/proc/nowhere/run"])
def test_folders_that_cannot_be_created_are_refused(place: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TabNASError, match=r"cannot be written .*name another"):
        RunFolder(tmp_path / place)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_run_without_a_checkpoint_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left even if writing the first checkpoint has started."""
    (tmp_path / "empty").mkdir()
    for name in ("new", "empty"):
        with RunFolder(tmp_path / name) as folder:
            folder.write_config({"settings": {}})
            folder.checkpoint.mkdir()
    assert [(p.name, list(p.iterdir())) for p in tmp_path.iterdir()] == [("empty", [])]


def test_a_run_that_fails_leaves_nothing_behind(tmp_path) -> None:
    with pytest.raises(KeyboardInterrupt), RunFolder(tmp_path / "run"):
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


def test_occupied_folders_are_refused(tmp_path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(TabNASError, match="new or empty"):
        RunFolder(tmp_path)
    with pytest.raises(TabNASError, match="is a file"):
        RunFolder(tmp_path / "file")
    with pytest.raises(TabNASError, match="cannot be written"):
        RunFolder(tmp_path / "file" / "below")


def read_files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


SETTINGS = {"limits": {"parameters": 300}, "candidates": 1, "reference_models": False, "time": 0.1}


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, LabelledTable, RunSettings]:
    """Return the folder of a run that was stopped in Python, its table and its settings."""
    folder = tmp_path_factory.mktemp("stopped") / "run"
    data = LabelledTable.from_table(make_table(60).drop(["value"]), "kind")
    settings = RunSettings(**SETTINGS)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_in_folder(
            folder, data, settings, on_plan=lambda run: _save_checkpoint(folder, run, stop)
        )
    assert (folder / "config.toml").exists()
    return folder, data, settings


def _save_checkpoint(folder: Path, run: PlannedRun, stop: Any) -> None:
    checkpoint = RunCheckpoint(folder / "checkpoint", identity=run.identity())
    checkpoint.save()
    stop()


@pytest.mark.parametrize(
    "name", ["model", "checkpoint", "result.json", "history.jsonl", "config.toml", ".lock"]
)
@pytest.mark.parametrize("dangling", [False, True], ids=["to something", "to nothing"])
def test_nothing_outside_a_run_is_touched(
    name: str, dangling: bool, stopped, tmp_path: Path
) -> None:
    original, data, settings = stopped
    folder, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    for path, content in read_files(original).items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(content)
    target = elsewhere / name.strip(".")
    if not dangling:
        if (folder / name).exists():
            (folder / name).rename(target)
        elif name == "model":
            target.mkdir()
        else:
            target.write_text("years of work")
    elif name == "checkpoint":
        for path in (folder / name).iterdir():
            path.unlink()
        (folder / name).rmdir()
    else:
        (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(target)
    before = read_files(elsewhere), sorted(elsewhere.rglob("*"))
    with pytest.raises(TabNASError):
        run_in_folder(folder, data, settings)
    assert (read_files(elsewhere), sorted(elsewhere.rglob("*"))) == before
    assert (folder / name).is_symlink()


def test_a_stopped_run_without_links_can_be_resumed(stopped, tmp_path: Path) -> None:
    """The test above refuses the link, and not the run."""
    original, data, settings = stopped
    folder = tmp_path / "run"
    for path, content in read_files(original).items():
        (folder / path).parent.mkdir(exist_ok=True, parents=True)
        (folder / path).write_bytes(content)
    (tmp_path / "link").symlink_to("run")  # a name that the user has chosen may be a link
    finished = run_in_folder(tmp_path / "link", data, settings)
    assert load_run_model(folder).architecture == finished.model.architecture
    assert load_result(folder).architecture == finished.model.architecture


def test_a_run_of_one_limit_has_no_parallel_jobs(tmp_path: Path) -> None:
    data = LabelledTable.from_table(make_table(60).drop(["value"]), "kind")
    settings = RunSettings(**SETTINGS)
    planned = plan_run(data, settings)
    config = {"settings": settings.to_dict()}
    with (
        RunFolder(tmp_path / "run") as folder,
        pytest.raises(TabNASError, match="job_config must be used with a trade-off"),
    ):
        execute_in_folder(folder, planned, config, job_config=JobConfig(processes=2))
    assert not (tmp_path / "run").exists()


def test_a_pipe_for_a_lock_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".lock")
    with pytest.raises(TabNASError, match="must be a file"):
        RunFolder(tmp_path)


@pytest.mark.parametrize("load", [load_config, load_result])
def test_files_outside_the_folder_are_not_read(load: Any, tmp_path: Path) -> None:
    name = {load_config: "config.toml", load_result: "result.json"}[load]
    (tmp_path / "secret").write_text('{"format": 1}')
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / name).symlink_to("../secret")
    with pytest.raises(TabNASError, match="must be a file of the run's folder"):
        load(folder)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(TabNASError, match="must be a file of the run's folder"):
        load(folder)


def test_a_model_outside_the_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "model").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TabNASError, match="model must lie in the folder"):
        load_run_model(tmp_path / "run")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be read"),
        (b"\xff", "cannot be read"),
        (b"[" * 100_000, "nested too deep"),
        (b"9" * 10_000, "cannot be read"),
        (b"[]", "must hold the result of a run"),
        (b"{}", "must hold the result of a run"),
        (b'{"format": "1"}', "must hold the result of a run"),
        (b'{"format": 99}', "written by a newer tabnas"),
        (b'{"format": 1}', "written by an older tabnas"),
        (b'{"format": 2}', "architecture is missing"),
        (b'{"format": 2, "seed": NaN}', "NaN is not a JSON number"),
    ],
    ids=lambda value: value[:12] if isinstance(value, bytes) else None,
)
def test_malformed_results_are_refused(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "result.json").write_bytes(content)
    with pytest.raises(TabNASError, match=message):
        load_result(tmp_path)


def test_malformed_configs_are_refused(tmp_path: Path) -> None:
    for content in (b"\xff", b"x", b"x = " + b"[" * 100_000, b"x = " + b"9" * 10_000):
        (tmp_path / "config.toml").write_bytes(content)
        with pytest.raises(TabNASError, match="cannot be read"):
            load_config(tmp_path)


def test_a_tradeoff_writes_no_events(tmp_path: Path) -> None:
    data = LabelledTable.from_table(make_table(60).drop(["value"]), "kind")
    settings = RunSettings(**SETTINGS | {"time": None})
    planned = plan_tradeoff(data, settings, cost="parameters", limits=(200, 300))
    with (
        TradeoffFolder(tmp_path / "curve") as folder,
        pytest.raises(TabNASError, match="tensorboard must be used with a run of one limit"),
    ):
        execute_in_folder(folder, planned, {"settings": settings.to_dict()}, tensorboard=True)
