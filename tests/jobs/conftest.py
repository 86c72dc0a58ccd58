from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tabnas.jobs import JobConfig
from tests.processes import import_path, start

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
START_TIMEOUT = 300.0  # seconds for a cluster to start; on a busy machine, a minute is not enough
START_ATTEMPTS = 4  # another process may take a port before the cluster does


@pytest.fixture(autouse=True)
def importable_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let processes import the jobs of these tests."""
    monkeypatch.syspath_prepend(str(ROOT))


@pytest.fixture(scope="session")
def ray_address() -> Iterator[str]:
    """Start a Ray cluster of two workers."""
    ray = pytest.importorskip("ray", reason="Ray has no wheels for this Python")
    with started_server(start_ray) as port:
        yield f"127.0.0.1:{port}"
        ray.shutdown()  # a test that failed may have left a connection, and Ray would exit


@contextmanager
def start_ray() -> Iterator[int]:
    ports = free_ports(3)
    # the paths of sockets in that folder must be short
    with TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
        command = [
            BIN / "ray", "start", "--head", "--block", "--num-cpus", "2", "--port", ports[0],
            "--ray-client-server-port", ports[1], "--dashboard-agent-listen-port", ports[2],
            "--min-worker-port", "0", "--max-worker-port", "0", "--object-store-memory", "80000000",
            "--include-dashboard=false", "--disable-usage-stats", "--temp-dir", folder,
        ]  # fmt: skip
        with running(command, Path(folder) / "log.txt", ports[0]):
            yield ports[0]


@pytest.fixture
def dask_address(tmp_path: Path) -> Iterator[str]:
    """Start a Dask cluster of two workers, which gives up a job after two of them died.

    Every test has its own: some kill workers, and others would have to wait for new ones.
    """
    distributed = pytest.importorskip("distributed")

    @contextmanager
    def start_scheduler() -> Iterator[int]:
        (port,) = free_ports(1)
        address = ["--host", "127.0.0.1", "--port", port]
        command = [BIN / "dask", "scheduler", *address, "--no-dashboard"]
        with running(command, tmp_path / "scheduler.txt", port):
            yield port

    with started_server(start_scheduler) as port:
        address = f"tcp://127.0.0.1:{port}"
        workers = [
            BIN / "dask", "worker", address, "--nworkers", "2", "--nthreads", "1", "--no-dashboard",
            "--local-directory", tmp_path,
        ]  # fmt: skip
        with running(workers, tmp_path / "workers.txt"):
            with distributed.Client(address, set_as_default=False) as client:
                client.wait_for_workers(2, timeout=START_TIMEOUT)
            yield address


@pytest.fixture
def job_config(request: pytest.FixtureRequest) -> JobConfig:
    """Run the test with two processes of every backend."""
    if request.param == "local":
        return JobConfig(processes=2, max_attempts=2)
    address = request.getfixturevalue(f"{request.param}_address")
    return JobConfig(backend=request.param, address=address, max_attempts=2)


every_backend = pytest.mark.parametrize(
    "job_config",
    ["local", *(pytest.param(name, marks=pytest.mark.slow) for name in ("ray", "dask"))],
    indirect=True,
)


class NotStartedError(Exception):
    """A server ended before it listened to its port."""


@contextmanager
def started_server(start_server: Callable[[], AbstractContextManager[int]]) -> Iterator[int]:
    """Start a server and return its port; if it ends at once, start it again with other ports."""
    with ExitStack() as stack:
        for attempt in range(START_ATTEMPTS):
            try:
                port = stack.enter_context(start_server())
                break
            except NotStartedError:
                if attempt + 1 == START_ATTEMPTS:
                    raise
        yield port


@contextmanager
def running(command: list[object], log: Path, port: int | None = None) -> Iterator[None]:
    """Run a process until the end of the block, which begins when it listens to the port."""
    counts = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}
    environment = import_path(ROOT) | counts
    with log.open("w") as output:
        process = start(command, stdout=output, stderr=output, env=environment, cwd=log.parent)
        try:
            if port is not None and not listens(process, port):
                raise NotStartedError(f"{command} ended or did not listen: {log.read_text()}")
            yield
        finally:
            process.terminate()
            process.wait()


def free_ports(count: int) -> list[int]:
    """Return different ports that nobody listens to."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for listening in sockets:
            listening.bind(("127.0.0.1", 0))
        return [listening.getsockname()[1] for listening in sockets]


def listens(process: subprocess.Popen[Any], port: int) -> bool:
    """Wait until a process listens to a port; return whether it does."""
    until = time.monotonic() + START_TIMEOUT
    while process.poll() is None and time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return True
        except OSError:
            time.sleep(0.1)
    return False
