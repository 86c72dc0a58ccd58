"""Values of columns in types of every width."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas.data import Table, TableEncoder
from tabnas.data._number_text import NumberFormat
from tabnas.data._values import UNITS, factorize_texts, to_numbers, to_texts
from tabnas.errors import TabNASError


@pytest.mark.parametrize("index", [pa.int8(), pa.uint8(), pa.int16(), pa.int64()])
def test_dictionaries_that_use_all_their_indices(index: pa.DataType) -> None:
    words = [f"w{i:03d}" for i in range(128)]
    rows = pa.array([*range(128), None], pa.int32()).cast(index)
    chunks = [
        pa.DictionaryArray.from_arrays(rows, pa.array(words)),
        pa.DictionaryArray.from_arrays(rows, pa.array([word.upper() for word in words])),
    ]
    column = pa.chunked_array(chunks)
    values, codes = factorize_texts(column)
    assert codes.dtype == np.int32
    assert values.take(pa.array(codes)).to_pylist() == column.to_pylist()
    table = Table(pa.table({"word": pa.chunked_array(chunks * 2)}))
    codes = TableEncoder.fit(table).encode(table).categorical[:, 0]
    assert len(set(codes.tolist())) == 257


@pytest.mark.parametrize(
    ("kind", "ticks"),
    [
        (pa.duration("s"), 90),
        (pa.duration("ms"), 90_000),
        (pa.duration("us"), 90_000_000),
        (pa.duration("ns"), 90_000_000_000),
        (pa.time32("s"), 90),
        (pa.time32("ms"), 90_000),
        (pa.time64("us"), 90_000_000),
        (pa.time64("ns"), 90_000_000_000),
    ],
    ids=str,
)
def test_durations_and_times_of_the_day_are_seconds(kind: pa.DataType, ticks: int) -> None:
    column = pa.chunked_array([pa.array([ticks, None, ticks // 2], kind)])
    assert to_numbers("t", column).tolist()[::2] == [90.0, 45.0]
    assert np.isnan(to_numbers("t", column)[1])


@given(st.data(), st.sampled_from(sorted(UNITS)), st.booleans())
def test_texts_of_times_are_the_same_seconds_as_arrows_times(
    data: st.DataObject, unit: str, is_short: bool
) -> None:
    ticks = data.draw(st.lists(st.integers(0, 86_400 * int(UNITS[unit]) - 1), min_size=1))
    kind = pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
    column = pa.chunked_array([pa.array([*ticks, None], kind)])
    texts = [
        text and text.removeprefix("0" * is_short) for text in column.cast("string").to_pylist()
    ]
    seconds = to_numbers("t", column)
    np.testing.assert_array_equal(to_numbers("t", pa.chunked_array([texts])), seconds)
    decimal_commas = NumberFormat(",")
    np.testing.assert_array_equal(
        to_numbers("t", pa.chunked_array([texts]), decimal_commas), seconds
    )


def test_times_of_day_as_texts() -> None:
    texts = pa.chunked_array([["08:15", " 9:20 ", "?"], ["0:00:01.25", None, "23:59:59"]])
    seconds = [29_700.0, 33_600.0, np.nan, 1.25, np.nan, 86_399.0]
    np.testing.assert_array_equal(to_numbers("t", texts), seconds)
    np.testing.assert_array_equal(to_numbers("t", texts.dictionary_encode()), seconds)


@pytest.mark.parametrize(
    ("texts", "number_format", "message"),
    [
        (["08:15"] * 9 + ["24:00"], ".", "must hold times of day, but row 10 is '24:00'; write it"),
        (["8"] + ["08:15"] * 20, ".", "must hold times of day, but row 1 is '8'; write it like 08"),
        (["08:15", "24:00", "x"], ".", "must hold numbers, but row 1 is '08:15'"),
        (["7.5", "08:15"], ".", "must hold numbers, but row 2 is '08:15'"),
        (["08:15", "09:20"], ".$", "must hold numbers .* unit '[$]', but row 1 is '08:15'"),
    ],
)
def test_texts_among_times_are_named(texts: list[str], number_format: str, message: str) -> None:
    with pytest.raises(TabNASError, match=f"'t' {message}"):
        to_numbers("t", pa.chunked_array([texts]), NumberFormat(*number_format))


def test_the_text_of_a_number_does_not_depend_on_its_type() -> None:
    columns = [
        pa.array([1, None, -20]),
        pa.array([1.0, None, -20.0]),
        pa.array([1.0, float("nan"), -20.0]),
        pa.array(["1", "?", " -20 "]),
        pa.array([Decimal("1.00"), None, Decimal("-20.00")]),
    ]
    for column in columns:
        assert to_texts(pa.chunked_array([column])).to_pylist() == ["1", None, "-20"]
    assert to_texts(pa.chunked_array([[1e15, 0.5, 2.0**62]])).to_pylist() == [
        "1000000000000000", "0.5", str(2**62),
    ]  # fmt: skip
