"""Any bytes and any values give a finite table or a clear error."""

from __future__ import annotations

import io
import json
import warnings
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from pyarrow import feather, parquet

from tabnas import TabNASError
from tabnas.data import DataWarning, EncodedTable, Table, TableEncoder, read_table
from tabnas.data._values import are_numbers

one_file = settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])


def check_reading(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    try:
        table = read_table(path)
        encoded = TableEncoder.fit(table).encode(table)
    except TabNASError:
        return
    assert len(encoded) == len(table) > 0
    assert np.isfinite(encoded.numeric).all()


@given(
    st.binary(max_size=200), st.sampled_from([".csv", ".tsv", ".csv.gz", ".parquet", ".feather"])
)
@one_file
def test_any_bytes_are_read_or_refused(tmp_path: Path, content: bytes, ending: str) -> None:
    check_reading(tmp_path / f"fuzz{ending}", content)


@given(st.text(alphabet=',;\t|"\n\r ?1a.e-\0é', max_size=60), st.sampled_from([".csv", ".tsv"]))
@one_file
def test_any_separated_text_is_read_or_refused(tmp_path: Path, content: str, ending: str) -> None:
    check_reading(tmp_path / f"fuzz{ending}", content.encode())


def write_bytes(write: object) -> bytes:
    table = pa.table({"a": [1.5, None, 3.0] * 5, "b": ["x", None, "zz"] * 5, "c": [True] * 15})
    file = io.BytesIO()
    write(table, file)
    return file.getvalue()


FILES = {
    ".parquet": write_bytes(parquet.write_table),
    ".feather": write_bytes(feather.write_feather),
}


@given(
    st.sampled_from(sorted(FILES)),
    st.lists(st.tuples(st.integers(0), st.integers(0, 255)), min_size=1),
)
@example(".parquet", [(272, 128)])  # the name of a column is not valid text
@one_file
def test_damaged_files_are_read_or_refused(
    tmp_path: Path, ending: str, damage: list[tuple[int, int]]
) -> None:
    content = bytearray(FILES[ending])
    for place, value in damage:
        content[place % len(content)] = value
    check_reading(tmp_path / f"fuzz{ending}", bytes(content))


numbers = st.one_of(
    st.floats(allow_infinity=False), st.integers(-(2**70), 2**70), st.sampled_from([1e308, 5e-324])
)
cells = st.one_of(
    st.none(), numbers, st.booleans(), st.text(max_size=5), st.sampled_from(["", "?", "🦉", "a\0"])
)
moments = st.datetimes(datetime(1, 1, 2), datetime(9999, 1, 1))
columns = st.one_of(
    *(
        st.lists(st.none() | values, min_size=8, max_size=8)
        for values in (
            cells,
            numbers,
            st.booleans(),
            st.text(max_size=5),
            moments,
            moments.map(str),
            st.sampled_from(["1", "2.5", "-3e4", " 5", "?"]),
            st.timedeltas(timedelta(-(10**5)), timedelta(10**5)),
        )
    )
)


def is_equal(one: EncodedTable, other: EncodedTable) -> bool:
    return np.array_equal(one.numeric, other.numeric) and np.array_equal(
        one.categorical, other.categorical
    )


@given(st.lists(columns, min_size=1, max_size=4), st.sampled_from(["robust", "standard", "none"]))
@settings(max_examples=100)
def test_any_table_is_encoded_or_refused(values: list[list[object]], scaling: str) -> None:
    table = Table.from_data({f"c{i}": column for i, column in enumerate(values)})
    try:
        encoder = TableEncoder.fit(table, scaling=scaling, min_count=1)
    except TabNASError:
        return
    encoded = encoder.encode(table)
    assert encoded.numeric.shape == (8, len(encoder.features))
    assert np.isfinite(encoded.numeric).all()
    assert (encoded.categorical >= 0).all()
    assert (encoded.categorical < np.array(encoder.n_categories, int)).all()
    assert TableEncoder.fit(table, scaling=scaling, min_count=1).to_dict() == encoder.to_dict()
    restored = TableEncoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
    assert restored.to_dict() == encoder.to_dict()
    assert restored.describe() == encoder.describe()
    assert is_equal(restored.encode(table), encoded)
    for row in range(8):
        alone = np.array([row])
        assert is_equal(encoder.encode(table, alone), encoded.take(alone))


@given(
    st.lists(columns, min_size=1, max_size=3),
    st.lists(st.integers(0, 7), min_size=2, max_size=12),
)
def test_encoding_some_rows_equals_encoding_a_copy_of_them(
    values: list[list[object]], numbers: list[int]
) -> None:
    table = Table.from_data({f"c{i}": column for i, column in enumerate(values)})
    rows = np.array(numbers)
    try:
        encoder = TableEncoder.fit(table.take(rows))
    except TabNASError:
        with pytest.raises(TabNASError):
            TableEncoder.fit(table, rows=rows)
        return
    assert TableEncoder.fit(table, rows=rows).to_dict() == encoder.to_dict()
    try:
        encoded = encoder.encode(table.take(rows))
    except TabNASError:
        return
    assert is_equal(encoder.encode(table, rows), encoded)


@given(st.text(alphabet="+-.0123eEinfatyINFATY()_ ", max_size=6))
@settings(max_examples=1000)
def test_numbers_are_recognised_as_arrow_does(text: str) -> None:
    assume(text)
    values = pa.chunked_array([[text]])
    try:
        parsed = values.cast(pa.float64()).null_count == 0
    except pa.ArrowInvalid:
        parsed = False
    assert are_numbers(values) == parsed


@given(st.lists(st.text(max_size=3), min_size=2, max_size=40), st.integers(1, 5))
def test_limiting_an_encoder_equals_fitting_with_the_limit(texts: list[str], limit: int) -> None:
    table = Table.from_data({"c": texts, "d": list(range(len(texts)))})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        fitted = TableEncoder.fit(table, kinds={"c": "categorical"}, max_categories=limit)
        unlimited = TableEncoder.fit(table, kinds={"c": "categorical"})
    assert unlimited.with_max_categories(limit).to_dict() == fitted.to_dict()
