"""How the texts of options become values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path

from tabnas.cli._completing import costs, engines
from tabnas.cli._numbers import byte_count, number_or_count
from tabnas.errors import TabNASError, did_you_mean


def with_named(
    optional: Mapping[str, float | None], named: Sequence[str] | None
) -> dict[str, float | None]:
    """The limits of the options, and those of `--max NAME=N` besides."""
    limits = dict(optional)
    for text in named or ():
        name, _, most = text.partition("=")
        name = name.strip() if name.strip() in costs() else name.strip().replace("-", "_")
        if name not in costs():
            raise TabNASError(f"--max: there is no cost {name!r}; {did_you_mean(name, costs())}")
        if limits.get(name) is not None:
            raise TabNASError(f"the limit on {name} must be given once, but it is there twice")
        try:
            limits[name] = byte_count(most) if name == "bytes" else number_or_count(most)
        except ValueError:
            raise TabNASError(
                f"--max takes the name of a cost and a number, like flops=60k; {text!r} is no such"
            ) from None
    return limits


def some_limits(**limits: float | None) -> dict[str, float]:
    """The limits that were given, by the name of their cost."""
    return {name: most for name, most in limits.items() if most is not None}


def given_limits(**limits: float | None) -> dict[str, float]:
    """The same, of which there must be one."""
    given = some_limits(**limits)
    if not given:
        others = [f"--max-{name.replace('_', '-')}" for name in limits if name != "parameters"]
        raise TabNASError(
            "give at least one limit, for example --max-parameters 20000; others are "
            f"{', '.join(others[:-1])} and {others[-1]}"
        )
    return given


def given_memory(memory: int) -> int:
    """As many bytes as the program itself takes, at least."""
    from tabnas.stores import LEAST_MEMORY

    if memory < LEAST_MEMORY:
        raise TabNASError(
            f"--memory must be at least {LEAST_MEMORY // 10**6}MB, of which the program itself "
            f"takes most, got {memory:,} bytes"
        )
    return memory


def known_engine(name: str) -> str:
    """An engine that a command may name."""
    if name not in engines():
        raise TabNASError(f"there is no engine {name!r}; {did_you_mean(name, engines())}")
    return name


def parse_widths(text: str) -> list[int]:
    """Candidate widths from `8,16,24`."""
    widths = []
    for part in text.split(","):
        part = part.strip()
        digits = part.removeprefix("-")
        if not (digits.isascii() and digits.isdecimal() and len(digits) < 10):
            raise TabNASError(
                f"--widths takes integers separated by commas, like 8,16,24; {part[:20]!r} is none"
            )
        widths.append(int(part))
    return widths


def parse_limits(text: str) -> list[float]:
    """Limits from `2000,5000,10k`, in their order; whole ones are integers."""
    limits: list[float] = []
    for part in text.split(","):
        try:
            limit = number_or_count(part.strip())
        except ValueError:
            limit = inf
        if not 0 < limit < inf:
            raise TabNASError(
                "--limits takes positive numbers separated by commas, like 2000,5000,10k; "
                f"{part.strip()[:20]!r} is none"
            )
        limits.append(limit)
    return limits


def parse_names(text: str | None) -> tuple[str, ...]:
    """Column names from `age,city`."""
    return tuple(name.strip() for name in text.split(",") if name.strip()) if text else ()


def declared_kinds(drop: str | None, **named: str | None) -> dict[str, str]:
    """The kinds that columns were declared to be; none may be two things, or dropped besides."""
    declared: dict[str, str] = {}
    for kind, names in (*named.items(), ("drop", drop)):
        for name in parse_names(names):
            if declared.setdefault(name, kind) != kind:
                raise TabNASError(
                    f"the column {name!r} must be of one kind, but both --{declared[name]} and "
                    f"--{kind} name it; remove one"
                )
    return {name: kind for name, kind in declared.items() if kind != "drop"}


def share_or_file(option: str, text: str | None, default: float) -> tuple[float, Path | None]:
    """A share of the rows like 0.2 or 20%, or the path of a file."""
    if text is None:
        return default, None
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return default, Path(text)
    if not 0 < share < 1:
        raise TabNASError(
            f"{option} takes a share of the rows between 0 and 1, or a file; {text!r} is neither"
        )
    return share, None
