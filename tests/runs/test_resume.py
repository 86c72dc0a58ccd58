"""A run that is stopped at any moment and resumed ends with the same bits."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tomli_w
from pyarrow import csv, parquet

from tabnas.cli import _main as cli
from tabnas.data import _arrow_files, _spool, read_table
from tabnas.errors import TabNASError
from tabnas.runs import (
    LabelledTable,
    RunCheckpoint,
    RunSettings,
    RunStopped,
    run_in_folder,
)
from tabnas.runs.checkpoints._file import read_checkpoint
from tabnas.threads import limit_threads
from tests.runs.helpers import (
    LIMITS,
    SHORT,
    ForkServer,
    StopsAt,
    collect_bits,
    make_started_run,
    make_table,
    plan_short_run,
    read_finished_files,
    write_table,
)


@pytest.fixture(autouse=True)
def _single_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs stop between any two steps of a training."""
    monkeypatch.setattr("tabnas.nets._stretches.MAX_STEPS", 1)


@pytest.mark.parametrize(
    ("rows", "dimensions"),
    [(300, None), (3_900, None), (300, (1, 2)), (3_900, (2,))],
    ids=["folds", "validation", "folds, embedded", "validation, embedded"],
)
def test_a_run_can_be_stopped_anywhere(
    rows: int, dimensions: tuple[int, ...] | None, tmp_path: Path
) -> None:
    def make_run():
        return plan_short_run(rows, numeric_dimensions=dimensions, knots=dimensions and 5)

    run = make_run()
    uninterrupted = StopsAt(tmp_path / "uninterrupted", run, -1)
    finished = run.execute(checkpoint=uninterrupted)
    assert dimensions is None or finished.model.architecture.dimension in dimensions
    expected = collect_bits(finished)
    rng = np.random.default_rng(0)
    for number, step in enumerate(rng.integers(1, uninterrupted.steps + 1, size=8)):
        folder = tmp_path / str(number)
        with pytest.raises(RunStopped):
            make_run().execute(checkpoint=StopsAt(folder, run, int(step)))
        again = make_run().execute(checkpoint=RunCheckpoint(folder, identity=run.identity()))
        assert collect_bits(again) == expected


def test_a_run_can_be_stopped_again_and_again(tmp_path: Path) -> None:
    run = plan_short_run(300)
    expected = collect_bits(run.execute())
    stops = 0
    while True:
        try:
            finished = plan_short_run(300).execute(checkpoint=StopsAt(tmp_path, run, 40))
            break
        except RunStopped:
            stops += 1
    assert stops > 5
    assert collect_bits(finished) == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda: plan_short_run(300, seed=1), "seed"),
        (lambda: plan_short_run(301), "table"),
        (lambda: plan_short_run(300, limits={"parameters": 900}), "limits"),
        (lambda: plan_short_run(300, numeric_dimensions=(0, 1)), "numeric_dimensions"),
        (lambda: plan_short_run(300, knots=5), "knots"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(
    change: Callable[[], object], message: str, tmp_path: Path
) -> None:
    run = plan_short_run(300)
    with pytest.raises(RunStopped):
        run.execute(checkpoint=StopsAt(tmp_path, run, 5))
    with pytest.raises(TabNASError, match=rf"only as it began, but the.*{message}"):
        RunCheckpoint(tmp_path, identity=change().identity())


# -- checkpoints ---------------------------------------------------------------------------------


# -- folders -------------------------------------------------------------------------------------


def stop_at_step(step: int) -> Callable[[RunCheckpoint], None]:
    """Return an `on_step` that stops the run at one of its steps."""
    on_step, steps = RunCheckpoint.save_if_due, 0

    def stop(checkpoint: RunCheckpoint) -> None:
        nonlocal steps
        steps += 1
        if steps == step:
            checkpoint.signals.received = signal.SIGTERM
        on_step(checkpoint)

    return stop


@pytest.fixture
def stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a stopped run, next to that of an uninterrupted one."""
    table = write_table(tmp_path / "table.parquet", 300)
    settings = RunSettings(limits=LIMITS, candidates=2, reference_models=False, teacher="none")
    for name in ("uninterrupted", "stopped"):
        make_started_run(tmp_path / name, table, settings, SHORT)
    assert cli.run(["resume", str(tmp_path / "uninterrupted"), "--quiet"]) == 0
    with monkeypatch.context() as patched:
        patched.setattr(RunCheckpoint, "save_if_due", stop_at_step(50))
        assert cli.run(["resume", str(tmp_path / "stopped"), "--quiet"]) == 143
    return tmp_path / "stopped"


@pytest.mark.parametrize(
    ("rows", "changes", "message"),
    [
        (300, {"seed": 1}, "the setting seed was 0 and is 1"),
        (300, {"limits": {"parameters": 900}}, "the setting limits was"),
        (299, {}, "the table was"),
    ],
)
def test_a_refused_resume_leaves_the_folder_as_it_was(
    rows: int, changes: dict[str, object], message: str, stopped: Path
) -> None:
    table = read_table(stopped.parent / "table.parquet")
    data = LabelledTable.from_table(table.take(np.arange(rows)), "kind")
    settings = {"limits": LIMITS, "candidates": 2, "reference_models": False, "teacher": "none"}
    before = (stopped / "config.toml").read_bytes()
    with pytest.raises(TabNASError, match=rf"only as it began, but {message}"):
        run_in_folder(stopped, data, RunSettings(**(settings | changes)))
    assert (stopped / "config.toml").read_bytes() == before
    assert cli.run(["resume", str(stopped), "--quiet"]) == 0
    assert read_finished_files(stopped) == read_finished_files(stopped.parent / "uninterrupted")


def test_python_and_the_command_line_resume_each_others_runs(
    stopped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = LabelledTable.from_table(read_table(stopped.parent / "table.parquet"), "kind")
    settings = RunSettings(limits=LIMITS, candidates=2, reference_models=False, teacher="none")
    before = (stopped / "config.toml").read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(RunCheckpoint, "save_if_due", stop_at_step(50))
        with pytest.raises(RunStopped):
            run_in_folder(stopped, data, settings)
    assert (stopped / "config.toml").read_bytes() == before
    assert cli.run(["resume", str(stopped), "--quiet"]) == 0
    assert read_finished_files(stopped) == read_finished_files(stopped.parent / "uninterrupted")


def test_changed_settings_are_refused_before_the_first_checkpoint(tmp_path: Path) -> None:
    data = LabelledTable.from_table(make_table(300).drop(["value"]), "kind")
    folder = make_started_run(
        tmp_path / "run", tmp_path / "t.csv", RunSettings(limits=LIMITS), SHORT
    )
    before = (folder / "config.toml").read_bytes()
    with pytest.raises(TabNASError, match="the setting seed was 0 and is 1"):
        run_in_folder(folder, data, RunSettings(limits=LIMITS, seed=1))
    assert (folder / "config.toml").read_bytes() == before


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ("[server]\nport = 80\n", "has no settings of a run; name another folder"),
        (
            "[tradeoff]\ncost = 'flops'\n[settings.limits]\nflops = 9\n",
            "holds a trade-off, not a run of one limit",
        ),
    ],
)
def test_a_config_that_is_not_of_a_run_is_not_overwritten(
    config: str, sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "config.toml").write_text(config)
    data = LabelledTable.from_table(make_table(300).drop(["value"]), "kind")
    with pytest.raises(TabNASError, match=sentence):
        run_in_folder(tmp_path, data, RunSettings(limits=LIMITS))
    assert (tmp_path / "config.toml").read_text() == config


# -- data that vanishes ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_run_whose_file_vanishes_can_be_resumed_once_it_is_back(
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for module in (_arrow_files, _spool):
        monkeypatch.setattr(module, "MIN_LARGE_BYTES", 1)  # read column by column
    path = tmp_path / f"table.{kind}"
    table = make_table(300).drop(["value"]).arrow
    (parquet.write_table if kind == "parquet" else csv.write_csv)(table, path)
    settings = {"limits": LIMITS, "reference_models": False, "teacher": "none"}
    config = {"data": {"data": str(path), "target": "kind"}, "settings": settings, "plan": SHORT}
    for name in ("uninterrupted", "stopped"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.toml").write_text(tomli_w.dumps(config))
    resume = ["resume", str(tmp_path / "stopped"), "--quiet"]
    on_step, aside = RunCheckpoint.save_if_due, tmp_path / "elsewhere"
    assert cli.run(["resume", str(tmp_path / "uninterrupted"), "--quiet"]) == 0

    def move_file_away(checkpoint: RunCheckpoint) -> None:
        if path.exists():  # at the first tick: training goes on without the file
            path.rename(aside)
            checkpoint.steps = 0
        checkpoint.steps += 1
        if checkpoint.steps == 50:
            checkpoint.signals.received = signal.SIGTERM
        on_step(checkpoint)

    monkeypatch.setattr(RunCheckpoint, "save_if_due", move_file_away)
    assert cli.run(resume) == 143
    monkeypatch.setattr(RunCheckpoint, "save_if_due", on_step)
    checkpoint = tmp_path / "stopped" / "checkpoint"
    before = {file.name: file.read_bytes() for file in checkpoint.iterdir()}
    assert before
    capsys.readouterr()
    assert cli.run(resume) == 2
    assert f"there is no file {str(path)!r}" in capsys.readouterr().err
    assert {file.name: file.read_bytes() for file in checkpoint.iterdir()} == before
    aside.rename(path)
    assert cli.run(resume) == 0
    assert read_finished_files(tmp_path / "stopped") == read_finished_files(
        tmp_path / "uninterrupted"
    )


def test_a_file_truncated_while_it_is_read_is_named_in_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_arrow_files, "MIN_LARGE_BYTES", 1)
    path = tmp_path / "table.parquet"
    parquet.write_table(make_table(300).arrow, path)
    table = read_table(path)
    os.truncate(path, 100)
    with pytest.raises(TabNASError, match=r"the column 'kind' of 'table.parquet' cannot be read"):
        LabelledTable.from_table(table, "kind")


FULL = """
import resource, sys
from tabnas.cli._main import run
from tabnas.data import _spool
_spool.MIN_LARGE_BYTES = 1
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)  # no file may be larger
sys.exit(run(sys.argv[2:]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("max_bytes", "kind", "changes"),
    [
        (100, "parquet", "the run cannot be written to 'run': File too large"),
        (3_000, "parquet", "there was none before it: free some space and start again"),
        (3_000, "csv", "set TMPDIR to another folder"),
    ],
)
def test_a_full_disk_ends_a_run_with_a_clear_error(
    max_bytes: int, kind: str, changes: str, tmp_path: Path
) -> None:
    table = make_table(1_000).drop(["value"]).arrow
    (parquet.write_table if kind == "parquet" else csv.write_csv)(table, tmp_path / f"t.{kind}")
    settings = [
        "search",
        f"t.{kind}",
        "--target",
        "kind",
        "--max-parameters",
        "900",
        "--teacher",
        "none",
        "--out",
        "run",
    ]
    often = ["--checkpoint-seconds", "1e-9", "--quiet"]
    command = [sys.executable, "-c", FULL, str(max_bytes), *settings, *often]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert changes in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


# -- real processes --------------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]


def die_while_writing(folder: str, phase: str, place: str) -> None:
    """Run in this process, which kills itself while it writes a checkpoint of a phase."""
    sync, rename, remove = os.fsync, os.replace, Path.unlink
    run = plan_short_run(300)
    checkpoint = RunCheckpoint(Path(folder), identity=run.identity(), every=0)

    def is_time(here: str) -> bool:
        return here == place and any(step.startswith(phase) for step in checkpoint._running)

    def die(here: str) -> None:
        if is_time(here):
            os.kill(os.getpid(), signal.SIGKILL)

    def fsync(handle: int) -> None:
        if is_time("half of it written"):
            os.truncate(handle, os.fstat(handle).st_size // 2)
        die("half of it written")
        sync(handle)

    def replace(source: Path, target: Path) -> None:
        die("not yet renamed")
        rename(source, target)
        die("just renamed")

    def unlink(path: Path, missing_ok: bool = False) -> None:
        if path.stem.isdecimal():
            die("the oldest not yet removed")
        remove(path, missing_ok)

    os.fsync, os.replace, Path.unlink = fsync, replace, unlink  # type: ignore[assignment]
    with limit_threads(1):  # no other step can end before all have left their states
        run.execute(checkpoint=checkpoint)


DEATHS = (
    ("search", "half of it written"),
    ("candidate 1", "not yet renamed"),
    ("candidate 2", "half of it written"),
    ("final training", "just renamed"),
    ("refit", "the oldest not yet removed"),
)


def run_deaths(folder: str) -> None:
    """Fork a process for each death and print its exit code and the note on its checkpoint."""
    for phase, place in DEATHS:
        process = os.fork()
        if not process:
            die_while_writing(folder, phase, place)
            os._exit(0)
        ended = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        found = read_checkpoint(Path(folder))
        print(json.dumps([ended, None if found is None else found[2]]))


@pytest.mark.slow
def test_a_run_killed_while_it_writes_checkpoints_can_be_resumed(tmp_path: Path) -> None:
    """One run is killed at every stage of writing a checkpoint, once in each of its phases."""
    call = f"from {__name__} import run_deaths; run_deaths({str(tmp_path)!r})"
    done = subprocess.run(
        [sys.executable, "-c", call], cwd=ROOT, capture_output=True, text=True, check=True
    )
    ended = [json.loads(line) for line in done.stdout.splitlines()]
    none, uninterrupted = None, ""  # the first was to be the first checkpoint
    assert ended == [[-signal.SIGKILL, note] for note in (none, *[uninterrupted] * 4)], done.stderr
    run = plan_short_run(300)
    finished = run.execute(checkpoint=RunCheckpoint(tmp_path, identity=run.identity()))
    assert collect_bits(finished) == collect_bits(plan_short_run(300).execute())


@pytest.mark.slow
@pytest.mark.parametrize("dimensions", [(0,), (1, 2)])
def test_killed_and_resumed_runs_end_with_the_same_bits(
    dimensions: tuple[int, ...], fork_server: ForkServer, tmp_path: Path
) -> None:
    """The process is killed soon after a checkpoint, also while it writes the next one."""
    table = write_table(tmp_path / "t.parquet", 3_900)
    settings = RunSettings(
        limits=LIMITS,
        reference_models=False,
        seed=3,
        numeric_dimensions=dimensions,
        teacher="none",
    )
    plan = {"search_epochs": 8, "epochs": 16, "candidates": 2}
    uninterrupted, killed = (
        make_started_run(tmp_path / name, table, settings, plan)
        for name in ("uninterrupted", "killed")
    )
    run_in_folder(uninterrupted, LabelledTable.from_table(read_table(table), "kind"), settings)
    resume = ["resume", "killed", "--quiet", "--checkpoint-seconds", "0.05"]
    rng = np.random.default_rng(0)
    fork_server.start(*resume)
    kills = 0
    while kills < 6 and _wait_for_checkpoint(fork_server, killed / "checkpoint"):
        time.sleep(float(rng.uniform(0, 0.2)))
        if fork_server.kill() == 0:  # it was done already
            break
        kills += 1
        fork_server.start(*resume)
    else:
        assert fork_server.wait() == 0
    assert kills >= 2
    assert read_finished_files(killed) == read_finished_files(uninterrupted)
    assert not (killed / "checkpoint").exists()


def _wait_for_checkpoint(fork_server: ForkServer, folder: Path) -> bool:
    """Wait for the next checkpoint; return whether the process is still running."""
    before = set(folder.glob("*.checkpoint"))
    while fork_server.is_alive:
        if set(folder.glob("*.checkpoint")) - before:
            return True
        time.sleep(0.005)
    return False


def test_sigterm_while_boosted_trees_are_fitted_stops_at_once(tmp_path, monkeypatch) -> None:
    expected = collect_bits(plan_short_run(300, reference_models=True).execute())

    def settings(*_: object, **__: object) -> None:
        signal.raise_signal(signal.SIGTERM)
        pytest.fail("it went on")

    run = plan_short_run(300, reference_models=True)
    with monkeypatch.context() as patched:
        patched.setattr("tabnas.runs.evaluation._scores.fit_boosted_trees", settings)
        with pytest.raises(RunStopped):
            run.execute(checkpoint=RunCheckpoint(tmp_path, identity=run.identity()))
    again = plan_short_run(300, reference_models=True)
    checkpoint = RunCheckpoint(tmp_path, identity=again.identity())
    assert {"search", "candidate 1", "candidate 2", "refit"} <= set(checkpoint._results)
    assert collect_bits(again.execute(checkpoint=checkpoint)) == expected
