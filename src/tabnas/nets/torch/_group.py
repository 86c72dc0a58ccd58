"""Collective operations of the processes of a run, which all run in lockstep."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from zlib import crc32

import torch
import torch.distributed as dist
from torch import Tensor

from tabnas.errors import TabNASError
from tabnas.nets._errors import LostRankError, RanksOutOfSyncError

HEADER = 2  # numbers of an announcement: a checksum of the operation, and a message length


class Announcement:
    """An exchange in progress: every process announces which operation it is about to do."""

    def __init__(self, headers: list[Tensor], work: dist.Work) -> None:
        self._headers = headers
        self._work = work

    def wait_all(self) -> list[int]:
        """Wait for all processes and return the message length of each.

        Raise an error unless all have announced the same operation.
        """
        with translate_dist_errors():
            self._work.wait()
        headers = [header.tolist() for header in self._headers]
        if len({operation for operation, _ in headers}) > 1:
            raise RanksOutOfSyncError
        return [length for _, length in headers]


class Group:
    """The default group of `torch.distributed`: `size` processes that all make the same calls.

    Every exchange begins with an announcement, which has the same size for all operations. So
    processes that are out of sync notice it. Without it they would mix numbers of different steps,
    or the communication library would end them without an error.
    """

    def __init__(self) -> None:
        if not dist.is_available() or not dist.is_initialized():
            raise TabNASError(
                "engine='torch.distributed' requires a process group, and there is none; "
                "call torch.distributed.init_process_group, or use engine='torch'"
            )
        self.rank = dist.get_rank()
        self.size = dist.get_world_size()

    def local_indices(self, count: int) -> range:
        """Return which of `count` chunks of work this process does."""
        return range(self.rank, count, self.size)

    def announce(self, operation: bytes, length: int = 0) -> Announcement:
        """Announce an operation without waiting for the other processes."""
        header = torch.tensor([crc32(operation), length], dtype=torch.int64)
        headers = [torch.zeros(HEADER, dtype=torch.int64) for _ in range(self.size)]
        with translate_dist_errors():
            work = dist.all_gather(headers, header, async_op=True)
        assert work is not None
        return Announcement(headers, work)

    def all_reduce_sum(self, numbers: Tensor) -> None:
        """Replace the numbers by their sums over all processes, in place."""
        with translate_dist_errors():
            dist.all_reduce(numbers)

    def all_gather(self, numbers: Tensor) -> list[Tensor]:
        """Return the numbers of every process, by rank; all have the same shape."""
        gathered = [torch.empty_like(numbers) for _ in range(self.size)]
        with translate_dist_errors():
            dist.all_gather(gathered, numbers)
        return gathered

    def broadcast(self, message: bytes) -> bytes:
        """Return the message of the first process; those of the others are ignored."""
        length = self.announce(b"broadcast", len(message)).wait_all()[0]
        tensor = _to_tensor(message if self.rank == 0 else bytes(length))
        with translate_dist_errors():
            dist.broadcast(tensor, src=0)
        return tensor.numpy().tobytes()

    def all_gather_bytes(self, message: bytes) -> list[bytes]:
        """Return the messages of all processes, by rank."""
        lengths = self.announce(b"messages", len(message)).wait_all()
        tensor = _to_tensor(message.ljust(max(lengths)))
        return [
            one.numpy().tobytes()[:length]
            for one, length in zip(self.all_gather(tensor), lengths, strict=True)
        ]


@contextmanager
def translate_dist_errors() -> Iterator[None]:
    """Raise a `LostRankError` if a collective operation fails because a process is gone."""
    try:
        yield
    except RuntimeError:
        raise LostRankError from None


def _to_tensor(message: bytes) -> Tensor:
    return torch.frombuffer(bytearray(message), dtype=torch.uint8)
