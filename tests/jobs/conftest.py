from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tabnas.jobs import JobConfig
from tests.processes import import_path, start

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
START_TIMEOUT = 60.0  # seconds for a cluster to start


@pytest.fixture(autouse=True)
def importable_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let processes import the jobs of these tests."""
    monkeypatch.syspath_prepend(str(ROOT))


@pytest.fixture(scope="session")
def ray_address() -> Iterator[str]:
    """Start a Ray cluster of two workers."""
    ray = pytest.importorskip("ray", reason="Ray has no wheels for this Python")
    ports = [free_port() for _ in range(3)]
    # the paths of sockets in that folder must be short
    with TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
        command = [
            BIN / "ray", "start", "--head", "--block", "--num-cpus", "2", "--port", ports[0],
            "--ray-client-server-port", ports[1], "--dashboard-agent-listen-port", ports[2],
            "--min-worker-port", "0", "--max-worker-port", "0", "--object-store-memory", "80000000",
            "--include-dashboard=false", "--disable-usage-stats", "--temp-dir", folder,
        ]  # fmt: skip
        with running(command, Path(folder) / "log.txt"):
            wait_for(ports[0])
            yield f"127.0.0.1:{ports[0]}"
            ray.shutdown()  # a test that failed may have left a connection, and Ray would exit


@pytest.fixture(scope="session")
def dask_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a Dask cluster of two workers, which gives up a job after two of them died."""
    pytest.importorskip("distributed")
    folder, port = tmp_path_factory.mktemp("dask"), free_port()
    address = f"tcp://127.0.0.1:{port}"
    scheduler = ["scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard"]
    workers = ["worker", address, "--nworkers", "2", "--nthreads", "1", "--no-dashboard"]
    with ExitStack() as stack:
        stack.enter_context(running([BIN / "dask", *scheduler], folder / "scheduler.txt"))
        wait_for(port)
        stack.enter_context(running([BIN / "dask", *workers], folder / "workers.txt"))
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


@contextmanager
def running(command: list[object], log: Path) -> Iterator[None]:
    """Run a process until the end of the block, together with its children."""
    counts = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}
    environment = import_path(ROOT) | counts
    with log.open("w") as output:
        process = start(command, stdout=output, stderr=output, env=environment, cwd=log.parent)
        try:
            yield
        finally:
            process.terminate()
            process.wait()


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def wait_for(port: int) -> None:
    """Wait until a process listens to the port."""
    until = time.monotonic() + START_TIMEOUT
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
