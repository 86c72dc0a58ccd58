from __future__ import annotations

import pyarrow as pa
import pytest

from tabnas.data import group_numbers, moments
from tabnas.errors import TabnasError


@pytest.mark.parametrize(
    "values",
    [["2024-01-02", "2023-12-31", "2024-01-01"], [3, 1, 2], [0.3, 0.1, 0.2], ["30", "10", "20"]],
)
def test_moments_rise_with_time(values: list[object]) -> None:
    found = moments("t", pa.chunked_array([values]))
    assert found.argsort().tolist() == [1, 2, 0]


def test_every_group_has_a_number() -> None:
    for column in (pa.chunked_array([["b", "a"], ["b"]]), pa.chunked_array([[7, 3, 7]])):
        assert group_numbers("g", column).tolist() == [0, 1, 0]
    coded = pa.chunked_array([pa.array(["x", "y", "x"]).dictionary_encode()])
    assert group_numbers("g", coded).tolist() == [0, 1, 0]


def test_rows_that_cannot_be_ordered_are_named() -> None:
    with pytest.raises(TabnasError, match="row 2 is missing"):
        moments("t", pa.chunked_array([[1.0, None, 3.0]]))
    with pytest.raises(TabnasError, match="by dates, times or numbers"):
        moments("t", pa.chunked_array([["spring", "fall", "winter"]]))
    with pytest.raises(TabnasError, match="row 3 is missing"):
        group_numbers("g", pa.chunked_array([["a", "b", None]]))
