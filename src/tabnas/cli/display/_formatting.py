"""Numbers, durations and texts as people read them."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import floor, isfinite, log10

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tabnas.results import Score

MAX_LENGTH = 60  # of a text from a file, unless the caller allows more
MAX_DECIMALS = 7
SPARKLINE_BLOCKS = "▁▂▃▄▅▆▇█"
BAR_EIGHTHS = " ▏▎▍▌▋▊▉"

# -- texts -----------------------------------------------------------------------------------------


def make_console(*, stderr: bool = False) -> Console:
    """Return a console without markup, which a text from a file could contain."""
    return Console(stderr=stderr, markup=False, emoji=False)


def sanitize(text: object, *, max_length: int = MAX_LENGTH) -> str:
    r"""Return the text in one line, without control characters, cut if it is long.

    >>> sanitize("a\x1b[31mb\nc")
    'a�[31mb�c'
    """
    safe = "".join(
        "\N{REPLACEMENT CHARACTER}" if unicodedata.category(c) in ("Cc", "Cf", "Cs") else c
        for c in str(text)
    )
    return safe if len(safe) <= max_length else safe[: max_length - 1] + "…"


def safe_text(text: object, style: str = "", *, max_length: int = MAX_LENGTH) -> Text:
    """Return the sanitized text for rich, without markup."""
    return Text(sanitize(text, max_length=max_length), style=style)


def is_utf8(text: str) -> bool:
    r"""Return whether a text can be encoded as UTF-8; file names can hold other bytes.

    >>> is_utf8("caf\u00e9"), is_utf8("caf\udce9")
    (True, False)
    """
    return not any("\ud800" <= c <= "\udfff" for c in text)


# -- numbers ---------------------------------------------------------------------------------------


def format_bytes(count: int) -> str:
    """Format a number of bytes.

    >>> format_bytes(208_000_000), format_bytes(1_500), format_bytes(12)
    ('208 MB', '1.5 kB', '12 bytes')
    """
    for unit, factor in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{count / factor:.{0 if count >= 10 * factor else 1}f} {unit}"
    return f"{count} bytes"


def format_count(count: int, noun: str) -> str:
    """Format a number of things.

    >>> format_count(1, "row"), format_count(2_000, "row")
    ('1 row', '2,000 rows')
    """
    return f"1 {noun}" if count == 1 else f"{count:,} {noun}s"


def format_cost(cost: float) -> str:
    """Format a cost: a count, or a measured value with one decimal.

    >>> format_cost(20_000), format_cost(61.3203125)
    ('20,000', '61.3')
    """
    return f"{cost:,}" if isinstance(cost, int) else f"{cost:,.1f}"


def format_limits(limits: Mapping[str, float]) -> str:
    """Format limits by the name of their cost.

    >>> format_limits({"parameters": 20_000, "bytes": 40_000})
    'parameters <= 20,000 and bytes <= 40,000'
    """
    return " and ".join(f"{name} <= {upper:,}" for name, upper in limits.items())


def choose_decimals(value: float) -> int:
    """Return how many decimals show about three digits of a value.

    >>> [choose_decimals(value) for value in (0.862, 0.041, 0.00034, 31.4, 62_000)]
    [3, 3, 5, 1, 0]
    """
    if value == 0 or 0.01 <= abs(value) <= 1:
        return 3
    return max(0, (2 if abs(value) > 1 else 1) - floor(log10(abs(value))))


def format_number(value: float, decimals: int) -> str:
    """Format a value with a number of decimals, in scientific notation if that gets long."""
    if decimals > MAX_DECIMALS or abs(value) >= 1e9:
        return f"{value:.2g}"
    return f"{round(value, decimals) + 0.0:,.{decimals}f}"  # without a sign if it rounds to zero


def format_interval(score: Score, decimals: int) -> str:
    """Format a value with its 95 % interval.

    >>> format_interval(Score(0.862, 0.84, 0.88), 3)
    '0.862 (0.840-0.880)'
    """
    value, low, high = (
        format_number(number, decimals) for number in (score.value, score.low, score.high)
    )
    return f"{value} ({low}-{high})" if score.low >= 0 else f"{value} ({low} to {high})"


def format_percent(share: float) -> str:
    """Format a share as a percentage; empty if it is absurdly large.

    >>> format_percent(0.25)
    '25 %'
    """
    return f"{100 * share:.0f} %" if abs(share) < 1e6 else ""


# -- durations -------------------------------------------------------------------------------------


def format_duration(seconds: float) -> str:
    """Format a duration.

    >>> format_duration(2.34), format_duration(75), format_duration(600)
    ('2.3 s', '75 s', '10 min')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def format_clock(seconds: float) -> str:
    """Format a duration as a clock shows it.

    >>> format_clock(75.4), format_clock(7_325)
    ('1:15', '2:02:05')
    """
    minutes, rest = divmod(int(max(0.0, min(seconds, 1e9))), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


# -- drawings and tables ---------------------------------------------------------------------------


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


def make_two_column_table() -> Table:
    """Return an empty table of labels and values."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    return table


def count_column_kinds(descriptions: Iterable[str]) -> str:
    """Count the columns of each kind, from the descriptions of an encoder.

    >>> count_column_kinds(["numeric: 2 features", "numeric", "categorical, 5 categories"])
    '2 numeric, 1 categorical'
    """
    kinds = Counter(text.partition(":")[0].partition(",")[0] for text in descriptions)
    return ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
