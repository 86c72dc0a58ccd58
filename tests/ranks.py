"""Run functions in several processes that are connected like those of torchrun."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

# every process is forked from one that has imported PyTorch, which takes seconds
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["torch", "tabnas.nets.torch", "tabnas.runs"])
TIMEOUT = 300  # seconds; usually it takes one or two


@dataclass(frozen=True)
class Raised:
    """An error of another process: its type and its message."""

    kind: str
    message: str


def run_in_ranks(size: int, folder: Path, work: Callable[..., Any], *args: Any) -> list[Any]:
    """Return what `work(rank, *args)` returns or raises in each process of a group."""
    meeting_point = folder / f"{work.__name__}-{size}-{os.urandom(4).hex()}"
    pipes = [CONTEXT.Pipe(duplex=False) for _ in range(size)]
    processes = [
        CONTEXT.Process(target=_start, args=(rank, size, meeting_point, sender, work, args))
        for rank, (_, sender) in enumerate(pipes)
    ]
    for process in processes:
        process.start()
    for _, sender in pipes:
        sender.close()  # so that the end of a process is the end of its pipe
    results = []
    for receiver, _ in pipes:
        with receiver:
            try:
                assert receiver.poll(TIMEOUT), "a process hangs"
                results.append(receiver.recv())
            except EOFError:
                results.append(Raised("Ended", ""))
    for process in processes:
        process.join(TIMEOUT)
        assert process.exitcode is not None, "a process hangs"
    return results


def _start(
    rank: int,
    size: int,
    meeting_point: Path,
    sender: Connection,
    work: Callable[..., Any],
    args: tuple[Any, ...],
) -> None:
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    address = f"file://{meeting_point}"
    dist.init_process_group("gloo", init_method=address, rank=rank, world_size=size)
    dist.barrier()  # a rank that ends at once would make the others fail to connect
    try:
        sender.send(work(rank, *args))
    except Exception as error:
        sender.send(Raised(type(error).__name__, str(error)))
    finally:
        dist.destroy_process_group()
