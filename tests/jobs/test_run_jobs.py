"""Jobs by every backend, against a real Ray and a real Dask cluster."""

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

from tabnas import TabNASError
from tabnas.jobs import JobConfig, _executor, check_cluster, run_jobs
from tests.jobs import work
from tests.jobs.conftest import ROOT, every_backend, free_ports
from tests.processes import TIMEOUT, started, wait_until

JOBS = list(range(8))


def test_a_single_process_runs_jobs_in_order_and_in_this_process() -> None:
    assert list(run_jobs(lambda job: (job, os.getpid()), JOBS)) == [
        (k, (k, os.getpid())) for k in JOBS
    ]


@every_backend
def test_only_the_job_of_a_process_that_dies_is_run_again(
    job_config: JobConfig, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    pairs = run_jobs(partial(work.square_slowly, log), JOBS, job_config)
    results = dict(islice(pairs, 3))
    os.kill(work.wait_for_process(log, work.VICTIM), signal.SIGKILL)
    results |= dict(pairs)
    assert results == {job: job**2 for job in JOBS}
    n_started = Counter(job for job, _ in work.notes(log))
    assert n_started == {job: 2 if job == work.VICTIM else 1 for job in JOBS}
    assert os.getpid() not in {process for _, process in work.notes(log)}


@every_backend
def test_a_job_that_kills_every_process_is_named(job_config: JobConfig, tmp_path: Path) -> None:
    with pytest.raises(TabNASError, match=r"gave up on the job 1: 2 processes, one after the"):
        list(run_jobs(partial(work.kill_process, tmp_path / "log"), [1], job_config))
    assert [job for job, _ in work.notes(tmp_path / "log")] == [1, 1]


@every_backend
def test_an_error_of_a_job_is_raised_unchanged(job_config: JobConfig) -> None:
    with pytest.raises(TabNASError) as raised:
        list(run_jobs(work.refuse, [7], job_config))
    assert str(raised.value) == "no 7 here"
    assert "in refuse" in raised.value.__notes__[0]  # the original traceback


def test_an_error_that_cannot_be_pickled_is_replaced() -> None:
    with pytest.raises(RuntimeError, match="UnpicklableError: 7 and 7"):
        list(run_jobs(work.raise_unpicklable, [7], JobConfig(processes=2)))


@every_backend
def test_processes_have_one_thread_and_return_writable_arrays(
    job_config: JobConfig,
) -> None:
    results = dict(run_jobs(work.describe, ["threads", "array"], job_config))
    assert results["threads"]
    assert set(results["threads"]) == {1}
    results["array"] += 1
    assert results["array"][0, 0] == 401


def test_processes_of_another_version_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_executor, "version", lambda package: "99.1")
    with pytest.raises(
        TabNASError,
        match=r"must have the tabnas version .* 99\.1, got .*; install the same version",
    ):
        list(run_jobs(work.refuse, [7], JobConfig(processes=2)))


@every_backend
def test_an_error_of_on_poll_stops_the_jobs(job_config: JobConfig, tmp_path: Path) -> None:
    log = tmp_path / "log"

    def on_poll() -> None:
        if work.notes(log):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(run_jobs(partial(work.run_until_removed, log), [5], job_config, on_poll=on_poll))
    log.unlink()  # a worker of Dask cannot be interrupted


# -- no cluster ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["ray", "dask"])
def test_the_error_without_a_cluster_says_how_to_start_one(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = pytest.importorskip(
        f"tabnas.jobs._{backend}", reason="is not installed", exc_type=TabNASError
    )
    monkeypatch.setattr(kind, "CONNECT_TIMEOUT", 0.5)
    unused = f"127.0.0.1:{free_ports(1)[0]}"
    address = unused if backend == "ray" else f"tcp://{unused}"
    with pytest.raises(TabNASError, match=rf"answers at {address} .*start one with"):
        check_cluster(JobConfig(backend=backend, address=address))


# -- the end of the parent process -----------------------------------------------------------------

ENDLESS = """
import sys
from functools import partial
from pathlib import Path
from tabnas.jobs import JobConfig, run_jobs
from tests.jobs import work

list(run_jobs(partial(work.run_forever, Path(sys.argv[1])), [1, 2], JobConfig(processes=2)))
"""


@pytest.fixture
def parent(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process with two others that run jobs forever, and wait until both have started."""
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
def test_ctrl_c_ends_the_processes(parent: subprocess.Popen[bytes]) -> None:
    os.killpg(parent.pid, signal.SIGINT)  # as a terminal does
    # the pipe is inherited and ends with the last process that has it
    _, stderr = parent.communicate(timeout=TIMEOUT)
    assert stderr.decode().strip().endswith("KeyboardInterrupt")


def test_processes_end_when_their_parent_is_killed(parent: subprocess.Popen[bytes]) -> None:
    parent.kill()
    # as above: it would time out if a process were left that holds the pipe
    parent.communicate(timeout=30)
    assert parent.returncode == -signal.SIGKILL
