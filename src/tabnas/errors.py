"""The errors a user can cause. Everything else that escapes is a fault of ours."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Iterable

MOST_NAMED = 30


class TabnasError(ValueError):
    """Something in the input cannot be done; the message says what, and what to do about it."""


class InfeasibleError(TabnasError):
    """No architecture of the space meets the limits."""


class InexactError(TabnasError):
    """The question has an exact answer only, and this feasible set is known by sampling alone."""


class InexactWarning(UserWarning):
    """A feasible set is too large for exact inference and falls back to Monte Carlo."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A clause that names the known word nearest to `name`, or all of them if none is near.

    >>> did_you_mean("paramters", ["flops", "parameters"])
    "did you mean 'parameters'?"
    """
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    if len(known) > MOST_NAMED:
        known = [*known[:MOST_NAMED], f"and {len(known) - MOST_NAMED:,} more"]
    return f"known: {', '.join(known)}"


def whole(name: str, value: int, *, least: int) -> int:
    """The value as an integer of at least `least`, or an error that names it.

    >>> whole("layers", 0, least=1)
    Traceback (most recent call last):
        ...
    tabnas.errors.TabnasError: layers must be an integer of at least 1, however 0 was given
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or number < least:
        raise TabnasError(
            f"{name} must be an integer of at least {least}, however {value!r} was given"
        )
    return number
