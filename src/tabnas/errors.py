"""The errors that users can cause; all other exceptions are bugs."""

from __future__ import annotations

import copyreg
import difflib
import operator
from collections.abc import Iterable
from typing import Any

MAX_LISTED = 30
"""Known words that an error lists."""


class TabNASError(ValueError):
    """An input is invalid; the message says what is wrong, and what to do about it."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle by `args` and attributes, whatever arguments `__init__` takes.

        The default calls `__init__` with `args`, which fails for every class whose `__init__`
        takes other arguments and builds the message from them.
        """
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__ or None  # type: ignore[attr-defined]


class InfeasibleError(TabNASError):
    """No architecture of the space meets the limits."""


class InexactError(TabNASError):
    """A method needs exact inference, but this feasible set only supports Monte Carlo."""


class InexactWarning(UserWarning):
    """A feasible set is too large for exact inference and falls back to Monte Carlo."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a clause that names the known word most similar to `name`, or all known words.

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
    """Return the only known word that starts with `name`, or the most similar one, or None.

    Upper and lower case are not distinguished.

    >>> find_nearest("acc", ["accuracy", "auc"]), find_nearest("nwe.csv", ["one.csv", "new.csv"])
    ('accuracy', 'new.csv')
    """
    name, words = name.casefold(), {word.casefold(): word for word in known}
    completions = [word for word in words if len(name) > 1 and word.startswith(name)]
    if len(completions) == 1:
        return words[completions[0]]
    similar = difflib.get_close_matches(name, words, n=5, cutoff=cutoff)
    best = max(similar, key=lambda word: _similarity(name, word), default=None)
    return None if best is None else words[best]


def _similarity(name: str, word: str) -> tuple[float, bool]:
    """Return a sort key: of two equally similar words, the one with the same initial is better."""
    return difflib.SequenceMatcher(None, word, name).ratio(), word[:1] == name[:1]


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
