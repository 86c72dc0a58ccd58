"""Encoded rows keep the form of their targets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tabnas.data import EncodedTable
from tabnas.model import make_examples
from tabnas.nets import Inputs, NetworkSpec, TopClasses
from tabnas.runs.prepare._encoded_rows import EncodedRows, concatenate

SPEC = NetworkSpec(inputs=Inputs(numeric=2), loss="softmax", outputs=3)
Y = np.array([0, 2, 1], np.int32)
TARGETS = {
    "class numbers": Y,
    "probabilities": np.full((3, 3), 1 / 3, np.float32),
    "top classes": TopClasses([[0, 1], [2, 0], [1, 1]], [[0.75, 0.25]] * 3),
}


def make_rows(target: Any, weight: Any = None) -> EncodedRows:
    encoded = EncodedTable(np.arange(6, dtype=np.float32).reshape(3, 2), np.zeros((3, 0), np.int32))
    return EncodedRows(make_examples(SPEC, encoded, target, weight), encoded, Y, weight)


def dense(target: Any) -> Any:
    if isinstance(target, TopClasses):
        return target.to_probabilities(3)
    return np.eye(3)[target] if target.ndim == 1 else target


@pytest.mark.parametrize("form", TARGETS)
def test_some_rows_and_another_spec(form: str) -> None:
    rows = make_rows(TARGETS[form], np.array([1.0, 2.0, 3.0]))
    expected = dense(TARGETS[form])
    taken = rows.take(np.array([2, 0]))
    np.testing.assert_array_equal(dense(taken.examples.target), expected[[2, 0]])
    np.testing.assert_array_equal(taken.encoded.numeric, rows.encoded.numeric[[2, 0]])
    np.testing.assert_array_equal(taken.examples.weight, [3.0, 1.0])
    np.testing.assert_array_equal(taken.y, Y[[2, 0]])
    assert taken.encoded.numeric is taken.examples.numeric
    part = rows.take(slice(1, 3))
    for before, after in zip(rows.examples.arrays, part.examples.arrays, strict=True):
        assert np.shares_memory(before, after) or not before.size
    other = NetworkSpec(inputs=Inputs(numeric=2, knots=[(0.0, 1.0), ()]), loss="softmax", outputs=3)
    np.testing.assert_array_equal(dense(rows.with_spec(other).examples.target), expected)


@pytest.mark.parametrize("second", TARGETS)
@pytest.mark.parametrize("first", TARGETS)
def test_rows_one_after_the_other(first: str, second: str) -> None:
    joined = concatenate(make_rows(TARGETS[first], np.full(3, 2.0)), make_rows(TARGETS[second]))
    expected = np.concatenate([dense(TARGETS[first]), dense(TARGETS[second])])
    np.testing.assert_allclose(dense(joined.examples.target), expected)
    np.testing.assert_array_equal(joined.examples.weight, [2, 2, 2, 1, 1, 1])
