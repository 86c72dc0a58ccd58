from __future__ import annotations

import json
import warnings
from datetime import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas import TabnasError
from tabnas.data import DataWarning, Kind, Table, TableEncoder, find_kind


def encoder_of(columns: dict[str, object], **options: object) -> TableEncoder:
    return TableEncoder.fit(Table.of(columns), **options)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, 3], Kind.NUMERIC),
        ([1.5, None, 2.0], Kind.NUMERIC),
        (["1", " 2.5", "?"], Kind.NUMERIC),
        (["red", "blue", None], Kind.CATEGORICAL),
        (["1", "2", "three"], Kind.CATEGORICAL),
        ([True, False, None], Kind.BOOLEAN),
        ([datetime(2020, 1, 1), datetime(2021, 1, 1)], Kind.DATETIME),
        (["2020-01-31", "2021-12-01 10:30:00"], Kind.DATETIME),
        (["2020-13-45", "2021-12-01"], Kind.CATEGORICAL),
        ([7, 7, 7], Kind.CONSTANT),
        ([None, None], Kind.CONSTANT),
        (["?", "NA"], Kind.CONSTANT),
        ([7, 7, None], Kind.NUMERIC),
        (pa.array(["1", "2"]).dictionary_encode(), Kind.CATEGORICAL),
    ],
)
def test_kinds_are_found(values: object, kind: Kind) -> None:
    assert find_kind("x", Table.of({"x": values}).column("x")) is kind


def test_kinds_can_be_forced() -> None:
    encoder = encoder_of({"zip": [8001, 3000, 8001]}, kinds={"zip": "categorical"}, min_count=1)
    assert encoder.categories == (3,)
    with pytest.raises(TabnasError, match="did you mean 'categorical'"):
        encoder_of({"zip": [1, 2]}, kinds={"zip": "category"})
    with pytest.raises(TabnasError, match="did you mean 'zip'"):
        encoder_of({"zip": [1, 2]}, kinds={"zap": "numeric"})


def test_missing_numbers_are_imputed_and_marked() -> None:
    encoder = encoder_of({"a": [1.0, 2.0, 9.0, None], "b": [1, 2, 3, 4]})
    assert encoder.features == ("a", "a is missing", "b")
    encoded = encoder.encode(Table.of({"a": [2.0, None], "b": [None, 1]})).numeric
    assert encoded[0].tolist() == [0.0, 0.0, 0.0]  # a median, and b imputed with its own
    assert encoded[1, :2].tolist() == [0.0, 1.0]


def test_categories_rare_missing_and_unseen() -> None:
    values = ["red"] * 3 + ["blue"] * 2 + ["green", None]
    encoder = encoder_of({"c": values}, min_count=2)
    assert encoder.categories == (4,)  # other, red, blue, missing
    asked = Table.of({"c": ["blue", "red", "green", "violet", None, " red "]})
    assert encoder.encode(asked).categorical[:, 0].tolist() == [2, 1, 0, 0, 3, 1]
    without = encoder_of({"c": ["x", "x", "y", "y"]})
    assert without.encode(Table.of({"c": [None, "y"]})).categorical[:, 0].tolist() == [0, 2]


def test_moments_have_cycles() -> None:
    days = [f"2020-{month:02d}-{day:02d}" for month in range(1, 13) for day in (1, 9, 17)]
    encoder = encoder_of({"when": days})
    assert encoder.features[1:] == ("when week sine", "when week cosine")  # 344 days: no year yet
    assert np.abs(encoder.encode(Table.of({"when": days})).numeric).max() <= 3
    hours = [f"2020-01-{d:02d} {h:02d}:00:00" for d in range(1, 20) for h in range(24)]
    assert "when day sine" in encoder_of({"when": hours}).features


def test_moments_with_a_zone_are_the_same_moment() -> None:
    encoder = encoder_of({"when": ["2020-01-01 00:00:00", "2020-01-03 00:00:00"]})
    plain = encoder.encode(Table.of({"when": ["2020-01-02 10:00:00"]})).numeric
    zoned = encoder.encode(Table.of({"when": ["2020-01-02T12:00:00+02:00"]})).numeric
    assert plain.tolist() == zoned.tolist()


def test_constants_are_dropped_and_said() -> None:
    encoder = encoder_of({"a": [1, 2], "b": ["x", "x"], "c": [None, None]})
    assert encoder.dropped == ("b", "c")
    assert encoder.describe()["b"] == "constant: dropped"
    with pytest.raises(TabnasError, match="every column of the table is constant"):
        encoder_of({"b": ["x", "x"]})


def test_identifiers_are_warned_of() -> None:
    with pytest.warns(DataWarning, match="'id' looks like an identifier"):
        encoder_of({"id": [f"row-{i}" for i in range(200)], "a": [0.5, 1.5] * 100})
    with pytest.warns(DataWarning, match="'row' looks like an identifier"):
        encoder_of({"row": list(range(200)), "a": [0.5, 1.5] * 100})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder_of({"x": np.random.default_rng(0).normal(size=200)})  # all differ, and may


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([1.0, float("inf")], "'a' must be finite, however row 2 is inf"),
        (["1", "-inf"], "'a' must be finite, however row 2 is -inf"),
        ([[1], [2]], "'a' holds list"),
        ([b"x", b"y"], "'a' holds binary"),
    ],
)
def test_values_that_are_none(values: list[object], sentence: str) -> None:
    with pytest.raises(TabnasError, match=sentence):
        encoder_of({"a": values, "b": [1, 2]})


@pytest.mark.parametrize("scaling", ["robust", "standard", "none"])
def test_huge_values_stay_finite(scaling: str) -> None:
    values = [1e308, -1e308, 1.0, 0.0, 5e-324, None]
    table = Table.of({"a": values})
    encoded = TableEncoder.fit(table, scaling=scaling).encode(table).numeric
    assert np.isfinite(encoded).all()


def test_outliers_do_not_squash_the_rest() -> None:
    values = np.append(np.random.default_rng(0).normal(size=999), 1e12)
    table = Table.of({"a": values})
    encoded = TableEncoder.fit(table).encode(table).numeric[:, 0]
    assert encoded[:-1].std() > 0.5
    assert encoded[-1] == pytest.approx(4.0)


def test_other_tables_are_matched_by_name() -> None:
    encoder = encoder_of({"a": [1, 2, 3], "b": ["x", "y", "x"]}, min_count=1)
    swapped = encoder.encode(Table.of({"z": [0, 0], "b": ["y", "x"], "a": [2, 3]}))
    straight = encoder.encode(Table.of({"a": [2, 3], "b": ["y", "x"]}))
    assert (swapped.numeric == straight.numeric).all()
    assert (swapped.categorical == straight.categorical).all()
    with pytest.raises(TabnasError, match="must have the column 'b'"):
        encoder.encode(Table.of({"a": [1]}))
    with pytest.raises(TabnasError, match="'a' must hold numbers, however row 2 is 'one'"):
        encoder.encode(Table.of({"a": ["2", "one"], "b": ["x", "x"]}))


def test_arrays_are_matched_by_position() -> None:
    encoder = TableEncoder.fit(Table.of(np.arange(6.0).reshape(3, 2)))
    assert encoder.encode(Table.of(np.zeros((4, 2)))).numeric.shape == (4, 2)
    with pytest.raises(TabnasError, match="2 columns of the training table, however 3"):
        encoder.encode(Table.of(np.zeros((4, 3))))


cells = st.one_of(
    st.none(), st.floats(allow_infinity=False), st.integers(-(2**60), 2**60), st.text(max_size=5)
)


@given(
    st.lists(st.tuples(cells, cells), min_size=1, max_size=30), st.sampled_from(["robust", "none"])
)
def test_any_table_is_encoded_the_same_after_a_round_trip(
    rows: list[tuple[object, object]], scaling: str
) -> None:
    table = Table.of({"a": [row[0] for row in rows], "b": [row[1] for row in rows]})
    try:
        encoder = TableEncoder.fit(table, scaling=scaling)
    except TabnasError:
        return
    restored = TableEncoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
    assert restored.describe() == encoder.describe()
    once, again = encoder.encode(table), restored.encode(table)
    assert np.isfinite(once.numeric).all()
    assert (once.numeric == again.numeric).all()
    assert (once.categorical == again.categorical).all()
    assert (once.categorical < np.array(encoder.categories, int)).all()
    single = encoder.encode(table.take(np.array([0])))
    assert (single.numeric[0] == once.numeric[0]).all()


def test_a_newer_format_is_refused() -> None:
    state = encoder_of({"a": [1, 2]}).to_dict() | {"format": 2}
    with pytest.raises(TabnasError, match="a newer tabnas"):
        TableEncoder.from_dict(state)
