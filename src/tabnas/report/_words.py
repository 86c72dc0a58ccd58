"""Numbers and names as people read them."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from math import floor, isfinite, isnan, log10

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
OBEYED = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Categories of characters that are not seen but obeyed: controls, overrides, separators."""
PERCENT = "\N{NO-BREAK SPACE}%"
SMALLEST = 1e-4
MOST_PLACES = 7
LARGEST = 1e9
SHARES = ("accuracy", "balanced_error")
"""Metrics that people read in percent."""
METRICS = {  # in words, and whether greater is better
    "accuracy": ("accuracy", True),
    "balanced_error": ("balanced error", False),
    "log_loss": ("log loss", False),
    "auc": ("area under the ROC curve", True),
    "rmse": ("root mean squared error", False),
    "mae": ("mean absolute error", False),
    "r2": ("R²", True),
}
COSTS = {  # where the name alone would not do
    "flops": "operations a row",
    "latency_us": "microseconds for a row",
    "batch_latency_us": "microseconds for 256 rows",
}


def harmless(text: str) -> str:
    r"""The text without anything that a browser or an editor would obey instead of showing it.

    >>> harmless("a\u202eb\x00c")
    'a�b�c'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(REPLACEMENT if _obeyed(c) else c for c in text)


def _obeyed(character: str) -> bool:
    code = ord(character)
    is_none = code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
    return is_none or unicodedata.category(character) in OBEYED


def isolated(name: str) -> str:
    """A name within a sentence; one that is written from right to left moves nothing around it."""
    return name if name.isascii() else f"\N{FIRST STRONG ISOLATE}{name}\N{POP DIRECTIONAL ISOLATE}"


def cut(text: str, longest: int) -> str:
    """The text, cut to about the width of so many Latin letters.

    >>> cut("architecture", 6), cut("構造の名前", 6)
    ('archi…', '構造…')
    """
    if text_width(text) <= longest:
        return text
    while text and text_width(text) > longest - 1:
        text = text[:-1]
    return text + "…"


def text_width(text: str) -> float:
    """About how wide a text is, in small Latin letters."""
    return sum(map(_width, text))


def _width(character: str) -> float:
    if unicodedata.east_asian_width(character) in "WF":
        return 2.0
    return 1.5 if character in "mwMW" or not character.isascii() else 1.0


def number(value: float, digits: int = 3) -> str:
    """So many significant digits, whole numbers whole.

    >>> [number(v) for v in (0.97214, 4824, 31.46, -0.00001234, 1e12, float("nan"))]
    ['0.972', '4,824', '31.5', '-1.23e-05', '1e+12', 'not a number']
    """
    if not isfinite(value):
        return "not a number" if isnan(value) else "infinite" if value > 0 else "-infinite"
    if value == 0:
        return "0"
    size = abs(value)
    if not SMALLEST <= size < LARGEST:
        return f"{value:.{digits}g}"
    if value == round(value):
        return f"{round(value):,}"
    places = max(0, digits - 1 - floor(log10(size)))
    return f"{value:,.{places}f}"


def counted(count: int, thing: str, plural: str = "") -> str:
    """A count with its noun; beyond what people read, in powers of ten.

    >>> counted(1, "row"), counted(3_200_000, "network"), counted(3**40, "network")
    ('1 row', '3,200,000 networks', '1.22e+19 networks')
    """
    said = f"{count:,}" if count < 10**15 else f"{count:.3g}"
    return f"{said} {thing if count == 1 else plural or thing + 's'}"


def percent(share: float) -> str:
    """A share in percent, with a digit after the point where it is near one of the ends.

    >>> [percent(share).replace(PERCENT, "%") for share in (0.5, 0.972, 0.0123, 1.0, 0.99999)]
    ['50%', '97.2%', '1.2%', '100%', '99.999%']
    """
    if not isfinite(share):
        return number(share)
    if share in (0, 1):
        return f"{100 * share:.0f}{PERCENT}"
    for places in (0, 1, 2, 3):
        near = min(abs(share), abs(1 - share))
        if near >= (0.1, 0.005, 0.0005, 0)[places]:
            break
    said = f"{100 * share:.{places}f}"
    return f"{said.removesuffix('.0')}{PERCENT}"


def measured(metric: str, value: float) -> str:
    """A metric's value: shares in percent, the others as numbers."""
    return percent(value) if metric in SHARES else number(value)


def interval(metric: str, value: float, low: float, high: float) -> tuple[str, str, str]:
    """A value and both ends, all with the same digits after the point.

    >>> interval("log_loss", 0.0907, 0.0347, 0.158)
    ('0.091', '0.035', '0.158')
    >>> [end.replace(PERCENT, "%") for end in interval("accuracy", 0.9749, 0.9582, 0.9889)]
    ['97.5%', '95.8%', '98.9%']
    """
    unit, factor = (PERCENT, 100.0) if metric in SHARES else ("", 1.0)
    values = [factor * v for v in (value, low, high)]
    if all(map(isfinite, values)):
        places = max(places_of(max(map(abs, values)), 3), places_of(values[2] - values[1], 2))
        said = [f"{text}{unit}" for text in alike(values, places)]
    else:
        said = [measured(metric, v) for v in (value, low, high)]
    return said[0], said[1], said[2]


def places_of(value: float, digits: int) -> int:
    """How many digits after the point leave so many significant ones."""
    return max(0, digits - 1 - floor(log10(abs(value)))) if value else 0


def alike(values: Sequence[float], places: int) -> list[str]:
    """Values with so many digits after the point, or in powers of ten where those are too many."""
    largest = max(map(abs, values), default=0.0)
    if places > MOST_PLACES or largest >= LARGEST:
        return [f"{value:.3g}" for value in values]
    return [f"{round(value, places) + 0.0:,.{places}f}" for value in values]


def metric_words(metric: str) -> str:
    """What people call a metric."""
    return METRICS.get(metric, (metric, False))[0]


def greater_is_better(metric: str) -> bool:
    """Which way a metric is better; one that is not known is a loss."""
    return METRICS.get(metric, (metric, False))[1]


def cost_words(cost: str) -> str:
    """What people call a cost; one that has no words of its own is called by its name.

    >>> cost_words("flops"), cost_words("multiply_adds")
    ('operations a row', 'multiply adds')
    """
    return COSTS.get(cost, cost.replace("_", " "))


def listed(words: Sequence[str]) -> str:
    """An enumeration.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def duration(seconds: float) -> str:
    """Seconds as people say them.

    >>> [duration(seconds) for seconds in (0.041, 7.25, 93.7, 7_300)]
    ['0.04 s', '7.2 s', '94 s', '122 min']
    """
    if not isfinite(seconds):
        return number(seconds)
    if seconds < 120:
        return f"{seconds:.{2 if seconds < 1 else 1 if seconds < 10 else 0}f} s"
    return f"{seconds / 60:,.0f} min"
