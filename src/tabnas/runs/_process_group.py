"""The processes that execute one run together (`torch.distributed`)."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Protocol

from tabnas.errors import TabNASError
from tabnas.formatting import shorten
from tabnas.nets import MissingTorchError, RankError
from tabnas.processes import watch_parent
from tabnas.states import Arrays, pack, unpack
from tabnas.threads import count_cores

if TYPE_CHECKING:
    from tabnas.nets.torch import Group

ENGINE = "torch.distributed"
"""The engine that shares its work between processes."""
TIMEOUT = timedelta(minutes=10)
"""A process that does not answer within this time is lost; one that dies is noticed at once."""
REPORT_TIMEOUT = 3.0  # seconds that the others wait for the first to report an error
HEARD_TIMEOUT = 0.5  # seconds that it waits for them: the counters may end with it
POLL_SECONDS = 0.02
STOP_SECONDS = 30.0
"""Seconds that processes have to stop if torchrun is gone; torchrun gives them as much."""
REPORTED, HEARD = "tabnas/reported", "tabnas/heard"


class ProcessGroup:
    """The processes of a run, numbered from 0; this class is the case of a single process.

    All processes execute the same steps with the same seeds. The first reads and writes the folder,
    measures latencies and prints, and broadcasts what only it knows.
    """

    rank = 0
    size = 1

    @property
    def is_first(self) -> bool:
        """Whether this process writes files and prints."""
        return self.rank == 0

    def broadcast(self, value: Any, arrays: Mapping[str, Any] | None = None) -> tuple[Any, Arrays]:
        """Return the value (JSON) and arrays of the first process."""
        return value, dict(arrays or {})

    def all_gather(self, value: Any) -> list[Any]:
        """Return the values of all processes, by rank."""
        return [value]

    def all_reduce_max(self, number: int) -> int:
        """Return the largest number of all processes."""
        return number

    def elect_reporter(self) -> bool:
        """Return whether this process reports why the run ends; true for exactly one."""
        return True

    def check_same(self, identity: Mapping[str, Any]) -> None:
        """Raise an error that names the first difference between the runs of the processes."""
        identities = self.all_gather(identity)
        for rank, other in enumerate(identities):
            for name in sorted(set(identities[0]) | set(other)):
                if identities[0].get(name) != other.get(name):
                    raise TabNASError(
                        "all processes must execute the same run, but on rank "
                        f"{rank} {name} is {shorten(other.get(name))}, and "
                        f"{shorten(identities[0].get(name))} on rank 0"
                    )


SINGLE_PROCESS = ProcessGroup()
"""The default: a run in one process."""


class SharedCounters(Protocol):
    """Counters by name that all processes share; PyTorch calls it a store."""

    def check(self, keys: list[str]) -> bool: ...

    def add(self, key: str, amount: int) -> int: ...


class DistributedProcessGroup(ProcessGroup):
    """Several processes, connected by `torch.distributed`."""

    def __init__(self, group: Group, counters: SharedCounters) -> None:
        self.rank, self.size = group.rank, group.size
        self._group = group
        self._counters = counters

    def broadcast(self, value: Any, arrays: Mapping[str, Any] | None = None) -> tuple[Any, Arrays]:
        message = pack({"value": value}, arrays or {}) if self.is_first else b""
        received, received_arrays = unpack(self._group.broadcast(message))
        return received["value"], received_arrays

    def all_gather(self, value: Any) -> list[Any]:
        messages = self._group.all_gather_bytes(json.dumps(value).encode())
        return [json.loads(message) for message in messages]

    def all_reduce_max(self, number: int) -> int:
        return max(self._group.announce(b"largest", number).wait_all())

    def elect_reporter(self) -> bool:
        """Return true in the first process; if it is gone, in the next one that asks.

        The other processes wait for its report. From here on, signals are ignored.
        """
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):  # that the launcher sends now
                signal.signal(number, signal.SIG_IGN)
        try:
            if not self.is_first and _wait_until(
                lambda: self._counters.check([REPORTED]), REPORT_TIMEOUT
            ):
                self._counters.add(HEARD, 1)
                return False
            if self._counters.add(REPORTED, 1) > 1:
                return False
            _wait_until(lambda: self._counters.add(HEARD, 0) >= self.size - 1, HEARD_TIMEOUT)
        except RuntimeError:  # the other processes are gone
            pass
        return True


@contextmanager
def connect_process_group() -> Iterator[ProcessGroup]:
    """Connect the processes that a launcher like torchrun has started, until the block ends.

    The environment says how (`env://` in PyTorch). GPUs use NCCL, CPUs Gloo.
    """
    try:
        import torch
        import torch.distributed as dist
        from torch.distributed.rendezvous import rendezvous

        from tabnas.nets.torch import Group
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise MissingTorchError from None
    if dist.is_torchelastic_launched():  # other launchers may leave their processes on purpose
        watch_parent(os.getppid(), _stop)
    try:
        store, rank, size = next(rendezvous("env://", timeout=TIMEOUT))
        dist.init_process_group(
            backend="cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo",
            store=store,
            rank=rank,
            world_size=size,
            timeout=TIMEOUT,
        )
    except (RuntimeError, ValueError, OSError) as error:
        reason = shorten(" ".join(str(error).split()), 200)
        raise RankError(
            f"the processes of this run cannot be connected ({reason}); start them with torchrun"
        ) from None
    try:
        process_group = DistributedProcessGroup(Group(), store)
        # the same for all: with another number of threads, products may round differently
        torch.set_num_threads(min(process_group.all_gather(_threads(size))))
        yield process_group
    finally:
        dist.destroy_process_group()


def _stop() -> None:
    """End this process as torchrun would: with a checkpoint if there is time."""
    os.kill(os.getpid(), signal.SIGTERM)
    sleep(STOP_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)


def _threads(size: int) -> int:
    """Return the share of the cores for each process, or what the user has set."""
    threads = os.environ.get("OMP_NUM_THREADS", "")
    if threads.isdecimal() and int(threads) > 1:  # torchrun sets 1 by default
        return int(threads)
    local = os.environ.get("LOCAL_WORLD_SIZE", "")
    return max(1, count_cores() // (int(local) if local.isdecimal() and int(local) else size))


def _wait_until(condition: Callable[[], bool], timeout: float) -> bool:
    """Return whether a condition becomes true within `timeout` seconds."""
    end = monotonic() + timeout
    while not condition():
        if monotonic() > end:
            return False
        sleep(POLL_SECONDS)
    return True
