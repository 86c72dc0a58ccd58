"""State that comes back from a file: checked once, field by field, before it is believed."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from tabnas.errors import TabNASError

MOST = 2**53  # no count of ours is larger


@dataclass(frozen=True)
class Check:
    """What a field must be, in words, and the function that gives it or fails."""

    meaning: str
    read: Callable[[Any], Any]


def checked(what: str, state: Any, checks: Mapping[str, Check]) -> dict[str, Any]:
    """The fields of the state, each as its check gives it; anything else is refused by name.

    >>> checked("the column", {"scale": -1}, {"scale": positive})
    Traceback (most recent call last):
        ...
    tabnas.errors.TabNASError: 'scale' of the column must be a positive number, got -1; \
the file is damaged
    """
    if not isinstance(state, Mapping):
        raise damaged(what, "a mapping of fields", state)
    for field in [*checks, *state]:
        if field not in state or field not in checks:
            trouble = "is missing" if field in checks else "has no meaning"
            raise TabNASError(f"{field!r} of {what} {trouble}; the file is damaged")
    fields = {}
    for field, check in checks.items():
        try:
            fields[field] = check.read(state[field])
        except TabNASError:
            raise
        except (TypeError, ValueError, OverflowError):
            raise damaged(f"{field!r} of {what}", check.meaning, state[field]) from None
    return fields


def damaged(what: str, meaning: str, given: Any) -> TabNASError:
    """The error of a file that says what no file of ours says."""
    shown = repr(given)
    shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
    return TabNASError(f"{what} must be {meaning}, got {shown}; the file is damaged")


def require(holds: bool) -> None:
    """Fail a check."""
    if not holds:
        raise ValueError


def listed(values: Any) -> list[Any]:
    """A list, and not a text, which is a sequence too."""
    require(isinstance(values, list | tuple))
    return list(values)


def _text(value: Any) -> str:
    require(isinstance(value, str))
    value.encode()  # half of a surrogate pair is no text
    return str(value)


def _flag(value: Any) -> bool:
    require(isinstance(value, bool))
    return bool(value)


def _finite(value: Any) -> float:
    require(isinstance(value, int | float) and not isinstance(value, bool))
    number = float(value)
    require(math.isfinite(number))
    return number


def _positive(value: Any) -> float:
    number = _finite(value)
    require(number > 0)
    return number


def _count(value: Any) -> int:
    require(isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST)
    return int(value)


def _distinct_texts(values: Any) -> tuple[str, ...]:
    texts = tuple(map(_text, listed(values)))
    require(len(set(texts)) == len(texts))
    return texts


text = Check("a text", _text)
flag = Check("true or false", _flag)
finite = Check("a finite number", _finite)
positive = Check("a positive number", _positive)
count = Check("a count", _count)
distinct_texts = Check("a list of different texts", _distinct_texts)


def one_of(choices: Collection[Any]) -> Check:
    """One of a few texts."""

    def read(value: Any) -> Any:
        require(isinstance(value, str) and value in choices)
        return value

    return Check(f"one of {', '.join(map(str, choices))}", read)


def some_of(choices: Collection[str]) -> Check:
    """Some of a few texts, in any order."""

    def read(values: Any) -> tuple[str, ...]:
        chosen = _distinct_texts(values)
        require(set(chosen) <= set(choices))
        return chosen

    return Check(f"some of {', '.join(choices)}", read)
