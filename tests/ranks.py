"""Work in several real processes that are connected as those of torchrun are."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

# every process begins as a copy of one that has read PyTorch, which takes seconds
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["torch", "tabnas.nets.torch", "tabnas.runs"])
LONGEST = 300  # seconds, for what takes one or two: a guard against hanging


@dataclass(frozen=True)
class Raised:
    """An error of another process, by its name and words."""

    kind: str
    said: str


def run_in_ranks(size: int, folder: Path, work: Callable[..., Any], *given: Any) -> list[Any]:
    """What `work(rank, *given)` returns in each process of a group, or the error it raises."""
    meeting_point = folder / f"{work.__name__}-{size}-{os.urandom(4).hex()}"
    pipes = [CONTEXT.Pipe(duplex=False) for _ in range(size)]
    processes = [
        CONTEXT.Process(target=_begin, args=(rank, size, meeting_point, sender, work, given))
        for rank, (_, sender) in enumerate(pipes)
    ]
    for process in processes:
        process.start()
    for _, sender in pipes:
        sender.close()  # so that the end of a process is the end of its pipe
    found = []
    for receiver, _ in pipes:
        with receiver:
            try:
                assert receiver.poll(LONGEST), "a process hangs"
                found.append(receiver.recv())
            except EOFError:
                found.append(Raised("Ended", ""))
    for process in processes:
        process.join(LONGEST)
        assert process.exitcode is not None, "a process hangs"
    return found


def _begin(
    rank: int,
    size: int,
    meeting_point: Path,
    sender: Connection,
    work: Callable[..., Any],
    given: tuple[Any, ...],
) -> None:
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    address = f"file://{meeting_point}"
    dist.init_process_group("gloo", init_method=address, rank=rank, world_size=size)
    try:
        sender.send(work(rank, *given))
    except Exception as error:
        sender.send(Raised(type(error).__name__, str(error)))
    finally:
        dist.destroy_process_group()
