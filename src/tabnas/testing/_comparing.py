"""How conformance suites compare numbers: to rounding, to the bit, by an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

RELATIVE, ABSOLUTE = 2e-4, 2e-5
"""How far apart float32 may be from the formulas, whatever order it adds in."""


def copied(state: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays as they are now, whatever becomes of them."""
    return {name: np.array(array) for name, array in state.items()}


def close(ours: Any, expected: Any, what: str) -> None:
    """Equal but for rounding."""
    message = f"{what} must be those of the reference"
    np.testing.assert_allclose(ours, expected, RELATIVE, ABSOLUTE, err_msg=message)


def all_close(ours: Mapping[str, Any], expected: Mapping[str, Any], what: str) -> None:
    """The same names, and arrays that are equal but for rounding."""
    assert set(ours) == set(expected), f"{what} must be of {', '.join(sorted(expected))}"
    for name, array in expected.items():
        close(ours[name], array, f"{what}, {name},")


def same(ours: Mapping[str, Any], expected: Mapping[str, Any], what: str) -> None:
    """The same names, and arrays that are equal bit for bit."""
    assert set(ours) == set(expected), f"{what}, however there are other arrays than before"
    for name, array in expected.items():
        assert np.array_equal(ours[name], array), f"{what}, however {name} differs"


def refused(error: type[Exception], act: Callable[..., object], *given: object) -> None:
    """It raises that error."""
    try:
        act(*given)
    except error:
        return
    raise AssertionError(f"{act.__name__} must raise {error.__name__}, however nothing was raised")
