"""Ctrl-C at any time ends the process quietly, with the documented exit code."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests import processes

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals are others there")

AT_AN_IMPORT = """
import os, signal, sys

class Finder:
    def find_spec(self, name, *_):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)

import tabnas.cli
assert not {{"numpy", "typer"}} & set(sys.modules)  # the rest is imported later
sys.meta_path.insert(0, Finder())
tabnas.cli.main()
"""
WHILE_COMMANDS_ARE_BUILT = """
import os, signal
import typer.main
typer.main.get_command = lambda app: os.kill(os.getpid(), signal.SIGINT)
from tabnas.cli import main
main()
"""
IN_A_COMMAND = """
import atexit, os, signal
from tabnas.cli import main
from tabnas.cli.commands import _count

def interrupt(*_):
    exec("os.kill(os.getpid(), signal.SIGINT)")  # as dataclasses do, which are imported

_count.describe_feasible_set = interrupt
"""
ONCE_MORE_AT_EXIT = """
atexit.register(os.kill, os.getpid(), signal.SIGINT)
"""
COUNT = ["count", "--inputs", "10", "--outputs", "1", "--layers", "2", "--max-flops", "999"]


def run_module(code: str, folder: Path) -> processes.subprocess.CompletedProcess[str]:
    """Run a module with `python -m`, which looks at signals once more when it ends."""
    (folder / "module.py").write_text(code)
    return processes.run(
        [sys.executable, "-m", "module", *COUNT],
        cwd=folder,
        env=processes.import_path(folder),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "code",
    [
        AT_AN_IMPORT.format(name="typer"),
        AT_AN_IMPORT.format(name="tabnas.cli.commands._paper"),
        WHILE_COMMANDS_ARE_BUILT,
    ],
    ids=["first import", "later import", "commands"],
)
def test_an_interruption_of_the_start_is_quiet(code: str, tmp_path: Path) -> None:
    done = run_module(code, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("once_more", ["", ONCE_MORE_AT_EXIT], ids=["once", "once more"])
def test_an_interrupted_command_has_its_exit_code(once_more: str, tmp_path: Path) -> None:
    done = run_module(f"{IN_A_COMMAND}{once_more}main()", tmp_path)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.startswith("tabnas: interrupted")
    assert len(done.stderr.splitlines()) == 1
