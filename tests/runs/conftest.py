from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import tomli_w
from pyarrow import parquet

from tabnas.data import Table
from tabnas.runs import RunSettings
from tests.conftest import BRIEF, planned_with
from tests.processes import start


@pytest.fixture(scope="package", autouse=True)
def brief() -> Iterator[None]:
    """Every run of this room's own process, unless a test has the usual ones."""
    with planned_with(BRIEF):
        yield


def made_table(rows: int = 400, seed: int = 0) -> Table:
    """Numbers, a category, a day and a group, and both kinds of target."""
    rng = np.random.default_rng(seed)
    size, warmth = rng.normal(size=rows), rng.normal(size=rows)
    colour = rng.choice(["red", "green", "blue"], size=rows)
    hidden = size * warmth + (colour == "red") + rng.normal(scale=0.1, size=rows)
    day = np.datetime64("2024-01-01") + rng.integers(0, 300, size=rows).astype("timedelta64[D]")
    return Table.from_data(
        {
            "size": size,
            "warmth": np.where(rng.random(rows) < 0.1, np.nan, warmth),
            "colour": colour,
            "day": day,
            "house": rng.integers(0, 20, size=rows),
            "kind": np.where(hidden > 0.5, "high", "low"),
            "value": 100 + 7 * hidden,
        }
    )


def begun(folder: Path, table: Path, settings: RunSettings, plan: dict[str, int]) -> Path:
    """The folder of a run that was killed before it came to anything, its work planned."""
    folder.mkdir()
    data = {"data": str(table), "target": "kind"}
    config = {"data": data, "settings": settings.to_dict(), "plan": plan}
    (folder / "config.toml").write_text(tomli_w.dumps(config))
    return folder


def written_table(path: Path, rows: int) -> Path:
    """A file with a table to learn `kind` from."""
    parquet.write_table(made_table(rows).drop(["value"]).arrow, path)
    return path


NURSERY = """
import json, os, sys
import tabnas.runs, tabnas.nets.compiled
from tabnas.cli._main import run

for line in sys.stdin:
    process = os.fork()
    if not process:
        os._exit(run(json.loads(line)))
    print(process, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""


class Nursery:
    """Processes of the command line, one at a time, each forked from one that has read the code.

    They can be killed like any other, and do not take seconds to begin.
    """

    def __init__(self, folder: Path) -> None:
        self._mother = start(
            [sys.executable, "-c", NURSERY],
            cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._process = 0

    def begin(self, *arguments: str) -> None:
        """Let `tabnas` begin, in the folder."""
        assert self._mother.stdin
        print(json.dumps(arguments), file=self._mother.stdin, flush=True)
        self._process = self._said()

    def kill(self) -> int:
        """End the process as nobody can prevent (SIGKILL), unless it has ended by itself."""
        with suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)
        return self.ended()

    def ended(self) -> int:
        """Wait for the process; its exit code."""
        return self._said()

    @property
    def alive(self) -> bool:
        """Whether the process is at work."""
        try:
            os.kill(self._process, 0)
        except ProcessLookupError:
            return False
        return True

    def _said(self) -> int:
        assert self._mother.stdout
        return int(self._mother.stdout.readline())


@pytest.fixture
def nursery(tmp_path: Path) -> Iterator[Nursery]:
    """Where processes begin that are to be killed."""
    nursery = Nursery(tmp_path)
    with nursery._mother:  # ends when nothing more is asked of it
        yield nursery


@pytest.fixture
def table() -> Table:
    return made_table()
