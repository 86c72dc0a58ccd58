"""Assertions of the conformance suites: equal up to rounding, equal bit for bit, raises."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

RELATIVE, ABSOLUTE = 2e-4, 2e-5
"""Tolerances for float32 sums in any order."""


def copy_arrays(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return copies of the arrays."""
    return {name: np.array(array) for name, array in state.items()}


def assert_close(actual: Any, expected: Any, what: str) -> None:
    """Assert that two arrays are equal up to rounding."""
    message = f"{what} must be those of the reference"
    np.testing.assert_allclose(actual, expected, RELATIVE, ABSOLUTE, err_msg=message)


def assert_all_close(actual: Mapping[str, Any], expected: Mapping[str, Any], what: str) -> None:
    """Assert the same names, and arrays that are equal up to rounding."""
    assert set(actual) == set(expected), f"{what} must be of {', '.join(sorted(expected))}"
    for name, array in expected.items():
        assert_close(actual[name], array, f"{what}, {name},")


def assert_identical(actual: Mapping[str, Any], expected: Mapping[str, Any], what: str) -> None:
    """Assert the same names, and arrays that are equal bit for bit."""
    assert set(actual) == set(expected), f"{what}, but the names of the arrays differ"
    for name, array in expected.items():
        assert np.array_equal(actual[name], array), f"{what}, but {name} differs"


def assert_raises(
    error: type[Exception], function: Callable[..., object], *arguments: object
) -> None:
    """Assert that the function raises the error."""
    try:
        function(*arguments)
    except error:
        return
    raise AssertionError(f"{function.__name__} must raise {error.__name__}, but raised nothing")
