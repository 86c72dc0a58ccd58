"""A command that runs in several processes, as started by torchrun."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tabnas.cli._errors import USAGE_ERROR, CommandExitError
from tabnas.errors import TabNASError
from tabnas.formatting import quote_path, shorten

if TYPE_CHECKING:
    from tabnas.runs import ProcessGroup

MAX_MESSAGE_LENGTH = 2_000


def get_rank_and_size() -> tuple[int, int]:
    """Return the rank of this process and the number of processes; 0 and 1 without torchrun."""
    values = [os.environ.get(name, "") for name in ("RANK", "WORLD_SIZE")]
    if not all(value.isdecimal() for value in values):
        return 0, 1
    rank, size = map(int, values)
    return (rank, size) if size > 1 else (0, 1)


def check_single_process(command: str, case: str = "") -> None:
    """Refuse torchrun for a command that would only do the same work several times."""
    if get_rank_and_size()[1] > 1:
        raise TabNASError(
            f"tabnas {command}{case} must run in one process, but torchrun has started several; "
            "start it without torchrun"
        )


@contextmanager
def join_process_group() -> Iterator[ProcessGroup]:
    """Yield the processes of this command; an error in one of them is printed once."""
    from tabnas.runs import SINGLE_PROCESS, connect_process_group

    if get_rank_and_size()[1] == 1:
        yield SINGLE_PROCESS
        return
    with connect_process_group() as process_group:
        try:
            yield process_group
        except TabNASError as error:
            if process_group.elect_reporter():
                rank = "" if process_group.is_first else f"rank {process_group.rank}: "
                message = " ".join(f"{rank}{error}".splitlines())
                print(f"tabnas: {shorten(message, MAX_MESSAGE_LENGTH)}", file=sys.stderr)
            raise CommandExitError(USAGE_ERROR) from None


def resume_command(folder: str, process_group: ProcessGroup) -> str:
    """Return the command that resumes a run."""
    prefix = "tabnas" if process_group.size == 1 else "torchrun ... -m tabnas"
    return f"{prefix} resume {quote_path(folder)}"


def recovery_advice(folder: str, process_group: ProcessGroup) -> str:
    """Return what to do after a process was lost."""
    if process_group.is_first and not (Path(folder) / "checkpoint").is_dir():
        return "start again: there was no checkpoint yet"
    return f"continue with: {resume_command(folder, process_group)}"
