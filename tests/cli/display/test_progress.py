from __future__ import annotations

import io

from rich.console import Console

from tabnas.cli.display._progress import run_progress
from tabnas.results import Snapshot
from tabnas.runs import Progress

SNAPSHOT = Snapshot(
    step=5,
    progress=0.5,
    training_loss=0.3,
    quality=0.7,
    feasible_probability=0.25,
    entropy=3.1,
    most_likely="512-512-512",
    most_likely_cost=123_456_789,
    probabilities=(),
)
COURSE = (
    Progress("search", 0.5, SNAPSHOT, epoch=12.0, rows_per_second=1_234_567.0),
    Progress("teacher", 0.5, note="boosted trees 14 of 15"),
    Progress("candidates", 0.5, note="[bold]64-64"),
    Progress("comparison", 0.5, note="boosted trees"),
)


def shown(*, terminal: bool, quiet: bool = False) -> str:
    stream = io.StringIO()
    console = Console(
        file=stream, force_terminal=terminal, width=80, color_system=None, legacy_windows=False
    )
    with run_progress(console, quiet=quiet, cost="parameters") as tell:
        for told in COURSE:
            tell(told)
            if terminal and not quiet:
                bars = tell.__self__  # type: ignore[attr-defined]
                bars._live.refresh()
    return stream.getvalue()


def test_bars_fit_80_columns() -> None:
    said = shown(terminal=True)
    for words in (
        "reading", "epoch 12, 1,234,567 rows/s", "quality 0.700", "P(V) 0.25", "entropy 3.1",
        "most likely 512-512-512", "[bold]64-64", "boosted trees 14 of 15", "boosted trees",
    ):  # fmt: skip
        assert words in said
    plain_lines = said.replace("\x1b[2K", "").replace("\x1b[1A", "").splitlines()
    assert max(len(line) for line in plain_lines if "\x1b" not in line) <= 80


def test_bars_are_removed_at_the_end() -> None:
    assert shown(terminal=True).endswith("\x1b[1A\x1b[2K")


def test_without_a_terminal_a_line_per_phase_is_printed() -> None:
    assert shown(terminal=False).splitlines() == [
        "tabnas: search", "tabnas: teacher", "tabnas: candidates", "tabnas: comparison"
    ]  # fmt: skip


def test_quiet_prints_nothing() -> None:
    assert shown(terminal=True, quiet=True) == ""
