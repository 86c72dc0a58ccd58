"""What people see while the rows of a file are read and answered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from rich.progress import Progress, TaskID

from tabnas.cli._encode_shown import progress_bars
from tabnas.cli._text import terminal


class RowProgress:
    """Two bars, one for reading a file and one for working on its rows, or none of them."""

    def __init__(self, bars: Progress | None, work: str) -> None:
        self._bars = bars
        self._work = work
        self._tasks: dict[str, TaskID] = {}
        self._began = 0.0

    def read(self, share: float) -> None:
        """Show which share of the file has been read."""
        self._show("reading", share, "")

    def count(self, rows: int, total: int) -> None:
        """Show how many rows of all have been worked on."""
        self._began = self._began or monotonic()
        pace = rows / max(monotonic() - self._began, 1e-9)
        self._show(
            self._work, rows / max(total, 1), f"{rows:,} rows, {pace:,.0f}/s" if rows else ""
        )

    def _show(self, work: str, share: float, note: str) -> None:
        if self._bars is None:
            return
        if work not in self._tasks:
            self._tasks[work] = self._bars.add_task(work, total=1.0, note="")
        self._bars.update(self._tasks[work], completed=share, note=note)


@contextmanager
def row_progress(work: str, *, hidden: bool = False) -> Iterator[RowProgress]:
    """Show bars on standard error if it is a terminal; they vanish in the end."""
    console = terminal(stderr=True)
    if hidden or not console.is_terminal:
        yield RowProgress(None, work)
        return
    with progress_bars(console) as bars:
        yield RowProgress(bars, work)
