"""One search in several processes: the same result, and nothing hangs or is lost if one dies."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tabnas.cli._main import USAGE_ERROR, run
from tabnas.runs import RunSettings
from tabnas.runs.checkpoints._file import read_checkpoint
from tests.processes import start, started, wait_until_gone
from tests.runs.helpers import make_started_run, write_table

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch")
LOST = 3
TIMEOUT = 300.0  # seconds; usually a few are enough
SETTINGS = RunSettings(
    limits={"parameters": 800},
    engine="torch",
    workers=2,
    reference_models=False,
    candidates=1,
    teacher="none",
)
TAUGHT = RunSettings.from_dict(SETTINGS.to_dict() | {"teacher": "network"})
PLAN = {"search_epochs": 10, "epochs": 1, "candidates": 1}

NURSERY = """
import json, os, sys
import torch.distributed, tabnas.runs, tabnas.nets.torch
import tabnas.feasible._kernels, tabnas.policy._kernels
from tabnas.cli import main

def launch(job):
    started = []
    for rank, arguments in enumerate(job["arguments"]):
        process = os.fork()
        if not process:
            os.environ |= job["environment"] | {"RANK": str(rank), "LOCAL_RANK": str(rank)}
            for number in (1, 2):
                with open(f"said-{rank}-{number}", "w") as said:
                    os.dup2(said.fileno(), number)
            sys.argv[1:] = arguments
            try:
                main()
            except SystemExit as ended:
                sys.stdout.flush(), sys.stderr.flush()
                os._exit(ended.code or 0)
        started.append(process)
    print(json.dumps([os.getpid(), *started]), flush=True)
    codes = [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in started]
    print(json.dumps(codes), flush=True)

for line in sys.stdin:
    launcher = os.fork()
    if not launcher:
        launch(json.loads(line))
        os._exit(0)
    os.waitpid(launcher, 0)
"""


class Company:
    """Several processes of one command, as a launcher starts them, but forked and so begun soon."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mother = start(
            [sys.executable, "-c", NURSERY],
            cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def begin(self, *arguments: list[str], **environment: str) -> list[int]:
        """Start a process for each list of arguments; their ids."""
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        size = {"WORLD_SIZE": str(len(arguments)), "LOCAL_WORLD_SIZE": str(len(arguments))}
        place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        assert self._mother.stdin
        job = {"arguments": arguments, "environment": size | place | environment}
        print(json.dumps(job), file=self._mother.stdin, flush=True)
        self.launcher, *ranks = self._said()
        return ranks

    def ended(self) -> list[int]:
        """Wait for all; their exit codes."""
        return self._said()

    def run(self, *arguments: list[str]) -> list[int]:
        self.begin(*arguments)
        return self.ended()

    def said(self, rank: int, number: int = 2) -> str:
        """What a process of the last job has written to standard error, or output."""
        return (self._folder / f"said-{rank}-{number}").read_text()

    def _said(self) -> Any:
        assert self._mother.stdout
        return json.loads(self._mother.stdout.readline())

    def close(self) -> None:
        with self._mother:  # which ends when nothing more is asked of it
            pass


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """As the processes have that this one is compared with."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranks")
    write_table(folder / "t.parquet", 300)
    return folder


@pytest.fixture(scope="module")
def company(place: Path) -> Iterator[Company]:
    company = Company(place)
    yield company
    company.close()


@pytest.fixture(scope="module")
def whole(place: Path) -> dict[str, Any]:
    """The result of one process."""
    folder = make_started_run(place / "whole", place / "t.parquet", SETTINGS, PLAN)
    assert run(["resume", str(folder), "--quiet"]) == 0
    return result(folder)


@pytest.fixture(scope="module")
def taught(place: Path) -> dict[str, Any]:
    """The result of one process, whose network has a teacher."""
    folder = make_started_run(place / "taught", place / "t.parquet", TAUGHT, PLAN)
    assert run(["resume", str(folder), "--quiet"]) == 0
    return result(folder)


def result(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return found


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """All that is chosen is the same, and what is measured is so to rounding."""
    assert found["architecture"] == expected["architecture"]
    names, losses = (
        [[one[key] for one in result["candidates"]] for result in (found, expected)]
        for key in ("architecture", "score")
    )
    assert names[0] == names[1]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-3)


def assert_same_teacher(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Its answers are those of the compiled engine, so they have the same bits."""
    assert found["teacher"]["models"] == expected["teacher"]["models"]
    shares = [
        [one["teacher_share"] for one in result["candidates"]] for result in (found, expected)
    ]
    assert shares[0] == shares[1]
    assert set(shares[0]) == {0.0, 0.4, 0.7}
    assert_same(found, expected)


def wait_for_step(folder: Path, step: str) -> None:
    """Wait until a checkpoint has a finished step."""
    end = time.monotonic() + TIMEOUT
    while True:
        assert time.monotonic() < end, f"the step {step!r} is in no checkpoint"
        with suppress(OSError):  # a file that another has replaced
            if step in read_finished_steps(folder):
                return
        time.sleep(0.01)


def read_finished_steps(folder: Path) -> list[str]:
    checkpoint = read_checkpoint(folder / "checkpoint")
    return [] if checkpoint is None else list(checkpoint[0]["done"])


def wait_for(path: Path, pattern: str) -> None:
    end = time.monotonic() + TIMEOUT
    while not list(path.glob(pattern)):
        assert time.monotonic() < end, f"there is no {pattern} in {path}"
        time.sleep(0.01)


def test_ranks_find_what_one_process_finds(
    company: Company, whole: dict[str, Any], place: Path
) -> None:
    """With one more than there are workers, which has nothing to do but to keep up."""
    folder = make_started_run(place / "in three", place / "t.parquet", SETTINGS, PLAN)
    assert company.run(*[["resume", folder.name, "--quiet"]] * 3) == [0, 0, 0]
    assert_same(result(folder), whole)
    for rank in range(3):
        assert company.said(rank) == company.said(rank, 1) == ""


def test_ranks_with_a_teacher_find_what_one_process_finds(
    company: Company, taught: dict[str, Any], place: Path
) -> None:
    folder = make_started_run(place / "taught in two", place / "t.parquet", TAUGHT, PLAN)
    assert company.run(*[["resume", folder.name, "--quiet"]] * 2) == [0, 0]
    assert_same_teacher(result(folder), taught)


@pytest.mark.parametrize("step", ["teacher network without fold 2", "teacher"])
def test_a_rank_that_dies_during_or_after_the_teacher(
    step: str, company: Company, taught: dict[str, Any], place: Path
) -> None:
    folder = make_started_run(place / step.replace(" ", "-"), place / "t.parquet", TAUGHT, PLAN)
    _, second = company.begin(*[["resume", folder.name, "--checkpoint-seconds", "1e-9"]] * 2)
    wait_for_step(folder, step)
    os.kill(second, signal.SIGKILL)
    assert company.ended() == [LOST, -signal.SIGKILL]
    assert f"continue with: torchrun ... -m tabnas resume {folder.name}" in company.said(0)
    assert ("teacher" in read_finished_steps(folder)) == (step == "teacher")
    assert company.run(*[["resume", folder.name, "--quiet"]] * 2) == [0, 0]
    assert_same_teacher(result(folder), taught)


def test_the_compiled_engine_finds_the_same(whole: dict[str, Any], place: Path) -> None:
    settings = RunSettings.from_dict(SETTINGS.to_dict() | {"engine": "compiled"})
    folder = make_started_run(place / "compiled", place / "t.parquet", settings, PLAN)
    assert run(["resume", str(folder), "--quiet"]) == 0
    assert_same(result(folder), whole)


def test_only_the_first_rank_prints_and_workers_default_to_the_ranks(
    company: Company, place: Path
) -> None:
    asked = ["search", "t.parquet", "--target", "kind", "--max-parameters", "300"]
    asked += ["--engine", "torch", "--time", "0.2", "--candidates", "1", "--out", "brief"]
    assert company.run(asked, asked) == [0, 0]
    assert "on 60 test rows" in company.said(0, 1)
    assert company.said(0).startswith("tabnas: search\n")
    assert company.said(1) == company.said(1, 1) == ""
    config = (place / "brief" / "config.toml").read_text()
    assert "workers = 2" in config
    assert 'engine = "torch"' in config
    assert not (place / "brief" / "checkpoint").exists()


def test_a_dead_rank_ends_the_job_which_any_number_of_ranks_resumes(
    company: Company, whole: dict[str, Any], place: Path
) -> None:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    asked = ["-m", "tabnas", "resume", "killed", "--quiet", "--checkpoint-seconds", "1e-9"]
    ours: list[str] = []
    for _ in range(3):  # torchrun may end the other rank before that one notices
        shutil.rmtree(place / "killed", ignore_errors=True)
        folder = make_started_run(place / "killed", place / "t.parquet", SETTINGS, PLAN)
        with started([*launcher, *asked], cwd=place, stderr=subprocess.PIPE, text=True) as torchrun:
            wait_for(folder / "checkpoint", "*.checkpoint")
            *_, last = workers_of(torchrun.pid)
            os.kill(last, signal.SIGKILL)
            _, printed = torchrun.communicate(timeout=TIMEOUT)
        assert torchrun.returncode != 0
        ours = [line for line in printed.splitlines() if line.startswith("tabnas:")]
        if ours:
            break
    assert len(ours) == 1
    assert ours[0].endswith("; continue with: torchrun ... -m tabnas resume killed")
    assert "tabnas/" not in printed  # no line of ours in a traceback
    assert list(folder.glob("checkpoint/*.checkpoint"))
    shutil.copytree(folder, place / "killed, then two")
    assert run(["resume", str(folder), "--quiet"]) == 0
    assert company.run(*[["resume", "killed, then two", "--quiet"]] * 2) == [0, 0]
    for name in ("killed", "killed, then two"):
        assert_same(result(place / name), whole)
        assert not (place / name / "checkpoint").exists()


def workers_of(launcher: int) -> list[int]:
    """The processes that a launcher has started, in their order."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(fields[1]) == launcher:
            found.append(int(stat.parent.name))
    return sorted(found)


def test_if_the_first_rank_dies_another_prints_how_to_continue(
    company: Company, place: Path
) -> None:
    folder = make_started_run(place / "orphaned", place / "t.parquet", SETTINGS, PLAN)
    first, *_ = company.begin(*[["resume", "orphaned", "--checkpoint-seconds", "1e-9"]] * 3)
    wait_for(folder / "checkpoint", "*.checkpoint")
    os.kill(first, signal.SIGKILL)
    assert company.ended() == [-signal.SIGKILL, LOST, LOST]
    said = company.said(1) + company.said(2)
    assert "continue with: torchrun ... -m tabnas resume orphaned" in said
    assert "Traceback" not in said


def test_ranks_stop_when_torchrun_is_killed(
    company: Company, whole: dict[str, Any], place: Path
) -> None:
    folder = make_started_run(place / "left", place / "t.parquet", SETTINGS, PLAN)
    often = ["resume", "left", "--checkpoint-seconds", "1e-9"]
    ranks = company.begin(often, often, TORCHELASTIC_RUN_ID="as of torchrun")
    wait_for(folder / "checkpoint", "*.checkpoint")
    os.kill(company.launcher, signal.SIGKILL)
    wait_until_gone(*ranks)
    go_on = "tabnas: stopped; continue with: torchrun ... -m tabnas resume left\n"
    assert company.said(0).endswith(go_on)
    assert run(["resume", str(folder), "--quiet"]) == 0
    assert_same(result(folder), whole)


def test_all_ranks_stop_if_one_is_stopped(
    company: Company, whole: dict[str, Any], place: Path
) -> None:
    folder = make_started_run(place / "stopped", place / "t.parquet", SETTINGS, PLAN)
    often = ["resume", "stopped", "--checkpoint-seconds", "1e-9"]
    _, second = company.begin(often, often)
    wait_for(folder / "checkpoint", "*.checkpoint")
    os.kill(second, signal.SIGTERM)
    assert company.ended() == [143, 143]
    assert company.said(0).endswith(
        "tabnas: stopped; continue with: torchrun ... -m tabnas resume stopped\n"
    )
    assert company.said(1) == ""
    assert run(["resume", str(folder), "--quiet"]) == 0
    assert_same(result(folder), whole)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (["other.parquet"], "but on rank 1 the table is "),
        (["t.parquet", "--seed", "1"], "but on rank 1 the setting seed is 1, and 0 on rank 0"),
        (["none.parquet"], "rank 1: "),
    ],
)
def test_differences_between_ranks_are_printed_once(
    other: list[str], said: str, company: Company, place: Path
) -> None:
    write_table(place / "other.parquet", 301)
    asked = ["--target", "kind", "--max-parameters", "300", "--engine", "torch", "--out", "refused"]
    codes = company.run(["search", "t.parquet", *asked], ["search", *other, *asked])
    assert codes in ([USAGE_ERROR, USAGE_ERROR], [LOST, USAGE_ERROR])
    both = company.said(0) + company.said(1)
    assert both.count("tabnas: ") == 1 + both.count("tabnas: search")
    assert said in both
    assert "Traceback" not in both
    assert not (place / "refused").exists()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["search", "t.csv", "--max-parameters", "300"], "add --engine torch"),
        (["tradeoff", "t.csv", "--limits", "300,400"], "start it without torchrun"),
        (
            ["search", "t.csv", "--max-parameters", "9", "--engine", "jax"],
            "engine must be 'compiled' or 'torch'",
        ),
    ],
)
@pytest.mark.parametrize("rank", [0, 1])
def test_commands_that_need_one_process_refuse_torchrun(
    rank: int,
    command: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("RANK", str(rank))
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert run(command) == USAGE_ERROR
    heard = capfd.readouterr().err
    assert heard == "" if rank else said in heard


def test_a_run_of_the_compiled_engine_is_resumed_in_one_process(
    company: Company, place: Path
) -> None:
    settings = RunSettings.from_dict(SETTINGS.to_dict() | {"engine": "compiled"})
    make_started_run(place / "alone", place / "t.parquet", settings, PLAN)
    assert company.run(*[["resume", "alone", "--quiet"]] * 2) == [USAGE_ERROR, USAGE_ERROR]
    assert "resume it in one process" in company.said(0)
    assert company.said(1) == ""
