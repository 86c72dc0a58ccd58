from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from tabnas.data import to_group_ids, to_times
from tabnas.data.columns import CategoricalColumn
from tabnas.errors import TabNASError


@pytest.mark.parametrize(
    "values",
    [["2024-01-02", "2023-12-31", "2024-01-01"], [3, 1, 2], [0.3, 0.1, 0.2], ["30", "10", "20"]],
)
def test_times_are_ordered(values: list[object]) -> None:
    times = to_times("t", pa.chunked_array([values]))
    assert times.argsort().tolist() == [1, 2, 0]


def test_every_group_has_a_number() -> None:
    for column in (pa.chunked_array([["b", "a"], ["b"]]), pa.chunked_array([[7, 3, 7]])):
        assert to_group_ids("g", column).tolist() == [0, 1, 0]
    coded = pa.chunked_array([pa.array(["x", "y", "x"]).dictionary_encode()])
    assert to_group_ids("g", coded).tolist() == [0, 1, 0]
    ordered = pa.DictionaryArray.from_arrays(pa.array([1, 0, 1]), pa.array(["a", "b"]))
    assert to_group_ids("g", pa.chunked_array([ordered])).tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    "column",
    [
        pa.chunked_array([["a", " a", "b"], ["a ", "b\t"]]),
        pa.chunked_array([pa.array(["a", " a", "b", "a ", "b "]).dictionary_encode()]),
        pa.chunked_array([[1.0, 1.0, 2.5, 1.0, 2.5]]),
        pa.chunked_array([["1", " 1", "2", "1", "2"]]),
        pa.chunked_array([pa.array([Decimal("1.0"), 1, 2, 1, 2], pa.decimal128(5, 2))]),
        pa.chunked_array(
            [
                pa.array(["a", "a"]).dictionary_encode(),
                pa.array(["b", "a", "b"]).dictionary_encode(),
            ]
        ),
    ],
    ids=["texts", "coded", "floats", "digits", "decimals", "coded in chunks"],
)
def test_groups_are_distinguished_like_categories(column: pa.ChunkedArray) -> None:
    groups = to_group_ids("g", column)
    assert groups.tolist() == [0, 0, 1, 0, 1]
    fitted = CategoricalColumn.fit("g", column)
    codes = np.empty(len(groups), np.int32)
    fitted.encode(column, np.empty((len(groups), 0), np.float32), codes)
    assert len({*zip(groups.tolist(), codes.tolist(), strict=True)}) == 2


@pytest.mark.parametrize(
    "column",
    [
        pa.chunked_array([["a", "b", None, "c"]]),
        pa.chunked_array([["a", "b", " ? ", "c"]]),
        pa.chunked_array([["a", "b", "NaN", "c"]]),
        pa.chunked_array([["a", "b", "", "c"]]),
        pa.chunked_array([pa.array([1.0, 2.0, float("nan"), 3.0])]),
        pa.chunked_array([pa.array(["a", "b", "", "c"]).dictionary_encode()]),
    ],
)
def test_a_missing_group_is_refused(column: pa.ChunkedArray) -> None:
    with pytest.raises(TabNASError, match=r"row 3 is missing; fill it in, with a unique name"):
        to_group_ids("g", column)


def test_columns_that_cannot_be_groups_are_refused() -> None:
    with pytest.raises(TabNASError, match="which is not a kind of feature"):
        to_group_ids("g", pa.chunked_array([[[1], [2]]]))


def test_rows_that_cannot_be_ordered_are_refused() -> None:
    with pytest.raises(TabNASError, match="row 2 is missing"):
        to_times("t", pa.chunked_array([[1.0, None, 3.0]]))
    with pytest.raises(TabNASError, match="by dates, times or numbers"):
        to_times("t", pa.chunked_array([["spring", "fall", "winter"]]))
    with pytest.raises(TabNASError, match="row 3 is missing"):
        to_group_ids("g", pa.chunked_array([["a", "b", None]]))


def test_codes_with_leading_zeros_have_an_order() -> None:
    hours = pa.chunked_array([["0930", "0815", "1200"]])
    assert to_times("hour", hours).tolist() == [930, 815, 1200]
