"""Jobs by every crew, against a real Ray and a real Dask cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path

import pytest

from tabnas import TabnasError
from tabnas.jobs import Crew, _errand, made, refuse_unreachable
from tests.jobs import work
from tests.jobs.conftest import ROOT, every_crew, free_port
from tests.processes import LONGEST, started, wait_until

JOBS = list(range(8))


def test_alone_jobs_are_made_in_order_and_in_this_process() -> None:
    assert list(made(lambda job: (job, os.getpid()), JOBS)) == [(k, (k, os.getpid())) for k in JOBS]


@every_crew
def test_only_the_job_of_a_worker_that_dies_is_made_again(crew: Crew, tmp_path: Path) -> None:
    log = tmp_path / "log"
    coming = made(partial(work.laborious, log), JOBS, crew)
    results = dict(islice(coming, 3))
    os.kill(work.worker_at(log, work.VICTIM), signal.SIGKILL)
    results |= dict(coming)
    assert results == {job: job**2 for job in JOBS}
    begun = Counter(job for job, _ in work.notes(log))
    assert begun == {job: 2 if job == work.VICTIM else 1 for job in JOBS}
    assert os.getpid() not in {process for _, process in work.notes(log)}


@every_crew
def test_a_job_that_every_worker_dies_of_is_named(crew: Crew, tmp_path: Path) -> None:
    with pytest.raises(TabnasError, match=r"the job 1 was given up: 2 workers, one after the"):
        list(made(partial(work.deadly, tmp_path / "log"), [1], crew))
    assert [job for job, _ in work.notes(tmp_path / "log")] == [1, 1]


@every_crew
def test_an_error_of_the_job_itself_is_raised_as_it_is(crew: Crew) -> None:
    with pytest.raises(TabnasError) as raised:
        list(made(work.refusing, [7], crew))
    assert str(raised.value) == "no 7 here"
    assert "in refusing" in raised.value.__notes__[0]  # where it came from, for who looks


def test_an_error_that_cannot_be_sent_is_told_by_another() -> None:
    with pytest.raises(RuntimeError, match="PeculiarError: 7 and 7"):
        list(made(work.peculiar, [7], Crew(processes=2)))


@every_crew
def test_workers_have_a_thread_each_and_give_arrays_that_can_be_written(crew: Crew) -> None:
    found = dict(made(work.various, ["threads", "array"], crew))
    assert found["threads"]
    assert set(found["threads"]) == {1}
    found["array"] += 1
    assert found["array"][0, 0] == 401


def test_workers_of_another_version_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_errand, "version", lambda package: "99.1")
    with pytest.raises(TabnasError, match=r"must have tabnas 99\.1.*; install the same version"):
        list(made(work.refusing, [7], Crew(processes=2)))


@every_crew
def test_what_a_tick_raises_ends_it(crew: Crew, tmp_path: Path) -> None:
    log = tmp_path / "log"

    def tick() -> None:
        if work.notes(log):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(made(partial(work.endless, log), [5], crew, tick=tick))
    log.unlink()  # a worker of Dask cannot be made to leave its job


# -- no cluster ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["ray", "dask"])
def test_without_a_cluster_it_is_said_how_to_start_one(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = pytest.importorskip(
        f"tabnas.jobs._{backend}", reason="is not installed", exc_type=TabnasError
    )
    monkeypatch.setattr(kind, "TO_CONNECT", 0.5)
    nobody = f"127.0.0.1:{free_port()}"
    address = nobody if backend == "ray" else f"tcp://{nobody}"
    with pytest.raises(TabnasError, match=rf"{address}, however none answers.*start one with"):
        refuse_unreachable(Crew(backend=backend, address=address))


# -- the end of the process that has workers -------------------------------------------------------

ENDLESS = """
import sys
from functools import partial
from pathlib import Path
from tabnas.jobs import Crew, made
from tests.jobs import work

list(made(partial(work.unstoppable, Path(sys.argv[1])), [1, 2], Crew(processes=2)))
"""


@pytest.fixture
def parent(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process with two workers that would work for ever, once both are at it."""
    log = tmp_path / "log"
    command = [sys.executable, "-c", ENDLESS, log]
    pipe = subprocess.PIPE
    with started(command, cwd=ROOT, start_new_session=True, stderr=pipe) as process:
        try:
            wait_until(lambda: len(work.notes(log)) == 2, process)
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.slow
def test_ctrl_c_ends_the_workers_too(parent: subprocess.Popen[bytes]) -> None:
    os.killpg(parent.pid, signal.SIGINT)  # as a terminal does
    # the pipe is inherited: it ends when the last process is gone that has it
    _, said = parent.communicate(timeout=LONGEST)
    assert said.decode().strip().endswith("KeyboardInterrupt")


def test_workers_end_when_their_parent_is_killed(parent: subprocess.Popen[bytes]) -> None:
    parent.kill()
    parent.communicate(timeout=30)
