"""Format numbers, durations and lists for people, and make texts from files safe to show."""

from __future__ import annotations

import shlex
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from hashlib import sha256
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
METRIC_LABELS = {  # the name that people know, and whether greater is better
    "accuracy": ("accuracy", True),
    "balanced_error": ("balanced error", False),
    "log_loss": ("log loss", False),
    "auc": ("area under the ROC curve", True),
    "rmse": ("root mean squared error", False),
    "mae": ("mean absolute error", False),
    "r2": ("R²", True),
}
COST_LABELS = {  # of costs whose key does not say enough
    "flops": "operations a row",
    "ram_bytes": "bytes of RAM",
    "latency_us": "microseconds for a row",
    "batch_latency_us": "microseconds for 256 rows",
}


# --- texts ----------------------------------------------------------------------------------------


def sanitize(text: object, *, max_length: int | None = None) -> str:
    r"""Replace every character that a browser, terminal or editor would obey instead of showing.

    A text of more than `max_length` characters is cut.

    >>> sanitize("a\u202eb\x1b[31mc"), sanitize("architecture", max_length=6)
    ('a�b�[31mc', 'archi…')
    """
    text = str(text)
    if max_length is not None and len(text) > max_length:
        text = text[: max_length - 1] + "…"
    if text.isascii() and text.isprintable():
        return text
    return "".join(REPLACEMENT if _is_control(c) else c for c in text)


def _is_control(character: str) -> bool:
    code = ord(character)
    is_noncharacter = code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
    return is_noncharacter or unicodedata.category(character) in CONTROL_CATEGORIES


def shorten(text: object, max_length: int = MAX_NAME) -> str:
    """Sanitize a text, and cut it to the length of a name unless another length is given."""
    return sanitize(text, max_length=max_length)


def quote_path(path: object) -> str:
    """Return the sanitized path for a command that people copy: quoted if need be, and never cut.

    >>> quote_path("runs/income"), quote_path("runs/my table")
    ('runs/income', "'runs/my table'")
    """
    return shlex.quote(sanitize(path))


def is_utf8(text: str) -> bool:
    r"""Return whether a text can be encoded as UTF-8: half of a surrogate pair cannot.

    The names of files can hold such halves, for bytes that are not UTF-8.

    >>> is_utf8("caf\u00e9"), is_utf8("caf\udce9")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def sanitize_texts(value: T) -> T:
    """Return a copy of a dataclass in which every text is sanitized, and cut if it is long.

    Reports and tables are made from such a copy, since a result may come from an untrusted file.
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
        short = _shorten_keys(value)
        return {short[key]: _sanitize_texts(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_sanitize_texts(one) for one in value)
    return value


def _shorten_keys(keys: Iterable[Any]) -> dict[Any, str]:
    """Return a short name for each key, all different.

    Names with the same beginning show their ends, and a digest if these are the same, too.
    """
    short = {key: shorten(key) for key in keys}
    for make_end in (_get_end, _get_digest):
        counts = Counter(short.values())
        for key, name in short.items():
            if counts[name] > 1:
                end = make_end(key)
                short[key] = f"{sanitize(key)[: MAX_NAME - 1 - len(end)]}…{end}"
    return short


def _get_end(key: Any) -> str:
    return sanitize(key)[-(MAX_NAME // 2) :]


def _get_digest(key: Any) -> str:
    return sha256(str(key).encode(errors="surrogatepass")).hexdigest()[:8]


def isolate(name: str) -> str:
    """Wrap a name that is not ASCII, so that right-to-left text moves nothing around it."""
    return name if name.isascii() else f"\N{FIRST STRONG ISOLATE}{name}\N{POP DIRECTIONAL ISOLATE}"


def truncate(text: str, max_width: int) -> str:
    """Cut a text to about the width of this many Latin letters.

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


def count_column_kinds(descriptions: Iterable[str]) -> str:
    """Count the columns of each kind, from the descriptions of an encoder.

    >>> count_column_kinds(["numeric: 2 features", "numeric", "categorical, 5 categories"])
    '2 numeric, 1 categorical'
    """
    kinds = Counter(text.partition(":")[0].partition(",")[0] for text in descriptions)
    return ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())


# --- numbers --------------------------------------------------------------------------------------


def format_number(value: float) -> str:
    """Format a number with three significant digits, and an integer with all of them.

    >>> [format_number(v) for v in (0.97214, 4824, 31.46, -0.00001234, 1e12, float("nan"))]
    ['0.972', '4,824', '31.5', '-1.23e-05', '1e+12', 'not a number']
    """
    if not isfinite(value):
        return "not a number" if isnan(value) else "infinite" if value > 0 else "-infinite"
    if value == 0:
        return "0"
    size = abs(value)
    if not MIN_FIXED <= size < MAX_FIXED:
        return f"{value:.3g}"
    if value == round(value):
        return f"{round(value):,}"
    return f"{value:,.{count_decimals(value, 3)}f}"


def format_count(count: int, noun: str, plural: str = "") -> str:
    """Format a count with its noun; a very large one in powers of ten.

    >>> format_count(1, "row"), format_count(3_200_000, "network"), format_count(3**40, "network")
    ('1 row', '3,200,000 networks', '1.22e+19 networks')
    """
    number = f"{count:,}" if count < 10**15 else f"{count:.3g}"
    return f"{number} {noun if count == 1 else plural or noun + 's'}"


def format_bytes(count: int) -> str:
    """Format a number of bytes.

    >>> format_bytes(208_000_000), format_bytes(1_500), format_bytes(12)
    ('208 MB', '1.5 kB', '12 bytes')
    """
    for unit, factor in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{count / factor:.{0 if count >= 10 * factor else 1}f} {unit}"
    return f"{count} bytes"


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


def format_fixed(value: float, decimals: int) -> str:
    """Format a number with this many decimals, or in powers of ten if it gets long."""
    return format_all_fixed([value], decimals)[0]


def format_all_fixed(values: Sequence[float], decimals: int) -> list[str]:
    """Format numbers with the same decimals, or all in powers of ten if one gets long."""
    largest = max(map(abs, values), default=0.0)
    if decimals > MAX_DECIMALS or largest >= MAX_FIXED:
        return [f"{value:.3g}" for value in values]
    return [f"{round(value, decimals) + 0.0:,.{decimals}f}" for value in values]  # never -0


def format_fixed_percent(share: float, decimals: int = 0) -> str:
    """Format a share in percent with this many decimals; empty if it is absurdly large.

    >>> format_fixed_percent(0.25), format_fixed_percent(0.0123, 1)
    ('25 %', '1.2 %')
    """
    return f"{100 * share:.{decimals}f} %" if abs(share) < 1e6 else ""


def format_fixed_interval(value: float, low: float, high: float, decimals: int) -> str:
    """Format a value and its interval with this many decimals.

    >>> format_fixed_interval(0.862, 0.84, 0.88, 3), format_fixed_interval(0.1, -0.2, 0.3, 1)
    ('0.862 (0.840-0.880)', '0.1 (-0.2 to 0.3)')
    """
    middle, first, last = (format_fixed(number, decimals) for number in (value, low, high))
    return f"{middle} ({first}-{last})" if low >= 0 else f"{middle} ({first} to {last})"


def count_decimals(value: float, digits: int) -> int:
    """Return how many decimals give a number `digits` significant digits."""
    return max(0, digits - 1 - floor(log10(abs(value)))) if value else 0


def choose_decimals(value: float) -> int:
    """Return how many decimals suit a column of values like this one: about three digits.

    >>> [choose_decimals(value) for value in (0.862, 0.041, 0.00034, 31.4, 62_000)]
    [3, 3, 5, 1, 0]
    """
    if value == 0 or 0.01 <= abs(value) <= 1:
        return 3
    return count_decimals(value, 3 if abs(value) > 1 else 2)


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


def format_clock(seconds: float) -> str:
    """Format a duration as a clock shows it.

    >>> format_clock(75.4), format_clock(7_325)
    ('1:15', '2:02:05')
    """
    minutes, rest = divmod(int(max(0.0, min(seconds, 1e9))), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


# --- metrics and costs ----------------------------------------------------------------------------


def metric_label(metric: str) -> str:
    """Return the name of a metric that people know."""
    return METRIC_LABELS.get(metric, (metric, False))[0]


def greater_is_better(metric: str) -> bool:
    """Return whether greater values of a metric are better; an unknown metric is a loss."""
    return METRIC_LABELS.get(metric, (metric, False))[1]


def cost_label(cost: str) -> str:
    """Return the name of a cost that people know.

    >>> cost_label("flops"), cost_label("multiply_adds")
    ('operations a row', 'multiply adds')
    """
    return COST_LABELS.get(cost, cost.replace("_", " "))


def format_cost(cost: float) -> str:
    """Format a cost: a count, or a measured value with one decimal, with more if it is below 10.

    >>> format_cost(20_000), format_cost(61.3203125), format_cost(0.6171875)
    ('20,000', '61.3', '0.617')
    """
    return f"{cost:,}" if isinstance(cost, int) else f"{cost:,.{max(1, count_decimals(cost, 3))}f}"


def format_limits(limits: Mapping[str, float]) -> str:
    """Format limits by the name of their cost.

    >>> format_limits({"parameters": 20_000, "bytes": 40_000})
    'parameters <= 20,000 and bytes <= 40,000'
    """
    return " and ".join(f"{name} <= {upper:,}" for name, upper in limits.items())


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
        texts = [f"{text}{unit}" for text in format_all_fixed(values, decimals)]
    else:
        texts = [format_score(metric, v) for v in (value, low, high)]
    return texts[0], texts[1], texts[2]
