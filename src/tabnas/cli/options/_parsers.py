"""Parsers of option values: numbers with units, lists, limits, shares of the rows.

The parsers of numbers are passed to Typer. They raise a ValueError that begins with "must be", to
which Typer adds the name of the option. The others take options that Typer has parsed as texts, and
raise a TabNASError.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from math import inf
from pathlib import Path
from typing import TypeVar

from tabnas.cli.options._completion import cost_names
from tabnas.errors import TabNASError, did_you_mean

Number = TypeVar("Number", int, float)

DEFAULT_SHARE = 0.2  # of the rows, for validation and for test
COUNT_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
BYTE_UNITS = {
    **{f"{prefix}{b}": factor for prefix, factor in COUNT_UNITS.items() for b in ("", "b")},
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "byte": 1, "bytes": 1,
}  # fmt: skip
COUNT_COSTS = ("parameters", "dense_parameters", "flops")
BYTE_COSTS = ("bytes", "ram_bytes")
SECOND_UNITS = {"": 1, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600}
NUMBER = re.compile(r"([+-]?\d[\d_]{0,24}(?:\.\d{1,20})?(?:[eE][+-]?\d{1,2})?)\s?([A-Za-z]*)", re.A)
THOUSANDS = re.compile(
    r"([1-9]\d{0,2}(?:(?:,\d{3}){1,8}|(?:\.\d{3}){1,8}))\s?(?:b|bytes?)?", re.A | re.I
)
"""Integers with marks between thousands; 20.000 is twenty in some countries."""

# -- numbers ---------------------------------------------------------------------------------------


def parse_large_int(text: str | int) -> int:
    """Parse an integer.

    >>> parse_large_int("20_000"), parse_large_int("20k"), parse_large_int("1.5M")
    (20000, 20000, 1500000)
    """
    return _parse_scaled_int(text, COUNT_UNITS, "must be an integer, like 20000 or 20k")


def parse_int(text: str | int) -> int:
    """Parse an integer that is usually small."""
    return _parse_scaled_int(text, COUNT_UNITS, "must be an integer")


def parse_bytes(text: str | int) -> int:
    """Parse a number of bytes, also in kB and MB, or in KiB and MiB.

    >>> parse_bytes("80000"), parse_bytes("80kB"), parse_bytes("64KiB")
    (80000, 80000, 65536)
    """
    return _parse_scaled_int(text, BYTE_UNITS, "must be a number of bytes, like 80000 or 80kB")


def parse_memory(text: str | int) -> int:
    """Parse a size of memory, in bytes."""
    return _parse_scaled_int(text, BYTE_UNITS, "must be a size, like 500MB or 2GB")


def parse_float(text: str | float) -> float:
    """Parse any number, also inf and nan, which are refused later with a better reason."""
    if not isinstance(text, str):
        return text
    try:
        return float(text)
    except ValueError:
        return float(_parse_decimal(text, COUNT_UNITS, "must be a number"))


def parse_number(text: str) -> float:
    """Parse any number, as an integer if it is one.

    >>> parse_number("60k"), parse_number("2.50"), parse_number("1e3")
    (60000, 2.5, 1000)
    """
    try:
        return parse_large_int(text)
    except ValueError:
        return parse_float(text)


def parse_seconds(text: str | float) -> float:
    """Parse a duration, in seconds.

    >>> parse_seconds("300"), parse_seconds("5m"), parse_seconds("1.5h")
    (300.0, 300.0, 5400.0)
    """
    if not isinstance(text, str):
        return text
    try:
        return float(text)
    except ValueError:
        must = "must be a number of seconds, like 300 or 5m"
        return float(_parse_decimal(text, SECOND_UNITS, must))


def at_least(minimum: Number, parse: Callable[[str], Number]) -> Callable[[str], Number]:
    """Return a parser like `parse` that refuses values below a minimum."""

    def parse_bounded(text: str) -> Number:
        value = parse(text)
        if not minimum <= value < inf:  # nan is refused, too
            raise ValueError(f"must be a number of at least {minimum:g}, got {text}")
        return value

    return parse_bounded


def greater_than(bound: float, parse: Callable[[str], float]) -> Callable[[str], float]:
    """Return a parser like `parse` that refuses the bound and values below it."""

    def parse_bounded(text: str) -> float:
        value = parse(text)
        if not value > bound:  # so that nan is refused, too
            raise ValueError(f"must be greater than {bound:g}, got {text}")
        return value

    return parse_bounded


def _parse_scaled_int(text: str | int, units: dict[str, int], must: str) -> int:
    if not isinstance(text, str):
        return text
    value = _parse_decimal(text, units, must)
    hint = _suggest_integer(text)
    if hint or value != int(value):
        raise ValueError(f"{must}, got {text!r}{hint}")
    return int(value)


def _parse_decimal(text: str, units: dict[str, int], must: str) -> Decimal:
    """Parse a number exactly: 1.1k is 1100, which floats would miss."""
    match = NUMBER.fullmatch(text.strip())
    if match is not None and match[2].lower() in units:
        return Decimal(match[1].replace("_", "")) * units[match[2].lower()]
    raise ValueError(f"{must}, got {text[:40]!r}{_suggest_integer(text)}")


def _suggest_integer(text: str) -> str:
    """Return a hint for an integer like 20,000 or 20.000, otherwise nothing."""
    match = THOUSANDS.fullmatch(text.strip())
    return f"; did you mean {re.sub('[,.]', '', match[1])}?" if match else ""


# -- limits ----------------------------------------------------------------------------------------


def add_named_limits(
    limits: Mapping[str, float | None], named: Sequence[str] | None
) -> dict[str, float | None]:
    """Return the limits together with those of `--max NAME=N`."""
    limits = dict(limits)
    for text in named or ():
        name, _, value = text.partition("=")
        name = name.strip() if name.strip() in cost_names() else name.strip().replace("-", "_")
        if name not in cost_names():
            hint = did_you_mean(name, cost_names())
            raise TabNASError(f"--max: there is no cost {name!r}; {hint}")
        if limits.get(name) is not None:
            raise TabNASError(f"the limit on {name} must be given once, got it twice")
        try:
            limits[name] = parse_limit(name, value)
        except ValueError:
            raise TabNASError(
                f"--max must be the name of a cost and a number, like flops=60k, got {text!r}"
                f"{_suggest_integer(value)}"
            ) from None
    return limits


def parse_limit(cost: str, text: str) -> float:
    """Parse a limit on a cost: bytes have units of their own, and counts no thousands like 20.000.

    >>> parse_limit("bytes", "80kB"), parse_limit("latency_us", "1.125")
    (80000, 1.125)
    """
    if cost in BYTE_COSTS:
        return parse_bytes(text)
    hint = _suggest_integer(text)
    if cost in COUNT_COSTS and hint:
        raise ValueError(f"must be a number, got {text!r}{hint}")
    return parse_number(text)


def drop_missing_limits(limits: Mapping[str, float | None]) -> dict[str, float]:
    """Return the limits that are not None."""
    return {name: value for name, value in limits.items() if value is not None}


def require_limits(limits: Mapping[str, float | None]) -> dict[str, float]:
    """Return the limits that are not None; raise an error if there are none."""
    present = drop_missing_limits(limits)
    if not present:
        others = [f"--max-{name.replace('_', '-')}" for name in limits if name != "parameters"]
        raise TabNASError(
            "at least one limit must be given, for example --max-parameters 20000; the others are "
            f"{', '.join(others[:-1])} and {others[-1]}"
        )
    return present


def parse_limits(text: str, *, cost: str) -> list[float]:
    """Parse limits on a cost like `2000,5000,10k`, in their order; integers stay integers."""
    limits: list[float] = []
    for part in text.split(","):
        try:
            limit = parse_limit(cost, part.strip())
        except ValueError:
            limit = inf
        if not 0 < limit < inf:
            raise TabNASError(
                "--limits must be positive numbers separated by commas, like 2000,5000,10k, got "
                f"{part.strip()[:20]!r}{_suggest_integer(part)}"
            )
        limits.append(limit)
    return limits


# -- other options ---------------------------------------------------------------------------------


def check_memory(memory: int) -> int:
    """Return the number of bytes; refuse fewer than the program itself takes."""
    from tabnas.stores import MIN_MEMORY

    if memory < MIN_MEMORY:
        raise TabNASError(
            f"--memory must be at least {MIN_MEMORY // 10**6}MB, most of which the program "
            f"itself takes, got {memory:,} bytes"
        )
    return memory


def parse_widths(text: str, *, option: str = "--widths") -> list[int]:
    """Parse the candidate widths, or other numbers, of an option: `8,16,24`."""
    widths = []
    for part in text.split(","):
        part = part.strip()
        digits = part.removeprefix("-")
        if not (digits.isascii() and digits.isdecimal() and len(digits) < 10):
            raise TabNASError(
                f"{option} must be integers separated by commas, like 8,16,24, got {part[:20]!r}"
            )
        widths.append(int(part))
    return widths


def parse_names(text: str | None) -> tuple[str, ...]:
    """Parse column names like `age,city`."""
    return tuple(name.strip() for name in text.split(",") if name.strip()) if text else ()


def parse_kinds(drop: str | None, **columns: str | None) -> dict[str, str]:
    """Return the declared kind of each column; refuse a column of two kinds, or a dropped one.

    >>> parse_kinds("id", categorical="city,zip", numeric="age")
    {'city': 'categorical', 'zip': 'categorical', 'age': 'numeric'}
    """
    kinds: dict[str, str] = {}
    for kind, names in (*columns.items(), ("drop", drop)):
        for name in parse_names(names):
            if kinds.setdefault(name, kind) != kind:
                raise TabNASError(
                    f"the column {name!r} must be of one kind, but both --{kinds[name]} and "
                    f"--{kind} name it; remove one"
                )
    return {name: kind for name, kind in kinds.items() if kind != "drop"}


def parse_share_or_file(option: str, text: str | None) -> tuple[float, Path | None]:
    """Parse a share of the rows like 0.2 or 20%, or the path of a file."""
    if text is None:
        return DEFAULT_SHARE, None
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return DEFAULT_SHARE, Path(text)
    if not 0 < share < 1:
        raise TabNASError(
            f"{option} must be a share of the rows above 0 and below 1, or a file, got {text!r}"
        )
    return share, None
