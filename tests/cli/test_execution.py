"""What is printed when a run ends before it is finished."""

from __future__ import annotations

import shlex
import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from tabnas.cli._errors import INTERRUPTED, RANK_LOST, TERMINATED, CommandExitError
from tabnas.cli._execution import report_interruption
from tabnas.nets import LostRankError


def test_a_signal_to_exit_does_not_hide_that_a_rank_was_lost(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").mkdir()
    printed = StringIO()
    console = Console(file=printed, width=1_000)

    def lose_a_rank() -> None:
        try:
            raise LostRankError
        finally:
            sys.exit(TERMINATED)  # as SIGTERM does, which torchrun sends now

    with pytest.raises(CommandExitError) as raised, report_interruption(console, str(tmp_path)):
        lose_a_rank()
    assert raised.value.code == RANK_LOST
    assert printed.getvalue().startswith("tabnas: another process of this run has ended")
    assert f"; continue with: tabnas resume {tmp_path}" in printed.getvalue()


def test_a_signal_to_exit_alone_prints_nothing(tmp_path: Path) -> None:
    printed = StringIO()
    with pytest.raises(SystemExit), report_interruption(Console(file=printed), str(tmp_path)):
        sys.exit(TERMINATED)
    assert not printed.getvalue()


@pytest.mark.parametrize("name", ["run", "my table", "it's $HOME", "x" * 200])
def test_the_command_to_continue_can_be_copied(name: str, tmp_path: Path) -> None:
    """Even if a folder has spaces or a long path, and the terminal is narrow."""
    folder = tmp_path / name
    (folder / "checkpoint").mkdir(parents=True)
    (folder / "checkpoint" / "000001.checkpoint").touch()
    printed = StringIO()
    console = Console(file=printed, width=40)
    with pytest.raises(CommandExitError), report_interruption(console, str(folder)):
        raise KeyboardInterrupt
    message, _, command = printed.getvalue().partition("; continue with: ")
    assert message == "tabnas: stopped"
    assert command.count("\n") == 1
    assert shlex.split(command) == ["tabnas", "resume", str(folder)]


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("checkpoint/000001.checkpoint", "stopped; continue with: tabnas resume {folder}"),
        ("result.json", "stopped; continue with: tabnas resume {folder}"),  # others are missing
        ("checkpoint/.000001.checkpoint.x", "interrupted, and nothing was written"),
    ],
)
def test_an_interruption_that_waits_for_nothing_reports_what_is_there(
    file: str, message: str, tmp_path: Path
) -> None:
    """As the second of two: the first one lets the run write a checkpoint."""
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).touch()
    printed = StringIO()
    console = Console(file=printed, width=1_000)
    with pytest.raises(CommandExitError) as raised, report_interruption(console, str(tmp_path)):
        raise KeyboardInterrupt
    assert raised.value.code == INTERRUPTED
    assert printed.getvalue() == f"tabnas: {message.format(folder=tmp_path)}\n"


def test_a_second_sigterm_reports_the_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / "000001.checkpoint").touch()
    printed = StringIO()
    console = Console(file=printed, width=1_000)
    with pytest.raises(SystemExit), report_interruption(console, str(tmp_path)):
        sys.exit(TERMINATED)
    assert printed.getvalue() == f"tabnas: stopped; continue with: tabnas resume {tmp_path}\n"
