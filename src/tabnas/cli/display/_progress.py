"""Progress of runs, of encodings, and of predictions for the rows of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from tabnas.cli.display._formatting import make_console
from tabnas.formatting import format_fixed_percent, shorten

if TYPE_CHECKING:
    from tabnas.results import Snapshot
    from tabnas.runs import Progress as RunProgress
    from tabnas.runs import ProgressCallback
    from tabnas.stores import EncodingProgress

UNMEASURED_PHASES = ("reading", "comparison")
"""Phases of a run that report their start and nothing else."""

# -- runs ------------------------------------------------------------------------------------------


@contextmanager
def run_progress(console: Console, *, quiet: bool, cost: str) -> Iterator[ProgressCallback]:
    """Yield an observer of a run: bars on a terminal, elsewhere a line per phase.

    `cost` is the cost of the first limit.
    """
    if quiet:
        yield lambda progress: None
    elif console.is_terminal:
        with _RunBars(console, cost) as update:
            yield update
    else:
        yield _print_phases(console)


def _print_phases(console: Console) -> ProgressCallback:
    """Return an observer that prints a line when a phase begins."""
    seen = set()

    def update(progress: RunProgress) -> None:
        if progress.phase not in seen:
            seen.add(progress.phase)
            console.print(Text(f"tabnas: {progress.phase}"))

    return update


class _RunBars:
    """A bar for each phase, and a line on the state of the search; removed at the end."""

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

    def __enter__(self) -> Callable[[RunProgress], None]:
        self._add("reading")
        self._live.__enter__()
        return self._update

    def __exit__(self, *details: object) -> None:
        self._live.__exit__(None, None, None)

    def _add(self, phase: str) -> None:
        if phase != "reading":
            self._finish("reading")
        total = None if phase in UNMEASURED_PHASES else 1.0  # without a total the bar pulses
        self._tasks[phase] = self._bars.add_task(phase, total=total, share="", note="")

    def _update(self, progress: RunProgress) -> None:
        if progress.phase not in self._tasks:
            self._add(progress.phase)
        if progress.done >= 1.0:
            self._finish(progress.phase)
            return
        is_unmeasured = progress.phase in UNMEASURED_PHASES
        share = "" if is_unmeasured else format_fixed_percent(progress.done)
        self._bars.update(
            self._tasks[progress.phase],
            completed=progress.done,
            share=share,
            note=_format_pace(progress),
        )
        if progress.snapshot is not None:
            self._line.plain = self._format_snapshot(progress.snapshot)

    def _finish(self, phase: str) -> None:
        self._bars.update(self._tasks[phase], total=1.0, completed=1.0, share="100 %", note="")
        if phase == "search":
            self._line.plain = ""

    def _format_snapshot(self, now: Snapshot) -> str:
        """Format quality, P(V), entropy, the most likely architecture and its cost."""
        quality = "" if now.quality is None else f"quality {now.quality:.3f}  "
        return (
            f"{quality}P(V) {now.feasible_probability:.2f}  entropy {now.entropy:.1f}  "
            f"most likely {now.most_likely} ({now.most_likely_cost:,.0f} {self._cost})"
        )


def _format_pace(progress: RunProgress) -> str:
    if progress.epoch is None or progress.rows_per_second is None:
        return shorten(progress.note, 24)
    pace = f"epoch {progress.epoch:.0f}, {progress.rows_per_second:,.0f} rows/s"
    return f"{pace}, {progress.note}" if progress.note else pace


# -- encodings -------------------------------------------------------------------------------------


@contextmanager
def encoding_progress(
    console: Console, *, quiet: bool
) -> Iterator[Callable[[EncodingProgress], None]]:
    """Yield an observer of an encoding: bars on a terminal, elsewhere a line per pass."""
    if quiet:
        yield lambda progress: None
    elif not console.is_terminal:
        yield _print_passes(console)
    else:
        with make_progress_bars(console) as bars:
            tasks: dict[str, TaskID] = {}

            def update(progress: EncodingProgress) -> None:
                phase = progress.phase
                if phase not in tasks:
                    tasks[phase] = bars.add_task(phase, total=1.0, note="")
                note = f"{progress.rows:,} rows, {progress.rows_per_second:,.0f}/s"
                bars.update(tasks[phase], completed=progress.fraction, note=note)

            yield update


def _print_passes(console: Console) -> Callable[[EncodingProgress], None]:
    """Return an observer that prints a line when a pass begins."""
    seen: set[str] = set()

    def update(progress: EncodingProgress) -> None:
        if progress.phase not in seen:
            seen.add(progress.phase)
            console.print(f"tabnas: {progress.phase}")

    return update


# -- rows of a file --------------------------------------------------------------------------------


class RowProgress:
    """Two bars: one for reading a file, one for predicting its rows. None without a terminal."""

    def __init__(self, bars: Progress | None, work: str) -> None:
        self._bars = bars
        self._work = work
        self._tasks: dict[str, TaskID] = {}
        self._started = 0.0

    def on_read(self, share: float) -> None:
        """Show which share of the file has been read."""
        self._update("reading", share, "")

    def on_rows(self, rows: int, total: int) -> None:
        """Show how many of the rows are done."""
        self._started = self._started or monotonic()
        pace = rows / max(monotonic() - self._started, 1e-9)
        note = f"{rows:,} rows, {pace:,.0f}/s" if rows else ""
        self._update(self._work, rows / max(total, 1), note)

    def _update(self, work: str, share: float, note: str) -> None:
        if self._bars is None:
            return
        if work not in self._tasks:
            self._tasks[work] = self._bars.add_task(work, total=1.0, note="")
        self._bars.update(self._tasks[work], completed=share, note=note)


@contextmanager
def row_progress(work: str, *, hidden: bool = False) -> Iterator[RowProgress]:
    """Yield bars on standard error if it is a terminal; they are removed at the end."""
    console = make_console(stderr=True)
    if hidden or not console.is_terminal:
        yield RowProgress(None, work)
        return
    with make_progress_bars(console) as bars:
        yield RowProgress(bars, work)


def make_progress_bars(console: Console) -> Progress:
    """Return bars with a description, the share done, the time left, and a note."""
    return Progress(
        TextColumn("{task.description:<11}"),
        BarColumn(bar_width=20),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[note]}", markup=False),
        console=console,
        transient=True,
    )
