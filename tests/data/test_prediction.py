"""Tables for prediction may have other types, other columns and other values."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pyarrow as pa
import pytest

from tabnas import TabNASError
from tabnas.data import EncodedTable, Table, TableEncoder

TRAINING = {
    "size": [1.0, 2.0, 3.0, 4.0],
    "code": [1, 2, 1, 2],
    "color": ["red", "blue", "red", "blue"],
    "paid": [True, False, True, None],
    "when": [datetime(2020, 1, day) for day in (1, 2, 3, 4)],
}


@pytest.fixture
def encoder() -> TableEncoder:
    return TableEncoder.fit(Table.from_data(TRAINING), kinds={"code": "categorical"})


def make_row(**changes: object) -> Table:
    row = {"size": [2.0], "code": [2], "color": ["red"], "paid": [True]}
    return Table.from_data(row | {"when": [datetime(2020, 1, 2)]} | changes)


def flatten(encoded: EncodedTable) -> list[float]:
    return [*encoded.numeric[0], *encoded.categorical[0]]


@pytest.mark.parametrize(
    "changes",
    [
        {"size": ["2"]},
        {"size": [" 2.0 "]},
        {"size": [2]},
        {"size": pa.array([2], pa.uint8())},
        {"size": pa.array([2.0], pa.float32())},
        {"code": ["2"]},
        {"code": [" 2"]},
        {"code": [2.0]},
        {"code": np.array([2], np.float16)},
        {"code": pa.array([2]).dictionary_encode()},
        {"code": pa.array([2.0]).dictionary_encode()},
        {"code": pa.array(["2"], pa.large_string())},
        {"color": ["red "]},
        {"color": pa.array(["red"]).dictionary_encode()},
        {"paid": [1]},
        {"paid": [1.0]},
        {"paid": ["1"]},
        {"paid": ["true"]},
        {"paid": ["TRUE"]},
        {"when": ["2020-01-02"]},
        {"when": ["2020-01-02 00:00:00.123456789"]},
        {"when": ["2020-01-02T02:00:00+02:00"]},
        {"when": pa.array([datetime(2020, 1, 2)], pa.timestamp("ns", "UTC"))},
        {"when": pa.array([datetime(2020, 1, 2)]).cast(pa.date32())},
        {"extra": ["ignored"]},
    ],
)
def test_other_types_give_the_same_code(encoder: TableEncoder, changes: dict[str, object]) -> None:
    assert flatten(encoder.encode(make_row(**changes))) == flatten(encoder.encode(make_row()))


def test_large_codes_as_floats() -> None:
    codes = [10**15, 10**16 + 2, 10**15, 10**16 + 2]
    encoder = TableEncoder.fit(Table.from_data({"c": codes}), kinds={"c": "categorical"})
    as_floats = Table.from_data({"c": [float(code) for code in codes]})
    assert encoder.encode(as_floats).categorical[:, 0].tolist() == [1, 2, 1, 2]
    decimals = pa.array(codes).cast(pa.decimal128(25, 2))
    assert encoder.encode(Table.from_data({"c": decimals})).categorical[:, 0].tolist() == [
        1,
        2,
        1,
        2,
    ]
    mixed = encoder.encode(Table.from_data({"c": [1e15, "x", None, 10**15]}))
    assert mixed.categorical[:, 0].tolist() == [1, 0, 0, 1]


def test_datetimes_with_and_without_a_zone_in_one_column() -> None:
    encoder = TableEncoder.fit(Table.from_data({"when": TRAINING["when"]}))
    mixed = ["2020-01-02", "2020-01-02T01:00:00+01:00", "2020-01-01T23:30-0030"]
    encoded = encoder.encode(Table.from_data({"when": mixed})).numeric
    assert (encoded == encoded[0]).all()


@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize("name", sorted(TRAINING))
def test_columns_without_any_value(encoder: TableEncoder, name: str, rows: int) -> None:
    columns = {n: make_row().column(n).take(np.zeros(rows, int)) for n in TRAINING}
    for nothing in (pa.nulls(rows), [None] * rows, pa.array(["?"] * rows, pa.string())):
        encoded = encoder.encode(Table.from_data(columns | {name: nothing}))
        assert encoded.numeric.shape == (rows, len(encoder.features))
        assert encoded.categorical.shape == (rows, 2)
        assert np.isfinite(encoded.numeric).all()


def test_tables_without_rows(encoder: TableEncoder) -> None:
    empty = Table.from_data({name: [] for name in TRAINING})
    assert len(encoder.encode(empty)) == 0
    assert len(encoder.encode(make_row(), np.array([], int))) == 0
    without_chunks = pa.table(TRAINING).schema.empty_table()
    assert len(encoder.encode(Table(without_chunks))) == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"size": [float("inf")]}, "'size' must be finite, but row 1 is inf"),
        ({"size": ["1e999"]}, "'size' must be finite, but row 1 is inf"),
        ({"size": ["two"]}, "'size' must hold numbers, but row 1 is 'two'"),
        ({"size": [datetime(2020, 1, 1)]}, "'size' must hold numbers, but it holds dates"),
        ({"size": [[1]]}, "'size' holds list"),
        ({"color": [[1]]}, "'color' holds list"),
        ({"paid": ["maybe"]}, "'paid' must hold true and false.*row 1 is 'maybe'"),
        ({"paid": [2]}, "'paid' must hold true and false.*row 1 is '2'"),
        ({"paid": [[1]]}, "'paid' holds list"),
        ({"when": ["soon"]}, "'when' must hold dates or times.*row 1 is 'soon'"),
        ({"when": ["2020-13-45"]}, "'when' must hold dates or times.*row 1 is '2020-13-45'"),
        ({"when": [3]}, "'when' must hold dates or times, but it holds int64"),
    ],
)
def test_values_of_another_kind_are_refused(
    encoder: TableEncoder, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(TabNASError, match=message):
        encoder.encode(make_row(**changes))


def test_missing_columns_are_named(encoder: TableEncoder) -> None:
    table = make_row().drop(["color"])
    with pytest.raises(TabNASError, match="must have the column 'color'"):
        encoder.encode(table)
    renamed = Table(table.arrow.append_column("colour", [["red"]]))
    with pytest.raises(TabNASError, match="did you mean 'colour'"):
        encoder.encode(renamed)
    with pytest.raises(TabNASError, match=r"'size'.*as are 4 others"):
        encoder.encode(Table.from_data({"z": [1]}))


def test_the_error_names_the_row_of_the_table() -> None:
    table = Table.from_data({"a": [1.0, 2.0, float("inf"), 4.0], "b": ["1", "2", "3", "x"]})
    rows = np.array([0, 1, 3])
    with pytest.raises(TabNASError, match="'b' must hold numbers, but row 4 is 'x'"):
        TableEncoder.fit(table, rows=rows, kinds={"b": "numeric"})
    encoder = TableEncoder.fit(table, rows=rows)
    assert len(encoder.encode(table, rows[::-1])) == 3
    with pytest.raises(TabNASError, match="'a' must be finite, but row 3 is inf"):
        encoder.encode(table, np.array([3, 2, 1]))
    moments = Table.from_data({"t": ["2020-01-01", "2020-01-02", "no", "2020-01-03", "2020-02-31"]})
    encoder = TableEncoder.fit(moments, rows=np.array([0, 1]))
    for rows, row in (([0, 1, 3, 4], 5), ([1, 0, 2, 4], 3)):
        with pytest.raises(TabNASError, match=f"'t' must hold dates.*row {row} is"):
            encoder.encode(moments, np.array(rows))
