"""Objects that can be converted to a table, and those that are refused."""

from __future__ import annotations

import decimal
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tabnas import TabNASError
from tabnas.data import Kind, Table, TableEncoder, infer_kind

REFUSED = "'x' holds (list|struct|map|binary|fixed_size)"


def encode(table: Table, **options: object) -> np.ndarray:
    result = TableEncoder.fit(table, min_count=1, **options).encode(table)
    assert np.isfinite(result.numeric).all()
    return np.concatenate([result.numeric, result.categorical], axis=1)


def infer(data: object, name: str = "x") -> Kind:
    table = Table.from_data(data)
    assert len(encode(table)) == len(table)
    return infer_kind(name, table.column(name))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([decimal.Decimal("1.50"), None, decimal.Decimal("2")], Kind.NUMERIC),
        (pa.array([decimal.Decimal("1.5"), None], pa.decimal32(5, 2)), Kind.NUMERIC),
        (pa.array([decimal.Decimal("1.5"), None], pa.decimal256(50, 2)), Kind.NUMERIC),
        ([timedelta(seconds=1), timedelta(days=2)], Kind.NUMERIC),
        ([time(10, 30), time(11), None], Kind.NUMERIC),
        (pa.array([1, 2], pa.time64("ns")), Kind.NUMERIC),
        ([date(2020, 1, 1), date(2021, 1, 1), None], Kind.DATETIME),
        ([datetime(2020, 1, 1, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)], Kind.DATETIME),
        (pa.array([0, 10**9], pa.timestamp("s", "Europe/Zurich")), Kind.DATETIME),
        (pa.array([1, 2, None]).dictionary_encode(), Kind.CATEGORICAL),
        (pa.array([1.0, 2.0]).dictionary_encode(), Kind.CATEGORICAL),
        (pa.array(["1", "2"], pa.string_view()).dictionary_encode(), Kind.CATEGORICAL),
        (pa.array(["a", "b"], pa.string_view()), Kind.CATEGORICAL),
        (pa.array(["a", "b"], pa.large_string()), Kind.CATEGORICAL),
        ([True, None, False], Kind.BOOLEAN),
        ([2**70, 1, 2], Kind.NUMERIC),
        ([1, "x", None, 2.0], Kind.CATEGORICAL),
        (["a\ud800", "b"], Kind.CATEGORICAL),
        (np.array([1, 2], np.float16), Kind.NUMERIC),
        (np.array([1, np.nan, 3], np.longdouble), Kind.NUMERIC),
        (np.array([1, 2], np.uint64), Kind.NUMERIC),
        (np.array([True, False]), Kind.BOOLEAN),
        (np.array(["2020-01-01", "NaT", "2021-01-01"], "M8[D]"), Kind.DATETIME),
        (np.array(["a", "b"]), Kind.CATEGORICAL),
        (np.array([1, 2.5, None], object), Kind.NUMERIC),
        (pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, 1], pa.int8())), Kind.NUMERIC),
    ],
)
def test_types_of_columns(values: object, kind: Kind) -> None:
    assert infer({"x": values}) is kind


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1], [2]], REFUSED),
        ([{"a": 1}, {"a": 2}], REFUSED),
        ([b"a", b"b"], REFUSED),
        (pa.array([b"1" * 16, b"2" * 16], pa.uuid()), REFUSED),
        (pa.array([[1], [2]], pa.list_view(pa.int64())), REFUSED),
        (np.array([1j, 2j]), "'x' holds complex numbers"),
        (3, "'x' must hold values, got int"),
        ("ab", "'x' must hold values, got str"),
    ],
)
def test_types_that_cannot_be_features_are_refused(values: object, message: str) -> None:
    for options in ({}, {"rows": np.array([1, 0])}, {"kinds": {"x": "categorical"}}):
        with pytest.raises(TabNASError, match=message):
            encode(Table.from_data({"x": values, "y": values}), **options)


def test_nested_columns_can_be_dropped() -> None:
    table = Table.from_data({"x": [[1], [2]], "y": [1, 2]})
    assert encode(table, drop=["x"]).shape == (2, 1)


def test_pandas() -> None:
    pd = pytest.importorskip("pandas")
    for dtype in ("Int64", "Float64", "string[pyarrow]", "category", "int64[pyarrow]"):
        kind = infer(pd.DataFrame({"x": pd.Series([1, 2, 1], dtype=dtype)}))
        assert kind is (Kind.CATEGORICAL if dtype == "category" else Kind.NUMERIC)
    assert infer({"x": pd.Series([True, None], dtype="boolean")}) is Kind.BOOLEAN
    assert infer({"x": pd.Series(["a", None], dtype="string")}) is Kind.CATEGORICAL
    assert infer({"x": pd.Series(pd.arrays.SparseArray([0, 1, 0]))}) is Kind.NUMERIC
    frame = pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"])
    with pytest.raises(TabNASError, match="several columns called 'a'"):
        Table.from_data(frame)
    assert Table.from_data(frame.set_axis([1, ("b", 2)], axis=1)).names == ["1", "('b', 2)"]
    with pytest.raises(TabNASError, match="got a series"):
        Table.from_data(frame.iloc[:, 0])
    with pytest.raises(TabNASError, match="'x' holds struct"):
        encode(Table.from_data(pd.DataFrame({"x": pd.interval_range(0, 3)})))


def test_polars() -> None:
    pl = pytest.importorskip("polars")
    for dtype in (pl.Categorical, pl.Enum(["u", "v"])):
        assert infer(pl.DataFrame({"x": pl.Series(["u", "v", None], dtype=dtype)})) is (
            Kind.CATEGORICAL
        )
    assert infer(pl.DataFrame({"x": [float("nan"), 1.0, None]})) is Kind.NUMERIC
    frame = pl.DataFrame({"x": ["u", "v", "u"]})
    assert Table.from_data(frame).take(np.array([2, 1])).arrow.to_pydict() == {"x": ["u", "v"]}
    with pytest.raises(TabNASError, match="but Series has none"):
        Table.from_data(frame["x"])


def test_arrays() -> None:
    structured = np.array([(1, "u"), (2, "v")], dtype=[("a", int), ("b", "U1")])
    assert Table.from_data(structured).names == ["a", "b"]
    assert Table.from_data(structured).has_names
    masked = np.ma.MaskedArray([[1.0, 2.0], [3.0, 4.0]], mask=[[True, False], [False, False]])
    assert Table.from_data(masked).arrow.to_pydict() == {"x0": [None, 3.0], "x1": [2.0, 4.0]}
    for column in (np.zeros((2, 1)), np.zeros((2, 3)), np.ma.zeros((2, 1)), np.array(3.0)):
        with pytest.raises(TabNASError, match="the column 'x' must have one dimension, got an arr"):
            Table.from_data({"x": column, "y": [1, 2]})
    rows = Table.from_data([[1, "u", None], [2, "v", 2.5]])
    assert rows.arrow.to_pydict() == {"x0": [1, 2], "x1": ["u", "v"], "x2": [None, 2.5]}
    for bad in (np.zeros(3), np.zeros((2, 2, 2)), [1, 2], [[1, 2], [3]]):
        with pytest.raises(TabNASError, match="must have two dimensions"):
            Table.from_data(bad)
    with pytest.raises(TabNASError, match="same number of values"):
        Table.from_data([np.zeros((2, 2)), np.zeros((2, 3))])


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    assert Table.from_data(torch.zeros((3, 2))).names == ["x0", "x1"]


def test_sparse_matrices_are_refused() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    for matrix in (sparse.csr_matrix((2, 2)), sparse.coo_array((2, 2))):
        with pytest.raises(TabNASError, match=r"must be dense.*densify it"):
            Table.from_data(matrix)


@pytest.mark.parametrize("other", [3, "table", None, lambda: 0])
def test_other_objects_are_refused(other: object) -> None:
    with pytest.raises(TabNASError, match="a table must be"):
        Table.from_data(other)


def test_names() -> None:
    table = Table.from_data({" a ": [1, 2], "b": [3, 4]})
    assert table.names == ["a", "b"]
    assert table.column(" a ").to_pylist() == table.column("a").to_pylist() == [1, 2]
    assert table.drop([" a"]).names == ["b"]
    with pytest.raises(TabNASError, match="several columns called 'a'"):
        Table.from_data({"a": [1], "a ": [2]})
    with pytest.raises(TabNASError, match="several columns called 'a'"):
        Table.from_data(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]))
    with pytest.raises(TabNASError, match="column 2 of the table has no name"):
        Table.from_data({"a": [1], "  ": [2]})
    with pytest.raises(TabNASError, match="no column 'incone'; did you mean 'income'"):
        Table.from_data({"income": [1], "age": [2]}).column("incone")


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(TabNASError, match="the 2 rows of 'a', but 'b' has 1"):
        Table.from_data({"a": [1, 2], "b": [1]})


@pytest.mark.parametrize(
    "values",
    [
        [1.5, -0.0],
        [7, 2**60 + 1],
        [True, False],
        ["u", "v"],
        np.array(["2024-01-05", "2024-02-01"], "datetime64[ns]"),
        np.array(["u", 3.0], object),
    ],
    ids=str,
)
@pytest.mark.parametrize("dimensions", [1, 2])
def test_masked_values_are_missing(values: Any, dimensions: int) -> None:
    """Whatever is behind the mask, and whatever value the array would fill in."""
    plain = np.array([*values, values[0]], np.asarray(values).dtype)
    masked = np.ma.MaskedArray(plain, mask=[False, False, True])
    repr(masked.fill_value)  # NumPy may choose it now
    column = {
        1: lambda array: Table.from_data({"x": array}).column("x"),
        2: lambda array: Table.from_data(array[:, None]).column("x0"),
    }[dimensions]
    first, second, third = column(masked).to_pylist()
    assert third is None
    expected = column(plain)
    assert column(masked).type == expected.type
    assert [first, second] == expected.to_pylist()[:2]
