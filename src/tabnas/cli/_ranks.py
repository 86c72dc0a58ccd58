"""One command in several processes, as torchrun starts them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tabnas.cli._ending import MISTAKE, EndedError
from tabnas.cli._text import plain
from tabnas.errors import TabNASError

if TYPE_CHECKING:
    from tabnas.runs import Ranks

LONGEST = 2_000


def launched() -> tuple[int, int]:
    """The number of this process, from 0, and how many there are."""
    said = [os.environ.get(name, "") for name in ("RANK", "WORLD_SIZE")]
    if not all(one.isdecimal() for one in said):
        return 0, 1
    rank, size = map(int, said)
    return (rank, size) if size > 1 else (0, 1)


def refuse_ranks(command: str) -> None:
    """For commands that several processes would only do several times."""
    if launched()[1] > 1:
        raise TabNASError(
            f"tabnas {command} must run in one process, but torchrun has started several; "
            "start it without torchrun"
        )


@contextmanager
def together() -> Iterator[Ranks]:
    """The processes of this command; what is wrong with one of them is said once, by one."""
    from tabnas.runs import SINGLE_PROCESS, connect_ranks

    if launched()[1] == 1:
        yield SINGLE_PROCESS
        return
    with connect_ranks() as ranks:
        try:
            yield ranks
        except TabNASError as error:
            if ranks.is_reporter():
                where = "" if ranks.is_first else f"rank {ranks.rank}: "
                line = plain(" ".join(f"{where}{error}".splitlines()), longest=LONGEST)
                print(f"tabnas: {line}", file=sys.stderr)
            raise EndedError(MISTAKE) from None


def again(folder: str, ranks: Ranks) -> str:
    """The command that goes on with a run."""
    begin = "tabnas" if ranks.size == 1 else "torchrun ... -m tabnas"
    return f"{begin} resume {plain(folder)}"


def what_to_do(folder: str, ranks: Ranks) -> str:
    """For whoever has lost a process."""
    if ranks.is_first and not (Path(folder) / "checkpoint").is_dir():
        return "begin again: there was no checkpoint yet"
    return f"go on with: {again(folder, ranks)}"
