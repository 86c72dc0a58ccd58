"""Format numbers, durations and lists for people, and make texts from files safe to show."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from math import floor, isfinite, isnan, log10
from typing import Any, TypeVar

T = TypeVar("T")

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
CONTROL_CATEGORIES = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories that programs obey instead of showing: controls, overrides, separators."""
MAX_NAME, MAX_TEXT = 80, 400
"""Characters that are shown of a name and of a text."""
PERCENT = "\N{NO-BREAK SPACE}%"
MIN_FIXED, MAX_FIXED = 1e-4, 1e9
"""Numbers outside of this range are written in powers of ten."""
MAX_DECIMALS = 7
PERCENT_METRICS = ("accuracy", "balanced_error")
METRICS = {  # the name that people know, and whether greater is better
    "accuracy": ("accuracy", True),
    "balanced_error": ("balanced error", False),
    "log_loss": ("log loss", False),
    "auc": ("area under the ROC curve", True),
    "rmse": ("root mean squared error", False),
    "mae": ("mean absolute error", False),
    "r2": ("R²", True),
}
COSTS = {  # whose key does not say enough
    "flops": "operations a row",
    "latency_us": "microseconds for a row",
    "batch_latency_us": "microseconds for 256 rows",
}


# --- texts ----------------------------------------------------------------------------------------


def sanitize(text: str) -> str:
    r"""Replace every character that a browser, terminal or editor would obey instead of showing.

    >>> sanitize("a\u202eb\x00c")
    'a�b�c'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(REPLACEMENT if _is_control(c) else c for c in text)


def _is_control(character: str) -> bool:
    code = ord(character)
    is_noncharacter = code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
    return is_noncharacter or unicodedata.category(character) in CONTROL_CATEGORIES


def shorten(text: str, max_length: int = MAX_NAME) -> str:
    """Cut a text to so many characters, and sanitize it."""
    return sanitize(text if len(text) <= max_length else text[: max_length - 1] + "…")


def sanitize_texts(value: T) -> T:
    """Return a copy of a dataclass in which every text is sanitized, and cut if it is long.

    Whatever shows a result that may come from somebody else's file shows such a copy.
    """
    clean: Any = _sanitize_texts(value)
    return clean  # type: ignore[no-any-return]


def _sanitize_texts(value: Any) -> Any:
    if isinstance(value, str):
        return shorten(value, MAX_TEXT)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(
            value,
            **{
                field.name: _sanitize_texts(getattr(value, field.name))
                for field in fields(value)
                if field.init
            },
        )
    if isinstance(value, Mapping):
        return {shorten(str(key)): _sanitize_texts(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_sanitize_texts(one) for one in value)
    return value


def isolate(name: str) -> str:
    """Wrap a name that is not ASCII, so that right-to-left text moves nothing around it."""
    return name if name.isascii() else f"\N{FIRST STRONG ISOLATE}{name}\N{POP DIRECTIONAL ISOLATE}"


def truncate(text: str, max_width: int) -> str:
    """Cut a text to about the width of so many Latin letters.

    >>> truncate("architecture", 6), truncate("構造の名前", 6)
    ('archi…', '構造…')
    """
    if text_width(text) <= max_width:
        return text
    while text and text_width(text) > max_width - 1:
        text = text[:-1]
    return text + "…"


def text_width(text: str) -> float:
    """Return about how wide a text is, in small Latin letters."""
    return sum(map(_character_width, text))


def _character_width(character: str) -> float:
    if unicodedata.east_asian_width(character) in "WF":
        return 2.0
    return 1.5 if character in "mwMW" or not character.isascii() else 1.0


def join_words(words: Sequence[str]) -> str:
    """Join words as an enumeration.

    >>> join_words(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def capitalize_first(text: str) -> str:
    """Return a text that begins with a capital letter."""
    return text[:1].upper() + text[1:]


# --- numbers --------------------------------------------------------------------------------------


def format_number(value: float, digits: int = 3) -> str:
    """Format a number with so many significant digits, and an integer with all of them.

    >>> [format_number(v) for v in (0.97214, 4824, 31.46, -0.00001234, 1e12, float("nan"))]
    ['0.972', '4,824', '31.5', '-1.23e-05', '1e+12', 'not a number']
    """
    if not isfinite(value):
        return "not a number" if isnan(value) else "infinite" if value > 0 else "-infinite"
    if value == 0:
        return "0"
    size = abs(value)
    if not MIN_FIXED <= size < MAX_FIXED:
        return f"{value:.{digits}g}"
    if value == round(value):
        return f"{round(value):,}"
    return f"{value:,.{count_decimals(value, digits)}f}"


def format_count(count: int, noun: str, plural: str = "") -> str:
    """Format a count with its noun; a very large one in powers of ten.

    >>> format_count(1, "row"), format_count(3_200_000, "network"), format_count(3**40, "network")
    ('1 row', '3,200,000 networks', '1.22e+19 networks')
    """
    number = f"{count:,}" if count < 10**15 else f"{count:.3g}"
    return f"{number} {noun if count == 1 else plural or noun + 's'}"


def format_percent(share: float) -> str:
    """Format a share in percent, with more decimals where it is close to 0 % or 100 %.

    >>> [format_percent(s).replace(PERCENT, "%") for s in (0.5, 0.972, 0.0123, 1.0, 0.99999)]
    ['50%', '97.2%', '1.2%', '100%', '99.999%']
    """
    if not isfinite(share):
        return format_number(share)
    if share in (0, 1):
        return f"{100 * share:.0f}{PERCENT}"
    for decimals in (0, 1, 2, 3):
        distance = min(abs(share), abs(1 - share))
        if distance >= (0.1, 0.005, 0.0005, 0)[decimals]:
            break
    return f"{f'{100 * share:.{decimals}f}'.removesuffix('.0')}{PERCENT}"


def format_fixed(values: Sequence[float], decimals: int) -> list[str]:
    """Format values with the same number of decimals, or in powers of ten if they are too many."""
    largest = max(map(abs, values), default=0.0)
    if decimals > MAX_DECIMALS or largest >= MAX_FIXED:
        return [f"{value:.3g}" for value in values]
    return [f"{round(value, decimals) + 0.0:,.{decimals}f}" for value in values]


def count_decimals(value: float, digits: int) -> int:
    """Return how many decimals give a number so many significant digits."""
    return max(0, digits - 1 - floor(log10(abs(value)))) if value else 0


def format_duration(seconds: float) -> str:
    """Format seconds, from two minutes on in minutes.

    >>> [format_duration(seconds) for seconds in (0.041, 7.25, 93.7, 7_300)]
    ['0.04 s', '7.2 s', '94 s', '122 min']
    """
    if not isfinite(seconds):
        return format_number(seconds)
    if seconds < 120:
        return f"{seconds:.{2 if seconds < 1 else 1 if seconds < 10 else 0}f} s"
    return f"{seconds / 60:,.0f} min"


# --- metrics and costs ----------------------------------------------------------------------------


def metric_label(metric: str) -> str:
    """Return the name of a metric that people know."""
    return METRICS.get(metric, (metric, False))[0]


def greater_is_better(metric: str) -> bool:
    """Return whether greater values of a metric are better; an unknown metric is a loss."""
    return METRICS.get(metric, (metric, False))[1]


def cost_label(cost: str) -> str:
    """Return the name of a cost that people know.

    >>> cost_label("flops"), cost_label("multiply_adds")
    ('operations a row', 'multiply adds')
    """
    return COSTS.get(cost, cost.replace("_", " "))


def format_score(metric: str, value: float) -> str:
    """Format the value of a metric: some in percent, the others as numbers."""
    return format_percent(value) if metric in PERCENT_METRICS else format_number(value)


def format_interval(metric: str, value: float, low: float, high: float) -> tuple[str, str, str]:
    """Format a value and the ends of its interval, all with the same decimals.

    >>> format_interval("log_loss", 0.0907, 0.0347, 0.158)
    ('0.091', '0.035', '0.158')
    >>> [end.replace(PERCENT, "%") for end in format_interval("accuracy", 0.9749, 0.9582, 0.9889)]
    ['97.5%', '95.8%', '98.9%']
    """
    unit, factor = (PERCENT, 100.0) if metric in PERCENT_METRICS else ("", 1.0)
    values = [factor * v for v in (value, low, high)]
    if all(map(isfinite, values)):
        largest = max(map(abs, values))
        decimals = max(count_decimals(largest, 3), count_decimals(values[2] - values[1], 2))
        texts = [f"{text}{unit}" for text in format_fixed(values, decimals)]
    else:
        texts = [format_score(metric, v) for v in (value, low, high)]
    return texts[0], texts[1], texts[2]
