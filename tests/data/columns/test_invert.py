"""Encoded features can be turned back into the values of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tabnas.data.columns import BooleanColumn, DatetimeColumn, FittedColumn, NumericColumn
from tabnas.types import FloatArray, Scaling


def arrow(values: Sequence[float] | NDArray[Any]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values)])


def encode(column: FittedColumn, values: Sequence[float] | NDArray[Any], rows: int) -> FloatArray:
    numeric = np.zeros((rows, len(column.features)), np.float32)
    column.encode(arrow(values), numeric, np.zeros(rows, np.int32))
    return numeric.astype(np.float64)


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=4, max_size=40),
    st.sampled_from(get_args(Scaling)),
)
def test_numbers_come_back(values: list[float], scaling: Scaling) -> None:
    column = NumericColumn.fit("x", arrow(values), scaling=scaling)
    encoded = encode(column, values, len(values))
    back = column.invert(0, encoded[:, 0])
    scaled = np.abs((np.array(values) - column.center) / column.scale)
    near = scaled < 100  # farther out, float32 keeps few digits of what is bent towards the limit
    precision = 1e-3 * column.scale if scaling == "robust" else 1e-5 * max(map(abs, values))
    assert np.abs(back - values)[near].max(initial=0.0) <= precision + 1e-30
    assert np.isfinite(back).all()


def test_values_at_the_limit_come_back_far_out_and_finite() -> None:
    column = NumericColumn.fit("x", arrow([-1e30, -1.0, -0.5, 0.0, 0.5, 1.0, 1e30]))
    back = column.invert(0, np.array([-4.0, 4.0]))
    assert np.isfinite(back).all()
    assert back[0] < -1e4 * column.scale < 1e4 * column.scale < back[1]


def test_marks_of_missing_values_stay_as_they_are() -> None:
    column = NumericColumn.fit("x", arrow([1.0, 2.0, np.nan]))
    assert column.features == ("x", "x is missing")
    assert column.invert(1, np.array([0.0, 1.0])).tolist() == [0.0, 1.0]
    assert BooleanColumn(name="b").invert(0, np.array([-1.0, 1.0])).tolist() == [-1.0, 1.0]


def test_times_come_back_as_seconds_since_1970() -> None:
    times = np.datetime64("2020-02-29T12:00") + np.arange(0, 900, 7).astype("timedelta64[D]")
    column = DatetimeColumn.fit("t", arrow(times.astype("datetime64[s]")))
    encoded = encode(column, times.astype("datetime64[s]"), len(times))
    seconds = times.astype("datetime64[s]").astype(np.int64)
    assert column.invert(0, encoded[:, 0]) == pytest.approx(seconds, abs=10)
    assert column.features[1] == "t year sine"
    assert column.invert(1, encoded[:, 1]).tolist() == encoded[:, 1].tolist()
