"""What people see while a run goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from tabnas.cli._text import plain
from tabnas.runs import Observer
from tabnas.runs import Progress as Told

PHASES = ("search", "candidates", "final training", "comparison", "refit")


@contextmanager
def showing(console: Console, *, quiet: bool, cost: str) -> Iterator[Observer]:
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


def _lines(console: Console) -> Observer:
    """One line when a phase begins: fit for logs."""
    seen = set()

    def tell(told: Told) -> None:
        if told.phase not in seen:
            seen.add(told.phase)
            console.print(Text(f"tabnas: {told.phase}"))

    return tell


class _Bars:
    """A bar a phase, and one line on where the search stands."""

    def __init__(self, console: Console, cost: str) -> None:
        self._cost = cost
        self._bars = Progress(
            TextColumn("{task.description:<15}"),
            BarColumn(bar_width=20),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeRemainingColumn(compact=True),
            TextColumn("{task.fields[note]}", markup=False),
            console=console,
        )
        self._line = Text("", style="dim", no_wrap=True, overflow="ellipsis")
        self._tasks: dict[str, int] = {}
        self._live = Live(Group(self._bars, self._line), console=console, refresh_per_second=8)

    def __enter__(self) -> Callable[[Told], None]:
        self._live.__enter__()
        return self._tell

    def __exit__(self, *details: object) -> None:
        self._line.plain = ""
        self._live.__exit__(None, None, None)

    def _tell(self, told: Told) -> None:
        if told.phase not in self._tasks:
            self._tasks[told.phase] = self._bars.add_task(told.phase, total=1.0, note="")
        task = self._tasks[told.phase]
        self._bars.update(task, completed=told.done, note=_note(told))  # type: ignore[arg-type]
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
    if told.epoch is None or told.rows_a_second is None:
        return plain(told.note, longest=24)
    return f"epoch {told.epoch:.0f}, {told.rows_a_second:,.0f} rows/s"
