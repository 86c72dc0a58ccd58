"""What people see while a run goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from tabnas.cli._text import plain
from tabnas.runs import Progress as Told
from tabnas.runs import ProgressCallback

UNMEASURED = ("reading", "comparison")
"""Phases that know only that they began."""


@contextmanager
def showing(console: Console, *, quiet: bool, cost: str) -> Iterator[ProgressCallback]:
    """An observer for a run: bars on a terminal, a line a phase elsewhere, nothing if quiet.

    `cost` names what the first limit is on.
    """
    if quiet:
        yield lambda told: None
    elif console.is_terminal:
        with _Bars(console, cost) as tell:
            yield tell
    else:
        yield _lines(console)


def _lines(console: Console) -> ProgressCallback:
    """One line when a phase begins: fit for logs."""
    seen = set()

    def tell(told: Told) -> None:
        if told.phase not in seen:
            seen.add(told.phase)
            console.print(Text(f"tabnas: {told.phase}"))

    return tell


class _Bars:
    """A bar a phase, and one line on where the search stands; all vanish in the end."""

    def __init__(self, console: Console, cost: str) -> None:
        self._cost = cost
        self._bars = Progress(
            TextColumn("{task.description:<15}"),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[share]:>5}"),
            TimeRemainingColumn(compact=True),
            TextColumn("{task.fields[note]}", markup=False),
            console=console,
        )
        self._line = Text("", style="dim", no_wrap=True, overflow="ellipsis")
        self._tasks: dict[str, TaskID] = {}
        self._live = Live(
            Group(self._bars, self._line), console=console, refresh_per_second=8, transient=True
        )

    def __enter__(self) -> Callable[[Told], None]:
        self._add("reading")
        self._live.__enter__()
        return self._tell

    def __exit__(self, *details: object) -> None:
        self._live.__exit__(None, None, None)

    def _add(self, phase: str) -> None:
        for task in self._tasks.values():
            self._bars.update(task, total=1.0, completed=1.0, share="100 %")
        # the bar of a phase that cannot tell how far it is swings to and fro
        known = None if phase in UNMEASURED else 1.0
        self._tasks[phase] = self._bars.add_task(phase, total=known, share="", note="")

    def _tell(self, told: Told) -> None:
        if told.phase not in self._tasks:
            self._add(told.phase)
        share = "" if told.phase in UNMEASURED else f"{told.done:.0%}".replace("%", " %")
        self._bars.update(
            self._tasks[told.phase], completed=told.done, share=share, note=_note(told)
        )
        self._line.plain = self._where(told)

    def _where(self, told: Told) -> str:
        """Quality, P(V), entropy, favourite and its cost."""
        now = told.snapshot
        if now is None:
            return ""
        quality = "" if now.quality is None else f"quality {now.quality:.3f}  "
        return (
            f"{quality}P(V) {now.feasible_probability:.2f}  entropy {now.entropy:.1f}  "
            f"favourite {now.favourite} ({now.favourite_cost:,.0f} {self._cost})"
        )


def _note(told: Told) -> str:
    if told.epoch is None or told.rows_per_second is None:
        return plain(told.note, longest=24)
    pace = f"epoch {told.epoch:.0f}, {told.rows_per_second:,.0f} rows/s"
    return f"{pace}, {told.note}" if told.note else pace
