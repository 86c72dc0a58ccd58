"""Where a run stands, drawn for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tabnas.cli._progress import UNMEASURED
from tabnas.cli._text import plain
from tabnas.results import Snapshot
from tabnas.runs import RunStatus

LABEL, VALUE, COURSE = 14, 8, 50  # columns
BAR = 20
WIDEST_BAR = 8
MOST_LAYERS = 10
MOST_WIDTHS = 3
"""Of a layer; the others are less likely."""
HEIGHTS = "▁▂▃▄▅▆▇█"
EIGHTHS = " ▏▎▍▌▋▊▉"


def frame(stand: RunStatus, folder: str, seconds: float) -> RenderableType:
    """One picture of a run that has been at work for so many seconds."""
    parts: list[RenderableType] = [Text(_title(stand, folder), style="bold"), _phase(stand)]
    now = stand.snapshot
    if now is not None:
        parts += [_search(stand, now), Text(), _layers(stand, now)]
    parts.append(
        Text(f"at work for {clock(seconds)}; Ctrl-C ends only this view", style="dim italic")
    )
    return Group(*parts)


def line(stand: RunStatus) -> str:
    """The same in one line, for logs."""
    share = "" if stand.phase in UNMEASURED else f" {_percent(stand.done)}"
    said = [f"{plain(stand.phase)}{share}"]
    now = stand.snapshot
    if stand.phase == "search" and now is not None:
        said.append(f"favourite {_favourite(stand, now)}")
        said.append(f"P(V) {_number(now.feasible_probability, 2)}")
        if now.quality is not None:
            said.append(f"quality {_number(now.quality, 3)}")
    elif stand.note:
        said.append(plain(stand.note))
    return ", ".join(said)


def clock(seconds: float) -> str:
    """Seconds as a clock shows them.

    >>> clock(75.4), clock(7_325)
    ('1:15', '2:02:05')
    """
    minutes, rest = divmod(int(max(0.0, min(seconds, 1e9))), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def sparkline(points: Sequence[tuple[float, float | None]], width: int) -> str:
    """Values over progress from 0 to 1 as a line of blocks; what is not known yet stays empty.

    >>> sparkline([(0.0, None), (0.2, 1.0), (0.5, 2.0)], 10)
    '  ▁▁▁█'
    """
    cells: list[float | None] = [None] * width
    for progress, value in points:
        if isfinite(progress) and value is not None and isfinite(value):
            cells[min(width - 1, int(width * min(1.0, max(0.0, progress))))] = value
    for k in range(1, width):  # between two points, the earlier one holds
        if cells[k] is None and any(later is not None for later in cells[k + 1 :]):
            cells[k] = cells[k - 1]
    known = [value for value in cells if value is not None]
    if not known:
        return ""
    low, span = min(known), max(known) - min(known)
    levels = len(HEIGHTS) - 1
    drawn = (
        " " if v is None else HEIGHTS[round(levels * (v - low) / span) if 0 < span < 1e300 else 3]
        for v in cells
    )
    return "".join(drawn).rstrip()


def bar(share: float, width: int) -> str:
    """A share as a bar of blocks.

    >>> bar(0.5, 5), bar(1.0, 3), bar(0.01, 4)
    ('██▌', '███', '▏')
    """
    if not 0 < share <= 1:
        return ""
    whole, eighths = divmod(max(1, round(8 * width * share)), 8)
    return ("█" * whole + EIGHTHS[eighths]).rstrip()


def _title(stand: RunStatus, folder: str) -> str:
    where = plain(folder, longest=40)
    if stand.limit is None:
        return where
    return f"{where}: {plain(stand.target, longest=20)} within {_limit(stand)}"


def _phase(stand: RunStatus) -> Table:
    grid = _grid(LABEL, BAR, 6)
    unknown = stand.phase in UNMEASURED
    done = min(1.0, max(0.0, stand.done)) if isfinite(stand.done) else 0.0
    drawn = ProgressBar(total=1.0, completed=done, width=BAR, pulse=unknown)
    share = "" if unknown else _percent(done)
    grid.add_row(
        Text(plain(stand.phase, longest=LABEL)),
        drawn,
        Text(share, justify="right"),
        Text(_note(stand)),
    )
    return grid


def _note(stand: RunStatus) -> str:
    said = []
    if stand.epoch is not None:
        said.append(f"epoch {_number(stand.epoch, 0)}")
    if stand.rows_per_second is not None:
        said.append(f"{_number(stand.rows_per_second, 0)} rows/s")
    return ", ".join([*said, *filter(None, [plain(stand.note, longest=34)])])


def _search(stand: RunStatus, now: Snapshot) -> Table:
    """The favourite, and what has become of quality, P(V) and entropy."""
    favourite = _grid(LABEL)
    favourite.add_row(Text("favourite", style="dim"), Text(_favourite(stand, now)))
    grid = _grid(LABEL, VALUE)
    values = {
        "quality": (now.quality, 3),
        "P(V)": (now.feasible_probability, 2),
        "entropy": (now.entropy, 1),
    }
    for place, (name, (value, digits)) in enumerate(values.items(), start=1):
        course = [(point[0] or 0.0, point[place]) for point in stand.curve]
        said = "not yet" if value is None else _number(value, digits)
        drawn = Text(sparkline(course, COURSE), style="cyan")
        grid.add_row(Text(name, style="dim"), said, drawn)
    both = Table.grid()
    both.add_row(favourite)
    both.add_row(grid)
    return both


def _layers(stand: RunStatus, now: Snapshot) -> Table:
    """The likeliest widths of each layer."""
    grid = _grid(LABEL, 19, 19)
    for layer, (widths, chances) in enumerate(
        zip(stand.widths[:MOST_LAYERS], now.probabilities, strict=False), start=1
    ):
        likeliest = sorted(zip(chances, widths, strict=True), key=lambda one: (-one[0], one[1]))
        cells = [_width(width, chance) for chance, width in likeliest[:MOST_WIDTHS]]
        grid.add_row(Text(f"layer {layer}", style="dim"), *cells)
    left = len(stand.widths) - MOST_LAYERS
    if left > 0:
        grid.add_row(Text(f"and {left} more", style="dim"))
    return grid


def _width(width: int, chance: float) -> Text:
    name = f"{width:>4}" if width else "none"
    drawn = bar(chance, WIDEST_BAR)
    return Text.assemble(f"{name} ", (f"{drawn:<{WIDEST_BAR}}", "cyan"), f"{_percent(chance):>5}")


def _favourite(stand: RunStatus, now: Snapshot) -> str:
    said = plain(now.favourite, longest=30)
    if not stand.limit or not isfinite(now.favourite_cost):
        return said
    share = _percent(now.favourite_cost / stand.limit)
    return f"{said} ({_number(now.favourite_cost, 0)} of {_limit(stand)}, {share})"


def _limit(stand: RunStatus) -> str:
    return f"{_number(stand.limit or 0.0, 0)} {plain(stand.cost, longest=20)}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if abs(share) < 1e6 else ""


def _number(value: float, digits: int) -> str:
    return f"{value:,.{digits}f}" if abs(value) < 1e9 else f"{value:.2g}"


def _grid(*widths: int) -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0))
    for width in widths:
        grid.add_column(width=width, no_wrap=True)
    grid.add_column(no_wrap=True, overflow="ellipsis")
    return grid
