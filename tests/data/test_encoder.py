from __future__ import annotations

import warnings
from datetime import date, datetime, timedelta

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas import TabNASError
from tabnas.data import DataWarning, EncodedTable, Kind, Table, TableEncoder, _table, infer_kind
from tabnas.data._datetimes import are_datetimes, find_datetimes
from tabnas.data.columns import DatetimeColumn
from tabnas.threads import limit_threads


def fit_encoder(columns: dict[str, object], **options: object) -> TableEncoder:
    return TableEncoder.fit(Table.from_data(columns), **options)


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
        (["08:15", " 9:20", "23:59:59.5", None], Kind.NUMERIC),
        (["08:15", "24:00"], Kind.CATEGORICAL),
        (["16:9", "4:3"], Kind.CATEGORICAL),
        ([7, 7, 7], Kind.CONSTANT),
        ([None, None], Kind.CONSTANT),
        (["?", "NA"], Kind.CONSTANT),
        ([7, 7, None], Kind.NUMERIC),
        (pa.array(["1", "2"]).dictionary_encode(), Kind.CATEGORICAL),
    ],
)
def test_kinds_are_inferred(values: object, kind: Kind) -> None:
    assert infer_kind("x", Table.from_data({"x": values}).column("x")) is kind


def test_kinds_can_be_forced() -> None:
    encoder = fit_encoder({"zip": [8001, 3000, 8001]}, kinds={"zip": "categorical"}, min_count=1)
    assert encoder.n_categories == (3,)
    with pytest.raises(TabNASError, match="did you mean 'categorical'"):
        fit_encoder({"zip": [1, 2]}, kinds={"zip": "category"})
    with pytest.raises(TabNASError, match="did you mean 'zip'"):
        fit_encoder({"zip": [1, 2]}, kinds={"zap": "numeric"})


def test_missing_numbers_are_imputed_and_marked() -> None:
    encoder = fit_encoder({"a": [1.0, 2.0, 9.0, None], "b": [1, 2, 3, 4]})
    assert encoder.features == ("a", "a is missing", "b")
    encoded = encoder.encode(Table.from_data({"a": [2.0, None], "b": [None, 1]})).numeric
    assert encoded[0].tolist() == [0.0, 0.0, 0.0]  # a median, and b imputed with its own
    assert encoded[1, :2].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("scaling", ["robust", "standard", "none"])
def test_missing_numbers_take_the_median(scaling: str) -> None:
    encoder = fit_encoder({"a": [1.0, 2.0, 9.0, None]}, scaling=scaling)
    missing, median = encoder.encode(Table.from_data({"a": [None, 2.0]})).numeric[:, 0]
    assert missing == median


def test_scaling_uses_quartiles_or_the_deviation() -> None:
    values = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 80.0]  # quartiles 2, 4 and 6
    table = Table.from_data({"a": values})
    scaled = (np.array(values) - 4) / (4 / 1.349)
    robust = fit_encoder({"a": values}).encode(table).numeric[:, 0]
    np.testing.assert_allclose(robust, scaled / np.sqrt(1 + (scaled / 4) ** 2), rtol=1e-6)
    standard = fit_encoder({"a": values}, scaling="standard").encode(table).numeric[:, 0]
    np.testing.assert_allclose(standard, (values - np.mean(values)) / np.std(values), rtol=1e-6)
    plain = fit_encoder({"a": values}, scaling="none").encode(table).numeric[:, 0]
    assert plain.tolist() == values


def test_if_half_the_values_are_equal_the_deviation_scales() -> None:
    values = [0.0] * 7 + [5.0, 9.0]
    encoded = fit_encoder({"a": values}).encode(Table.from_data({"a": values})).numeric[:, 0]
    scaled = np.array(values) / np.std(values)
    np.testing.assert_allclose(encoded, scaled / np.sqrt(1 + (scaled / 4) ** 2), rtol=1e-6)


def test_rare_missing_and_unseen_categories() -> None:
    values = ["red"] * 3 + ["blue"] * 2 + ["green", None]
    encoder = fit_encoder({"c": values}, min_count=2)
    assert encoder.n_categories == (4,)  # other, red, blue, missing
    new_rows = Table.from_data({"c": ["blue", "red", "green", "violet", None, " red "]})
    assert encoder.encode(new_rows).categorical[:, 0].tolist() == [2, 1, 0, 0, 3, 1]
    without = fit_encoder({"c": ["x", "x", "y", "y"]})
    assert without.encode(Table.from_data({"c": [None, "y"]})).categorical[:, 0].tolist() == [0, 2]


def test_categories_are_sorted_by_frequency_and_then_alphabetically() -> None:
    values = ["b", "a", "c", "d", "d"]
    for rows in (values, values[::-1]):  # whichever comes first
        encoder = fit_encoder({"c": rows}, min_count=1)
        codes = encoder.encode(Table.from_data({"c": ["d", "a", "b", "c"]})).categorical[:, 0]
        assert codes.tolist() == [1, 2, 3, 4]
    few = fit_encoder({"c": values}, min_count=1, max_categories=2)
    assert few.n_categories == (3,)  # other, d, a
    assert few.encode(Table.from_data({"c": ["d", "a", "b"]})).categorical[:, 0].tolist() == [
        1,
        2,
        0,
    ]


def test_booleans() -> None:
    encoder = fit_encoder({"b": [True, False, None, True]})
    assert encoder.features == ("b",)
    new_rows = Table.from_data({"b": [True, False, None]})
    assert encoder.encode(new_rows).numeric[:, 0].tolist() == [1.0, -1.0, 0.0]


def test_datetimes_are_scaled_by_their_span_and_have_cycles() -> None:
    """The week starts on a Monday: its median is Thursday noon, half its span 3.5 days."""
    days = ["2024-01-01", "2024-01-04", "2024-01-05", "2024-01-08", None]
    encoder = fit_encoder({"when": days})
    assert encoder.features == ("when", "when week sine", "when week cosine", "when is missing")
    quarter = "2024-01-02 18:00:00"  # of the week
    new_rows = ["2024-01-01", "2024-01-08", quarter, "2034-01-01", None]
    encoded = encoder.encode(Table.from_data({"when": new_rows})).numeric
    assert encoded[:, 0].tolist() == [-1.0, 1.0, -0.5, 3.0, 0.0]  # at most 3
    np.testing.assert_allclose(encoded[[0, 1, 2, 4], 1], [0, 0, 1, 0], atol=1e-6)
    np.testing.assert_allclose(encoded[[0, 1, 2, 4], 2], [1, 1, 0, 0], atol=1e-6)
    assert encoded[:, 3].tolist() == [0.0, 0.0, 0.0, 0.0, 1.0]
    assert fit_encoder({"when": ["2024-01-01", "2024-01-03", "2024-01-07"]}).features == ("when",)


def test_cycles_of_datetimes_depend_on_their_span() -> None:
    days = [f"2020-{month:02d}-{day:02d}" for month in range(1, 13) for day in (1, 9, 17)]
    encoder = fit_encoder({"when": days})
    assert encoder.features[1:] == ("when week sine", "when week cosine")  # 344 days: no year yet
    assert np.abs(encoder.encode(Table.from_data({"when": days})).numeric).max() <= 3
    hours = [f"2020-01-{d:02d} {h:02d}:00:00" for d in range(1, 20) for h in range(24)]
    assert "when day sine" in fit_encoder({"when": hours}).features


def test_datetimes_with_a_zone_are_converted() -> None:
    encoder = fit_encoder({"when": ["2020-01-01 00:00:00", "2020-01-03 00:00:00"]})
    plain = encoder.encode(Table.from_data({"when": ["2020-01-02 10:00:00"]})).numeric
    zoned = encoder.encode(Table.from_data({"when": ["2020-01-02T12:00:00+02:00"]})).numeric
    assert plain.tolist() == zoned.tolist()


def test_constant_columns_are_dropped_and_listed() -> None:
    encoder = fit_encoder({"a": [1, 2], "b": ["x", "x"], "c": [None, None]})
    assert encoder.unused == ("b", "c")
    assert encoder.describe()["b"] == "constant: dropped"
    with pytest.raises(TabNASError, match="all are constant or dropped"):
        fit_encoder({"b": ["x", "x"]})
    nothing = fit_encoder({"a": [1, 2], "b": pa.array([float("nan"), None])})
    assert nothing.constant == ("b",)


def test_columns_can_be_dropped() -> None:
    table = Table.from_data({"a": [1, 2], "b": ["x", "x"], "c": [[1], [2]], "d": [3, 4]})
    encoder = TableEncoder.fit(table, drop=["d", " c "])
    assert encoder.dropped == ("c", "d")
    assert encoder.constant == ("b",)
    assert encoder.unused == ("b", "c", "d")
    assert encoder.describe()["d"] == "dropped, as asked for"
    assert encoder.encode(Table.from_data({"a": [1]})).numeric.shape == (1, 1)
    with pytest.raises(TabNASError, match="no column 'e'"):
        TableEncoder.fit(table, drop=["e"])
    with pytest.raises(TabNASError, match="constant or dropped"):
        TableEncoder.fit(table, drop=["a", "c", "d"])


def test_a_vocabulary_can_be_limited_later() -> None:
    values = ["red"] * 3 + ["blue"] * 2 + ["green", None]
    encoder = fit_encoder({"c": values, "d": [1, 2, 3, 4, 5, 6, 7]}, min_count=1)
    limited = encoder.with_max_categories(1)
    assert encoder.n_categories == (5,)
    assert limited.n_categories == (3,)  # other, red, missing
    assert limited.describe()["c"].startswith("categorical: 1 categories, 2 rare ones pooled")
    new_rows = Table.from_data({"c": ["blue", "red", None], "d": [1, 2, 3]})
    assert limited.encode(new_rows).categorical[:, 0].tolist() == [0, 1, 2]
    with pytest.raises(TabNASError, match="max_categories must be an integer of at least 1"):
        encoder.with_max_categories(0)


def test_numbers_mixed_with_texts_are_refused() -> None:
    numbers = [str(i / 2) for i in range(40)]
    remarks = {"x": [*numbers[:7], "n.a.", *numbers[7:], "broken"]}
    with pytest.raises(
        TabNASError,
        match=r"'x' must hold numbers only, but row 8 is 'n\.a\.', "
        r"which is not a number, as is another; leave such values empty",
    ):
        fit_encoder(remarks)
    rows = np.arange(42)[::-1]
    with pytest.raises(TabNASError, match="row 42 is 'broken'"):
        TableEncoder.fit(Table.from_data(remarks), rows=rows)
    assert fit_encoder(remarks, kinds={"x": "categorical"}, min_count=1).n_categories == (43,)
    with pytest.raises(TabNASError, match=r"'x' must hold numbers, but row 8 is 'n\.a\.'"):
        fit_encoder(remarks, kinds={"x": "numeric"})
    objects = np.array([*range(40), "old"], object)
    with pytest.raises(TabNASError, match="row 41 is 'old', which is not a number; leave"):
        fit_encoder({"x": objects})


@pytest.mark.parametrize("odd", ["2020-02-30", "0000-00-00", "unknown", "2020-01-01T24:00"])
def test_dates_mixed_with_texts_are_refused(odd: str) -> None:
    days = np.arange("2020-01-01", "2020-03-01", dtype="datetime64[D]").astype(str).tolist()
    assert infer_kind("x", Table.from_data({"x": days}).column("x")) is Kind.DATETIME
    with pytest.raises(
        TabNASError,
        match=f"'x' must hold dates only, but row 8 is '{odd}', which is not a date; leave",
    ):
        fit_encoder({"x": [*days[:7], odd, *days[7:]]})
    mixed = {"x": [*days, *(f"day {i}" for i in range(20))]}
    assert infer_kind("x", Table.from_data(mixed).column("x")) is Kind.CATEGORICAL


@given(st.from_regex(r"[0-2]\d{3}-[01]\d-[0-3]\d([ T][0-2]\d:[0-6]\d)?", fullmatch=True))
def test_each_date_is_one_that_can_be_parsed(text: str) -> None:
    assert find_datetimes(pa.array([text])).tolist() == [are_datetimes(pa.chunked_array([[text]]))]


@pytest.mark.parametrize("odd", ["24:00", "08:60", "noon", "8.15", "12"])
def test_times_of_day_mixed_with_texts_are_refused(odd: str) -> None:
    times = [f"{hour:02}:{minute:02}" for hour in range(4, 8) for minute in range(0, 60, 6)]
    with pytest.raises(
        TabNASError,
        match=f"'x' must hold times of day only, but row 8 is '{odd}', which is not a time of day;",
    ):
        fit_encoder({"x": [*times[:7], odd, *times[7:]]})
    mixed = {"x": [*times, *(f"shift {i}" for i in range(20))]}
    assert infer_kind("x", Table.from_data(mixed).column("x")) is Kind.CATEGORICAL


@pytest.mark.parametrize(
    "text",
    [
        *("31.12.2024", "12/31/24", "2024/12/31", "1-2-2024 12:00"),
        *("05-Jan-2024", "5-jan-24", "5. May 2024", "05JAN2024", "5th January 2024, 10:00"),
        *("Jan 5, 2024", "Sept. 5 2024", "January 5th, 2024 10:00 AM"),
        *("2024-1-5", "2024-12-5", "2024-01-5 10:00", "2024-1-31"),
        *("2024-01-31 10:00:00 UTC", "2024-01-31 10:00:00 +0100", "2024-01-31 24:00"),
    ],
)
def test_dates_of_another_format_are_noted(text: str) -> None:
    with pytest.warns(DataWarning, match="'x' seems to hold dates such as '01.02.2023', but is"):
        fit_encoder({"x": ["01.02.2023", text] * 20})


def test_the_note_on_dates_shows_one_that_is_not_by_iso_8601() -> None:
    days = [f"2024-{month}-{day}" for month in range(9, 13) for day in (7, 14, 21)]
    with pytest.warns(DataWarning, match="dates such as '2024-9-7'.* since only ISO 8601 is read"):
        fit_encoder({"x": days * 4})
    with pytest.warns(DataWarning, match="dates such as '2024-10-7'"):
        fit_encoder({"x": sorted(days) * 4})


def test_ratios_are_not_times_of_day() -> None:
    for ratios in (["1:10", "1:20", "2:50"], ["1:10"] * 19 + ["1:100"]):
        assert infer_kind("x", Table.from_data({"x": ratios}).column("x")) is Kind.CATEGORICAL


@pytest.mark.parametrize(
    "texts",
    [
        ["1.2.34", "10.0.1"],
        ["1-2-3", "10-0-1"],
        ["12-ABC-34", "01-MAX-2024"],
        ["2024-0-5", "1234-1-5", "2024-13-1"],
        ["555-12-3456", "2024-1"],
        ["May", "March 2024", "5 Dec"],
        ["April Jones", "Mary 5, 2024", "Jan 2nd"],
        ["2024-01-31", "2024-01-31 report", "2023-02-30"],
    ],
)
def test_other_texts_are_not_noted_as_dates(texts: list[str]) -> None:
    assert not fit_encoder({"x": texts * 20}).notes


@pytest.mark.parametrize(
    "values",
    [
        ["10", "12", "XL"] * 20,
        [*(str(i) for i in range(30)), *(f"X{i}" for i in range(30))],  # many other texts
    ],
)
def test_codes_are_categories(values: list[str]) -> None:
    assert infer_kind("x", Table.from_data({"x": values}).column("x")) is Kind.CATEGORICAL


@pytest.mark.parametrize(("remarks", "is_refused"), [(1, True), (9, True), (15, False)])
def test_texts_among_numbers_are_refused_below_a_tenth(remarks: int, is_refused: bool) -> None:
    values = [*(str(i) for i in range(100 - remarks)), *(f"see {i}" for i in range(remarks))]
    column = Table.from_data({"x": values}).column("x")
    if is_refused:
        with pytest.raises(TabNASError, match="must hold numbers only, but"):
            infer_kind("x", column)
    else:
        assert infer_kind("x", column) is Kind.CATEGORICAL


@pytest.mark.parametrize("rows", [0, 1])
def test_too_few_rows_are_refused(rows: int) -> None:
    with pytest.raises(TabNASError, match=f"at least two rows, got {rows}"):
        fit_encoder({"a": [1.5] * rows})


def test_forced_kinds_are_checked_when_fitted() -> None:
    with pytest.raises(TabNASError, match=r"'a' must hold true and false.*row 2 is 'x'"):
        fit_encoder({"a": ["true", "x"]}, kinds={"a": "boolean"})
    with pytest.raises(TabNASError, match=r"'a' must hold dates.*row 1 is 'x'"):
        fit_encoder({"a": ["x", "y"]}, kinds={"a": "datetime"})


def test_identifiers_give_a_warning() -> None:
    with pytest.warns(DataWarning, match="'id' looks like an identifier"):
        fit_encoder({"id": [f"row-{i}" for i in range(200)], "a": [0.5, 1.5] * 100})
    with pytest.warns(DataWarning, match="'row' looks like an identifier"):
        fit_encoder({"row": list(range(200)), "a": [0.5, 1.5] * 100})
    row_numbers = np.random.default_rng(0).permutation(500)[:300]  # the training rows of a table
    with pytest.warns(DataWarning, match="'row' looks like an identifier"):
        fit_encoder({"row": row_numbers, "a": row_numbers % 7 / 2})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_encoder({"x": np.random.default_rng(0).normal(size=200)})  # numbers may all differ
        names = [f"row-{i}" for i in range(200)]
        fit_encoder({"id": names}, kinds={"id": "categorical"}, min_count=1)  # as declared
        fit_encoder({"id": [*names[:190], *names[:10]]}, min_count=1)  # a twentieth is there twice


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, float("inf")], "'a' must be finite, but row 2 is inf"),
        (["1", "-inf"], "'a' must be finite, but row 2 is -inf"),
        ([[1], [2]], "'a' holds list"),
        ([b"x", b"y"], "'a' holds binary"),
    ],
)
def test_infinite_and_unusable_values_are_refused(values: list[object], message: str) -> None:
    with pytest.raises(TabNASError, match=message):
        fit_encoder({"a": values, "b": [1, 2]})


@pytest.mark.parametrize("scaling", ["robust", "standard", "none"])
def test_huge_values_stay_finite(scaling: str) -> None:
    for values in (
        [1e308, -1e308, 1.0, 0.0, 5e-324, None],
        [1.7e308, 1.6e308, 1.5e308, 1.4e308],
        [5e-324, 1e-323, 0.0, 1e308],
    ):
        table = Table.from_data({"a": values})
        encoded = TableEncoder.fit(table, scaling=scaling).encode(table).numeric
        assert np.isfinite(encoded).all()


def test_outliers_do_not_compress_the_other_values() -> None:
    values = np.append(np.random.default_rng(0).normal(size=999), 1e12)
    table = Table.from_data({"a": values})
    encoded = TableEncoder.fit(table).encode(table).numeric[:, 0]
    assert encoded[:-1].std() > 0.5
    assert encoded[-1] == pytest.approx(4.0)


def test_an_outlier_does_not_compress_a_column_that_is_mostly_constant() -> None:
    values = np.where(np.arange(1_000) % 5, 0.0, np.arange(1_000) % 99 + 1.0)
    usual = TableEncoder.fit(Table.from_data({"a": values})).columns[0]
    values[3] = 999_999_999
    table = Table.from_data({"a": values})
    encoder = TableEncoder.fit(table)
    encoded = encoder.encode(table).numeric[:, 0]
    assert encoded[3] == pytest.approx(4.0)
    assert np.delete(encoded, 3).max() > 0.5
    assert usual.scale < encoder.columns[0].scale < 5 * usual.scale


def test_placeholders_do_not_compress_the_other_dates() -> None:
    days = [date(2015, 1, 1) + timedelta(days=3 * k) for k in range(1_000)]
    plain = TableEncoder.fit(Table.from_data({"day": days})).columns
    days[:3] = [date(9999, 12, 31), date(9999, 12, 31), date(1, 1, 1)]
    table = Table.from_data({"day": days})
    encoder = TableEncoder.fit(table)
    encoded = encoder.encode(table).numeric[:, 0]
    assert np.abs(encoded[3:]).max() == pytest.approx(1.0, abs=0.02)
    assert encoded[:3].tolist() == [3.0, 3.0, -3.0]
    assert encoder.columns[0].cycles == plain[0].cycles
    old = Table.from_data({"day": [date(9000 + k, 1, 1) for k in range(50)]})
    (column,) = TableEncoder.fit(old).columns
    assert column.scale > 8_000


def test_dates_before_points_in_time_keep_the_hours() -> None:
    values = [date(2024, 1, 1), datetime(2024, 1, 2, 12), datetime(2024, 1, 2, 18), None] * 4
    for column in (values, np.array(values, object), pd.Series(values, dtype=object)):
        table = Table.from_data({"t": column})
        texts = table.column("t").to_pylist()
        assert texts[:4] == ["2024-01-01", "2024-01-02 12:00:00", "2024-01-02 18:00:00", None]
        assert isinstance(TableEncoder.fit(table).columns[0], DatetimeColumn)
    days = Table.from_data({"t": [date(2024, 1, 1), pd.NaT, date(2024, 1, 3)]}).column("t")
    assert days.to_pylist() == [date(2024, 1, 1), None, date(2024, 1, 3)]
    mixed = Table.from_data({"t": [pd.Timestamp(2024, 1, 1), "x", pd.NaT]})
    assert mixed.column("t").to_pylist() == ["2024-01-01 00:00:00", "x", None]


def test_columns_of_other_tables_are_matched_by_name() -> None:
    encoder = fit_encoder({"a": [1, 2, 3], "b": ["x", "y", "x"]}, min_count=1)
    swapped = encoder.encode(Table.from_data({"z": [0, 0], "b": ["y", "x"], "a": [2, 3]}))
    straight = encoder.encode(Table.from_data({"a": [2, 3], "b": ["y", "x"]}))
    assert (swapped.numeric == straight.numeric).all()
    assert (swapped.categorical == straight.categorical).all()
    with pytest.raises(TabNASError, match="must have the column 'b'"):
        encoder.encode(Table.from_data({"a": [1]}))
    with pytest.raises(TabNASError, match="'a' must hold numbers, but row 2 is 'one'"):
        encoder.encode(Table.from_data({"a": ["2", "one"], "b": ["x", "x"]}))


def test_columns_of_arrays_are_matched_by_position() -> None:
    encoder = TableEncoder.fit(Table.from_data(np.arange(6.0).reshape(3, 2)))
    assert encoder.encode(Table.from_data(np.zeros((4, 2)))).numeric.shape == (4, 2)
    with pytest.raises(TabNASError, match="2 columns of the training table, got 3"):
        encoder.encode(Table.from_data(np.zeros((4, 3))))


@pytest.mark.filterwarnings("ignore::tabnas.data.DataWarning")
@pytest.mark.parametrize("threads", [2, 5])
def test_threads_change_no_bits(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_table, "MIN_SHARED_ROWS", 1)
    rng = np.random.default_rng(0)
    columns = {f"x{k}": rng.normal(size=500) for k in range(7)}
    columns |= {f"c{k}": rng.choice(["a", "b", "1,5", ""], 500) for k in range(7)}
    table = Table.from_data(columns | {"same": np.zeros(500)})
    rows = rng.permutation(500)[:300]

    def fit_and_encode(count: int) -> tuple[TableEncoder, EncodedTable]:
        with limit_threads(count):
            encoder = TableEncoder.fit(table, rows=rows)
            return encoder, encoder.encode(table)

    one, several = fit_and_encode(1), fit_and_encode(threads)
    assert one[0].to_dict() == several[0].to_dict()
    assert one[0].notes == several[0].notes
    np.testing.assert_array_equal(one[1].numeric, several[1].numeric)
    np.testing.assert_array_equal(one[1].categorical, several[1].categorical)


def test_of_several_wrong_columns_the_first_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_table, "MIN_SHARED_ROWS", 1)
    encoder = TableEncoder.fit(Table.from_data({name: [1, 2, 3] for name in "abcdef"}))
    wrong = {name: [1, 2, "?" if name < "c" else "x"] for name in "abcdef"}
    with limit_threads(4), pytest.raises(TabNASError, match="'c' must hold numbers, but row 3"):
        encoder.encode(Table.from_data(wrong))
