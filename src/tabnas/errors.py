"""The errors a user can cause. Everything else that escapes is a fault of ours."""

from __future__ import annotations

import copyreg
import difflib
import operator
from collections.abc import Iterable
from typing import Any

MAX_LISTED = 30


class TabNASError(ValueError):
    """Something in the input cannot be done; the message says what, and what to do about it."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle by `args` and attributes, whatever arguments `__init__` takes.

        The default calls `__init__` with `args`, which fails in another process for every class
        that makes its message itself.
        """
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__ or None  # type: ignore[attr-defined]


class InfeasibleError(TabNASError):
    """No architecture of the space meets the limits."""


class InexactError(TabNASError):
    """The question has an exact answer only, and this feasible set is known by sampling alone."""


class InexactWarning(UserWarning):
    """A feasible set is too large for exact inference and falls back to Monte Carlo."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A clause that names the known word nearest to `name`, or all of them if none is near.

    >>> did_you_mean("paramters", ["flops", "parameters"])
    "did you mean 'parameters'?"
    """
    known = sorted(known)
    near = find_nearest(name, known)
    if near is not None:
        return f"did you mean {near!r}?"
    if len(known) > MAX_LISTED:
        known = [*known[:MAX_LISTED], f"and {len(known) - MAX_LISTED:,} more"]
    return f"known: {', '.join(known)}"


def find_nearest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The word that `name` begins, if only one does, or the most alike; capitals do not count.

    >>> find_nearest("acc", ["accuracy", "auc"]), find_nearest("nwe.csv", ["one.csv", "new.csv"])
    ('accuracy', 'new.csv')
    """
    given, words = name.casefold(), {word.casefold(): word for word in known}
    begun = [word for word in words if len(given) > 1 and word.startswith(given)]
    if len(begun) == 1:
        return words[begun[0]]
    alike = difflib.get_close_matches(given, words, n=5, cutoff=cutoff)
    best = max(alike, key=lambda word: _similarity(given, word), default=None)
    return None if best is None else words[best]


def _similarity(given: str, word: str) -> tuple[float, bool]:
    """Of two words that are equally alike, the one that begins alike is more likely meant."""
    return difflib.SequenceMatcher(None, word, given).ratio(), word[:1] == given[:1]


def check_int(name: str, value: int, *, minimum: int) -> int:
    """Return the value as an integer of at least `minimum`, or raise an error that names it.

    >>> check_int("layers", 0, minimum=1)
    Traceback (most recent call last):
        ...
    tabnas.errors.TabNASError: layers must be an integer of at least 1, got 0
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or number < minimum:
        raise TabNASError(f"{name} must be an integer of at least {minimum}, got {value!r}")
    return number
