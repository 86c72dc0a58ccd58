"""Consoles, safe texts, tables and bars for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tabnas.formatting import MAX_NAME, sanitize

SPARKLINE_BLOCKS = "▁▂▃▄▅▆▇█"
BAR_EIGHTHS = " ▏▎▍▌▋▊▉"


def make_console(*, stderr: bool = False) -> Console:
    """Return a console without markup, which a text from a file could contain."""
    return Console(stderr=stderr, markup=False, emoji=False)


def safe_text(text: object, style: str = "", *, max_length: int = MAX_NAME) -> Text:
    """Return the sanitized text for rich, without markup."""
    return Text(sanitize(text, max_length=max_length), style=style)


def make_two_column_table() -> Table:
    """Return an empty table of labels and values."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    return table


def draw_sparkline(points: Sequence[tuple[float, float | None]], width: int) -> str:
    """Draw values over progress from 0 to 1 as a line of blocks; unknown values stay empty.

    >>> draw_sparkline([(0.0, None), (0.2, 1.0), (0.5, 2.0)], 10)
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
    levels = len(SPARKLINE_BLOCKS) - 1
    blocks = (
        " "
        if v is None
        else SPARKLINE_BLOCKS[round(levels * (v - low) / span) if 0 < span < 1e300 else 3]
        for v in cells
    )
    return "".join(blocks).rstrip()


def draw_bar(share: float, width: int) -> str:
    """Draw a share as a bar of blocks.

    >>> draw_bar(0.5, 5), draw_bar(1.0, 3), draw_bar(0.01, 4)
    ('██▌', '███', '▏')
    """
    if not 0 < share <= 1:
        return ""
    blocks, eighths = divmod(max(1, round(8 * width * share)), 8)
    return ("█" * blocks + BAR_EIGHTHS[eighths]).rstrip()
