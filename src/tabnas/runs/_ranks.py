"""The processes that make one run together, and what they must know alike."""

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
from tabnas.nets import MissingTorchError, RankError
from tabnas.processes import watch_parent
from tabnas.runs.checkpoints._file import Arrays, packed, unpacked

if TYPE_CHECKING:
    from tabnas.nets.torch import Group

ENGINE = "torch.distributed"
"""The engine whose work can be shared."""
SILENCE = timedelta(minutes=10)
"""One who has not been heard of for so long is lost. One who dies is noticed at once."""
PATIENCE = 3.0  # seconds that the others leave the first to speak
PAUSE = 0.5  # seconds that it stays for them: the store may be gone with it
LOOK = 0.02
STOP_SECONDS = 30.0
"""Processes that have lost torchrun have so long to stop; torchrun leaves them as much."""
SPOKEN, HEARD = "tabnas/spoken", "tabnas/heard"


class Ranks:
    """The processes of a run, counted from 0: alone, unless somebody has started several.

    All take the same way through a run with the same seeds. The first reads and writes the folder,
    measures what is measured, and speaks; whatever it knows by that, it tells the others.
    """

    rank = 0
    size = 1

    @property
    def first(self) -> bool:
        """Whether this is the process that writes and speaks."""
        return self.rank == 0

    def told(self, facts: Any, arrays: Mapping[str, Any] | None = None) -> tuple[Any, Arrays]:
        """What the first says, facts as JSON, to all of them."""
        return facts, dict(arrays or {})

    def everyones(self, facts: Any) -> list[Any]:
        """What each says, by rank."""
        return [facts]

    def largest(self, number: int) -> int:
        """The largest of everybody's numbers."""
        return number

    def speaks(self) -> bool:
        """Whether it is for this process to say why the run ends; true for one of them."""
        return True

    def refuse_differences(self, identity: Mapping[str, Any]) -> None:
        """All must make the same run; the first difference is named."""
        said = self.everyones(identity)
        for rank, other in enumerate(said):
            for name in sorted(set(said[0]) | set(other)):
                if said[0].get(name) != other.get(name):
                    raise TabNASError(
                        "all processes of a run must make the same one, but rank "
                        f"{rank} has another: {name} is {_short(other.get(name))} there, and "
                        f"{_short(said[0].get(name))} on rank 0"
                    )


ALONE = Ranks()
"""The one process of a run that has no others."""


class Store(Protocol):
    """A small memory that all processes share, and that outlives most of them."""

    def check(self, keys: list[str]) -> bool: ...

    def add(self, key: str, amount: int) -> int: ...


class JoinedRanks(Ranks):
    """Several processes, connected by `torch.distributed`."""

    def __init__(self, group: Group, store: Store) -> None:
        self.rank, self.size = group.rank, group.size
        self._group = group
        self._store = store

    def told(self, facts: Any, arrays: Mapping[str, Any] | None = None) -> tuple[Any, Arrays]:
        own = packed({"told": facts}, arrays or {}) if self.first else b""
        found, carried = unpacked(self._group.broadcast(own))
        return found["told"], carried

    def everyones(self, facts: Any) -> list[Any]:
        said = self._group.all_gather_bytes(json.dumps(facts).encode())
        return [json.loads(one) for one in said]

    def largest(self, number: int) -> int:
        return max(self._group.announce(b"largest", number).wait_all())

    def speaks(self) -> bool:
        """The first does, unless it is gone: then whoever asks next, after a while."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):  # which whoever started us sends now
                signal.signal(number, signal.SIG_IGN)
        try:
            if not self.first and _comes_true(lambda: self._store.check([SPOKEN]), PATIENCE):
                self._store.add(HEARD, 1)
                return False
            if self._store.add(SPOKEN, 1) > 1:
                return False
            _comes_true(lambda: self._store.add(HEARD, 0) >= self.size - 1, PAUSE)
        except RuntimeError:  # nobody is left to ask
            pass
        return True


@contextmanager
def joined() -> Iterator[Ranks]:
    """The processes that a launcher like torchrun has started, connected until the block ends.

    Whom to connect to is in the environment, where a launcher puts it (`env://` in PyTorch's
    words). GPUs talk by NCCL, all else by Gloo.
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
    if dist.is_torchelastic_launched():  # others may start processes and leave them on purpose
        watch_parent(os.getppid(), _stop)
    try:
        store, rank, size = next(rendezvous("env://", timeout=SILENCE))
        dist.init_process_group(
            backend="cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo",
            store=store,
            rank=rank,
            world_size=size,
            timeout=SILENCE,
        )
    except (RuntimeError, ValueError, OSError) as error:
        raise RankError(
            f"the processes of this run cannot be connected ({_short(error, 200)}); start them "
            "with torchrun"
        ) from None
    try:
        ranks = JoinedRanks(Group(), store)
        # the same number for all: products of other numbers of threads may round differently
        torch.set_num_threads(min(ranks.everyones(_threads(size))))
        yield ranks
    finally:
        dist.destroy_process_group()


def _stop() -> None:
    """End this process as torchrun would, which is gone: with a checkpoint if there is time."""
    os.kill(os.getpid(), signal.SIGTERM)
    sleep(STOP_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)


def _threads(size: int) -> int:
    """A process's share of its machine's cores, or what the user says."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    if said.isdecimal() and int(said) > 1:  # 1 is what torchrun says if the user says nothing
        return int(said)
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    here = os.environ.get("LOCAL_WORLD_SIZE", "")
    return max(1, cores // (int(here) if here.isdecimal() and int(here) else size))


def _comes_true(what: Callable[[], bool], seconds: float) -> bool:
    """Whether something is so within some time."""
    end = monotonic() + seconds
    while not what():
        if monotonic() > end:
            return False
        sleep(LOOK)
    return True


def _short(value: Any, longest: int = 60) -> str:
    said = " ".join(str(value).split())
    return said if len(said) <= longest else said[: longest - 3] + "..."
