"""What the processes of a job tell one another: sums and collections, in lock-step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from zlib import crc32

import torch
import torch.distributed as dist
from torch import Tensor

from tabnas.errors import TabnasError
from tabnas.nets._errors import DriftedRanksError, LostRankError

HEADER = 2  # numbers of a meeting: what is about to be done, and how long the message is


class Meeting:
    """Processes that have said what they are about to do, and go on with it meanwhile."""

    def __init__(self, said: list[Tensor], work: dist.Work) -> None:
        self._said = said
        self._work = work

    def agreed(self) -> list[int]:
        """Wait until all have said it, and that they said the same; the length of each message."""
        with losing_nobody():
            self._work.wait()
        headers = [said.tolist() for said in self._said]
        if len({asked for asked, _ in headers}) > 1:
            raise DriftedRanksError
        return [length for _, length in headers]


class Group:
    """The default group of `torch.distributed`: `size` processes that all ask for the same.

    Every exchange begins with a meeting, which has the same size whatever is about to be done. So
    processes that have drifted apart find out: without it they would mix numbers of different
    steps, or be ended by the library below without a word.
    """

    def __init__(self) -> None:
        if not dist.is_available() or not dist.is_initialized():
            raise TabnasError(
                "engine='torch.distributed' must have a group of processes, however there is none; "
                "call torch.distributed.init_process_group, or take engine='torch'"
            )
        self.rank = dist.get_rank()
        self.size = dist.get_world_size()

    def share(self, count: int) -> range:
        """Which of so many pieces of work are this process's own."""
        return range(self.rank, count, self.size)

    def meet(self, asked: bytes, length: int = 0) -> Meeting:
        """Say what is about to be done; others may be heard later."""
        own = torch.tensor([crc32(asked), length], dtype=torch.int64)
        said = [torch.zeros(HEADER, dtype=torch.int64) for _ in range(self.size)]
        with losing_nobody():
            work = dist.all_gather(said, own, async_op=True)
        assert work is not None
        return Meeting(said, work)

    def add(self, numbers: Tensor) -> None:
        """Replace the numbers by their sums over all processes."""
        with losing_nobody():
            dist.all_reduce(numbers)

    def collect(self, own: Tensor) -> list[Tensor]:
        """The numbers of every process, by rank; all have the same shape."""
        everyones = [torch.empty_like(own) for _ in range(self.size)]
        with losing_nobody():
            dist.all_gather(everyones, own)
        return everyones

    def broadcast(self, message: bytes) -> bytes:
        """The message of the first process; what the others give is not looked at."""
        length = self.meet(b"broadcast", len(message)).agreed()[0]
        carried = _tensor(message if self.rank == 0 else bytes(length))
        with losing_nobody():
            dist.broadcast(carried, src=0)
        return carried.numpy().tobytes()

    def collect_messages(self, message: bytes) -> list[bytes]:
        """The messages of all processes, by rank."""
        lengths = self.meet(b"messages", len(message)).agreed()
        carried = _tensor(message.ljust(max(lengths)))
        return [
            one.numpy().tobytes()[:length]
            for one, length in zip(self.collect(carried), lengths, strict=True)
        ]


@contextmanager
def losing_nobody() -> Iterator[None]:
    """Around what waits for others: that one of them is gone becomes our error."""
    try:
        yield
    except RuntimeError:
        raise LostRankError from None


def _tensor(message: bytes) -> Tensor:
    return torch.frombuffer(bytearray(message), dtype=torch.uint8)
