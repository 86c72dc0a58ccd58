"""What is printed when a run ends before it is finished."""

from __future__ import annotations

import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from tabnas.cli._errors import RANK_LOST, TERMINATED, CommandExitError
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
