"""Runs that are stopped at any moment, and gone on with, end with the same bits."""

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
from tests.runs.helpers import (
    LIMITS,
    SHORT,
    Nursery,
    StopsAt,
    begun,
    bits,
    left,
    made_table,
    planned,
    written_table,
)


@pytest.mark.parametrize("rows", [300, 3_900], ids=["folds", "validation"])
def test_a_run_can_be_stopped_anywhere(rows: int, tmp_path: Path) -> None:
    run = planned(rows)
    whole = StopsAt(tmp_path / "whole", run, -1)
    expected = bits(run.execute(checkpoint=whole))
    rng = np.random.default_rng(0)
    for number, tick in enumerate(rng.integers(1, whole.ticks + 1, size=8)):
        folder = tmp_path / str(number)
        with pytest.raises(RunStopped):
            planned(rows).execute(checkpoint=StopsAt(folder, run, int(tick)))
        again = planned(rows).execute(checkpoint=RunCheckpoint(folder, identity=run.identity()))
        assert bits(again) == expected


def test_a_run_can_be_stopped_again_and_again(tmp_path: Path) -> None:
    run = planned(300)
    expected = bits(run.execute())
    stops = 0
    while True:
        try:
            outcome = planned(300).execute(checkpoint=StopsAt(tmp_path, run, 40))
            break
        except RunStopped:
            stops += 1
    assert stops > 5
    assert bits(outcome) == expected


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda: planned(300, seed=1), "seed"),
        (lambda: planned(301), "table"),
        (lambda: planned(300, limits={"parameters": 900}), "limits"),
    ],
)
def test_other_runs_are_refused(change: Callable[[], object], named: str, tmp_path: Path) -> None:
    run = planned(300)
    with pytest.raises(RunStopped):
        run.execute(checkpoint=StopsAt(tmp_path, run, 5))
    with pytest.raises(TabNASError, match=rf"only as it began, but the.*{named}"):
        RunCheckpoint(tmp_path, identity=change().identity())


# -- checkpoints ---------------------------------------------------------------------------------


# -- folders -------------------------------------------------------------------------------------


def stopping_at(tick: int) -> Callable[[RunCheckpoint], None]:
    """Return a `Ledger.tick` that asks the run to stop at one of its ticks."""
    own, ticks = RunCheckpoint.on_step, 0

    def stopping(checkpoint: RunCheckpoint) -> None:
        nonlocal ticks
        ticks += 1
        if ticks == tick:
            checkpoint._signal = signal.SIGTERM
        own(checkpoint)

    return stopping


@pytest.fixture
def stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a run of the command line that was stopped, beside that of a whole one."""
    table = written_table(tmp_path / "table.parquet", 300)
    settings = RunSettings(limits=LIMITS, candidates=2, baselines=False)
    for name in ("whole", "stopped"):
        begun(tmp_path / name, table, settings, SHORT)
    assert cli.run(["resume", str(tmp_path / "whole"), "--quiet"]) == 0
    with monkeypatch.context() as patched:
        patched.setattr(RunCheckpoint, "on_step", stopping_at(50))
        assert cli.run(["resume", str(tmp_path / "stopped"), "--quiet"]) == 143
    return tmp_path / "stopped"


@pytest.mark.parametrize(
    ("rows", "said", "named"),
    [
        (300, {"seed": 1}, "the setting seed was 0 and is 1"),
        (300, {"limits": {"parameters": 900}}, "the setting limits was"),
        (299, {}, "the table was"),
    ],
)
def test_a_refused_resume_leaves_the_folder_as_it_was(
    rows: int, said: dict[str, object], named: str, stopped: Path
) -> None:
    table = read_table(stopped.parent / "table.parquet")
    data = LabelledTable.from_table(table.take(np.arange(rows)), "kind")
    asked = {"limits": LIMITS, "candidates": 2, "baselines": False}
    before = (stopped / "config.toml").read_bytes()
    with pytest.raises(TabNASError, match=rf"only as it began, but {named}"):
        run_in_folder(stopped, data, RunSettings(**(asked | said)))
    assert (stopped / "config.toml").read_bytes() == before
    assert cli.run(["resume", str(stopped), "--quiet"]) == 0
    assert left(stopped) == left(stopped.parent / "whole")


def test_python_goes_on_with_a_run_of_the_command_line_and_back(
    stopped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = LabelledTable.from_table(read_table(stopped.parent / "table.parquet"), "kind")
    settings = RunSettings(limits=LIMITS, candidates=2, baselines=False)
    before = (stopped / "config.toml").read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(RunCheckpoint, "on_step", stopping_at(50))
        with pytest.raises(RunStopped):
            run_in_folder(stopped, data, settings)
    assert (stopped / "config.toml").read_bytes() == before
    assert cli.run(["resume", str(stopped), "--quiet"]) == 0
    assert left(stopped) == left(stopped.parent / "whole")


def test_other_settings_are_refused_before_the_first_checkpoint_too(tmp_path: Path) -> None:
    data = LabelledTable.from_table(made_table(300).drop(["value"]), "kind")
    folder = begun(tmp_path / "run", tmp_path / "t.csv", RunSettings(limits=LIMITS), SHORT)
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
def test_the_config_of_something_else_is_not_overwritten(
    config: str, sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "config.toml").write_text(config)
    data = LabelledTable.from_table(made_table(300).drop(["value"]), "kind")
    with pytest.raises(TabNASError, match=sentence):
        run_in_folder(tmp_path, data, RunSettings(limits=LIMITS))
    assert (tmp_path / "config.toml").read_text() == config


# -- data that vanishes ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_run_outlives_its_file_and_goes_on_once_it_is_back(
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for module in (_arrow_files, _spool):
        monkeypatch.setattr(module, "MIN_LARGE_BYTES", 1)  # read column by column
    path = tmp_path / f"table.{kind}"
    table = made_table(300).drop(["value"]).arrow
    (parquet.write_table if kind == "parquet" else csv.write_csv)(table, path)
    asked = {"limits": LIMITS, "baselines": False}
    config = {"data": {"data": str(path), "target": "kind"}, "settings": asked, "plan": SHORT}
    for name in ("whole", "stopped"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.toml").write_text(tomli_w.dumps(config))
    resume = ["resume", str(tmp_path / "stopped"), "--quiet"]
    on_step, aside = RunCheckpoint.on_step, tmp_path / "elsewhere"
    assert cli.run(["resume", str(tmp_path / "whole"), "--quiet"]) == 0

    def vanishing(checkpoint: RunCheckpoint) -> None:
        if path.exists():  # at the first tick: training goes on without the file
            path.rename(aside)
            checkpoint.ticks = 0
        checkpoint.ticks += 1
        if checkpoint.ticks == 50:
            checkpoint._signal = signal.SIGTERM
        on_step(checkpoint)

    monkeypatch.setattr(RunCheckpoint, "on_step", vanishing)
    assert cli.run(resume) == 143
    monkeypatch.setattr(RunCheckpoint, "on_step", on_step)
    checkpoint = tmp_path / "stopped" / "checkpoint"
    before = {file.name: file.read_bytes() for file in checkpoint.iterdir()}
    assert before
    capsys.readouterr()
    assert cli.run(resume) == 2
    assert f"there is no file {str(path)!r}" in capsys.readouterr().err
    assert {file.name: file.read_bytes() for file in checkpoint.iterdir()} == before
    aside.rename(path)
    assert cli.run(resume) == 0
    assert left(tmp_path / "stopped") == left(tmp_path / "whole")


def test_a_file_that_is_cut_while_it_is_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_arrow_files, "MIN_LARGE_BYTES", 1)
    path = tmp_path / "table.parquet"
    parquet.write_table(made_table(300).arrow, path)
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
    ("room", "kind", "said"),
    [
        (100, "parquet", "the run cannot be written to 'run': File too large"),
        (3_000, "parquet", "there was none before it: free some space and start again"),
        (3_000, "csv", "set TMPDIR to another folder"),
    ],
)
def test_where_there_is_no_room_a_run_ends_in_a_sentence(
    room: int, kind: str, said: str, tmp_path: Path
) -> None:
    table = made_table(1_000).drop(["value"]).arrow
    (parquet.write_table if kind == "parquet" else csv.write_csv)(table, tmp_path / f"t.{kind}")
    asked = ["search", f"t.{kind}", "--target", "kind", "--max-parameters", "900", "--out", "run"]
    often = ["--checkpoint-seconds", "1e-9", "--quiet"]
    command = [sys.executable, "-c", FULL, str(room), *asked, *often]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


# -- real processes --------------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]


def dying(folder: str, phase: str, place: str) -> None:
    """In a process of its own: a run that kills itself while it writes a checkpoint of a phase."""
    sync, rename, remove = os.fsync, os.replace, Path.unlink
    run = planned(300)
    checkpoint = RunCheckpoint(Path(folder), identity=run.identity(), every=0)

    def is_time(here: str) -> bool:
        return here == place and checkpoint._running is not None and checkpoint._running[0] == phase

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
    run.execute(checkpoint=checkpoint)


DEATHS = (
    ("search", "half of it written"),
    ("candidate 1", "not yet renamed"),
    ("candidate 2", "half of it written"),
    ("final training", "just renamed"),
    ("refit", "the oldest not yet removed"),
)


def deaths(folder: str) -> None:
    """A process for each death, all of one that has read the code; prints how each has ended."""
    for phase, place in DEATHS:
        process = os.fork()
        if not process:
            dying(folder, phase, place)
            os._exit(0)
        ended = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        found = read_checkpoint(Path(folder))
        print(json.dumps([ended, None if found is None else found[2]]))


@pytest.mark.slow
def test_death_while_a_checkpoint_is_written(tmp_path: Path) -> None:
    """One run, killed at every stage of writing a checkpoint, in each of its phases once."""
    call = f"from {__name__} import deaths; deaths({str(tmp_path)!r})"
    done = subprocess.run(
        [sys.executable, "-c", call], cwd=ROOT, capture_output=True, text=True, check=True
    )
    ended = [json.loads(line) for line in done.stdout.splitlines()]
    none, whole = None, ""  # the first was to be the first checkpoint
    assert ended == [[-signal.SIGKILL, note] for note in (none, *[whole] * 4)], done.stderr
    run = planned(300)
    outcome = run.execute(checkpoint=RunCheckpoint(tmp_path, identity=run.identity()))
    assert bits(outcome) == bits(planned(300).execute())


@pytest.mark.slow
def test_killed_processes_leave_runs_that_end_as_if_nothing_had_happened(
    nursery: Nursery, tmp_path: Path
) -> None:
    """Killed (SIGKILL) soon after a checkpoint, also in the middle of writing the next one."""
    table = written_table(tmp_path / "t.parquet", 3_900)
    settings = RunSettings(limits=LIMITS, baselines=False, seed=3)
    plan = {"search_epochs": 8, "epochs": 16, "candidates": 2}
    whole, killed = (begun(tmp_path / name, table, settings, plan) for name in ("whole", "killed"))
    run_in_folder(whole, LabelledTable.from_table(read_table(table), "kind"), settings)
    resume = ["resume", "killed", "--quiet", "--checkpoint-seconds", "0.05"]
    rng = np.random.default_rng(0)
    nursery.begin(*resume)
    kills = 0
    while kills < 6 and _next_checkpoint(nursery, killed / "checkpoint"):
        time.sleep(float(rng.uniform(0, 0.2)))
        if nursery.kill() == 0:  # it was done already
            break
        kills += 1
        nursery.begin(*resume)
    else:
        assert nursery.ended() == 0
    assert kills >= 2
    assert left(killed) == left(whole)
    assert not (killed / "checkpoint").exists()


def _next_checkpoint(nursery: Nursery, folder: Path) -> bool:
    """Wait until the process has written one; whether it is still at work."""
    before = set(folder.glob("*.checkpoint"))
    while nursery.alive:
        if set(folder.glob("*.checkpoint")) - before:
            return True
        time.sleep(0.005)
    return False


def test_to_be_asked_to_stop_while_others_are_fitted_ends_at_once(tmp_path, monkeypatch) -> None:
    wanted = bits(planned(300, baselines=True).execute())

    def asked(*_: object, **__: object) -> None:
        signal.raise_signal(signal.SIGTERM)
        pytest.fail("it went on")

    run = planned(300, baselines=True)
    with monkeypatch.context() as patched:
        patched.setattr("tabnas.runs.evaluation._scores.fit_boosted_trees", asked)
        with pytest.raises(RunStopped):
            run.execute(checkpoint=RunCheckpoint(tmp_path, identity=run.identity()))
    again = planned(300, baselines=True)
    checkpoint = RunCheckpoint(tmp_path, identity=again.identity())
    assert {"search", "candidate 1", "candidate 2", "refit"} <= set(checkpoint._results)
    assert bits(again.execute(checkpoint=checkpoint)) == wanted
