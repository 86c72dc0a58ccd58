"""Numbers as people write them on a command line: 20000, 20_000, 20k, 2e4, 80kB, 5m.

Each function is the parser of an option. What is wrong with a text is a ValueError that begins with
"must be", to which `_mistakes.py` adds the option and what was given.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import TypeVar

Number = TypeVar("Number", int, float)

THOUSANDS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
BYTES = {
    **{f"{prefix}{b}": many for prefix, many in THOUSANDS.items() for b in ("", "b")},
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "byte": 1, "bytes": 1,
}  # fmt: skip
SECONDS = {"": 1, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600}
NUMBER = re.compile(r"([+-]?\d[\d_]{0,24}(?:\.\d{1,20})?(?:[eE][+-]?\d{1,2})?)\s?([A-Za-z]*)", re.A)


def count(text: str | int) -> int:
    """A whole number.

    >>> count("20_000"), count("20k"), count("1.5M"), count("2e4")
    (20000, 20000, 1500000, 20000)
    """
    return _whole(text, THOUSANDS, "must be a whole number, like 20000 or 20k")


def whole(text: str | int) -> int:
    """The same, for what is small."""
    return _whole(text, THOUSANDS, "must be a whole number")


def byte_count(text: str | int) -> int:
    """Bytes, also as kB and MB, or KiB and MiB.

    >>> byte_count("80000"), byte_count("80kB"), byte_count("64KiB")
    (80000, 80000, 65536)
    """
    return _whole(text, BYTES, "must be a number of bytes, like 80000 or 80kB")


def size(text: str | int) -> int:
    """The same, for memory."""
    return _whole(text, BYTES, "must be a size, like 500MB or 2GB")


def number(text: str | float) -> float:
    """Any number; also inf and nan, for whoever takes them to say why not."""
    if not isinstance(text, str):
        return text
    try:
        return float(text)
    except ValueError:
        return float(_parsed(text, THOUSANDS, "must be a number"))


def number_or_count(text: str) -> float:
    """Parse any number, as an integer if it is a whole one.

    >>> number_or_count("60k"), number_or_count("2.50"), number_or_count("1e3")
    (60000, 2.5, 1000)
    """
    try:
        return count(text)
    except ValueError:
        return number(text)


def seconds(text: str | float) -> float:
    """A duration.

    >>> seconds("300"), seconds("5m"), seconds("1.5h")
    (300.0, 300.0, 5400.0)
    """
    if not isinstance(text, str):
        return text
    try:
        return float(text)
    except ValueError:
        return float(_parsed(text, SECONDS, "must be a number of seconds, like 300 or 5m"))


def at_least(least: Number, parse: Callable[[str], Number]) -> Callable[[str], Number]:
    """The same, which must not be less."""

    def parsed(text: str) -> Number:
        value = parse(text)
        if not value >= least:  # so that nan is refused, too
            raise ValueError(f"must be at least {least:g}")
        return value

    return parsed


def more_than(bound: float, parse: Callable[[str], float]) -> Callable[[str], float]:
    """Return a parser like `parse` that refuses the bound and what is below it."""

    def parsed(text: str) -> float:
        value = parse(text)
        if not value > bound:  # so that nan is refused, too
            raise ValueError(f"must be more than {bound:g}")
        return value

    return parsed


def _whole(text: str | int, units: dict[str, int], must: str) -> int:
    if not isinstance(text, str):
        return text
    value = _parsed(text, units, must)
    if value != int(value):
        raise ValueError(must)
    return int(value)


def _parsed(text: str, units: dict[str, int], must: str) -> Decimal:
    """Exactly what was written: 1.1k is 1100, whatever floats make of it."""
    found = NUMBER.fullmatch(text.strip())
    if found is not None and found[2].lower() in units:
        return Decimal(found[1].replace("_", "")) * units[found[2].lower()]
    digits = text.strip().replace(",", "")
    if found is None and "," in text and digits.isascii() and digits.isdecimal():
        must += f"; did you mean {digits}?"  # 20,000 is another number where a comma is a point
    raise ValueError(must)
