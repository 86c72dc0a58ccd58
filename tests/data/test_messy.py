"""Messy values and odd files: their meaning, notes and errors. See also tests/messy_tables.py."""

from __future__ import annotations

import json
from datetime import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tabnas.data import (
    ClassTarget,
    DataWarning,
    Kind,
    NumberTarget,
    Table,
    TableEncoder,
    UnseenCategories,
    find_labelled_rows,
    fit_target,
    infer_kind,
    read_table,
)
from tabnas.data.columns import CategoricalColumn
from tabnas.errors import TabNASError


def make_column(values: list[Any]) -> pa.ChunkedArray:
    return pa.chunked_array([values])


def write_text(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


# -- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('"price\n(EUR)",b\n1,2\n', ["price (EUR)", "b"]),
        ('a,"first\r\nsecond\r\nthird"\r\n1,2\r\n', ["a", "first second third"]),
        ('"a\nb";"c;d"\n1;2\n', ["a b", "c;d"]),
        ('size 5" x,b\n1,2\n', ['size 5" x', "b"]),
        ("sep=;\na;b\n1;2\n", ["a", "b"]),
        ("sep=\t\r\na\tb\r\n1\t2\r\n", ["a", "b"]),
        ('\ufeff"sep=\t"\r\na\tb\r\n1\t2\r\n', ["a", "b"]),
        ('sep=|\n"a\nb"|c\n1|2\n', ["a b", "c"]),
    ],
)
def test_odd_headers(text: str, names: list[str], tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode())
    table = read_table(path)
    assert table.names == names
    assert table.arrow.to_pylist() == [{names[0]: 1, names[1]: 2}]


def test_a_header_with_a_newline_in_a_store(tmp_path: Path) -> None:
    from tabnas.stores import encode_store

    rows = "".join(f"{i};{'yes' if i % 2 else 'no'}\n" for i in range(40))
    path = write_text(tmp_path / "a.csv", f'sep=;\n"the\nnumber";y\n{rows}')
    store = encode_store(path, tmp_path / "store", target="y")
    assert store.encoder.names == ("the number",)
    assert sum(store.rows.values()) == 40


def test_an_empty_table_is_refused_unless_allowed(tmp_path: Path) -> None:
    path = write_text(tmp_path / "a.csv", "a,b\n")
    assert read_table(path, empty=True).names == ["a", "b"]
    with pytest.raises(TabNASError, match="must have rows"):
        read_table(path)


# -- decimal marks ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1,5", "2,25"], [1.5, 2.25]),  # as a file of semicolons is written
        (["1.5", "2.25"], [1.5, 2.25]),
        (["1.234,5", "12"], [1234.5, 12.0]),
        (["1,234.5", "12"], [1234.5, 12.0]),
        (["0,123", "2,345"], [0.123, 2.345]),
        (["1e3", "2"], [1000.0, 2.0]),
    ],
)
def test_evident_decimal_marks(cells: list[str], expected: list[float], tmp_path: Path) -> None:
    path = write_text(tmp_path / "a.csv", "x;k\n" + "".join(f"{cell};a\n" for cell in cells))
    assert encode_numbers(read_table(path)) == expected


def encode_numbers(table: Table) -> list[float]:
    """Return the numbers that an encoder reads in the column x."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("warnings.warn", lambda *_, **__: None)
        encoder = TableEncoder.fit(table, scaling="none")
    return [round(float(x), 6) for x in encoder.encode(table).numeric[:, 0]]


@pytest.mark.parametrize("cells", [["1.234", "2.345"], ["1,234", "2,345", "12"]])
def test_ambiguous_decimal_marks_are_refused(cells: list[str], tmp_path: Path) -> None:
    path = write_text(tmp_path / "a.csv", "x;k\n" + "".join(f"{cell};a\n" for cell in cells))
    with pytest.raises(
        TabNASError, match=r"row 1 is '1.234', which is 1(\.)?234 or 1234; set.*--decimal"
    ):
        TableEncoder.fit(read_table(path))
    thousands = cells[0][1]
    decimal = {",": ".", ".": ","}[thousands]
    assert encode_numbers(read_table(path, decimal=thousands))[0] == 1.234
    assert encode_numbers(read_table(path, decimal=decimal))[0] == 1234
    with pytest.raises(TabNASError, match=r"decimal must be '\.' or ',', got ';'"):
        read_table(path, decimal=";")


def test_another_column_decides_the_decimal_mark(tmp_path: Path) -> None:
    path = write_text(tmp_path / "a.csv", "x;z\n1.234;1,5\n2.345;2,5\n")
    with pytest.warns(DataWarning, match="'1.234' as 1234 with the decimal mark ','"):
        encoder = TableEncoder.fit(read_table(path), scaling="none")
    assert encoder.text_columns == ("x", "z")
    later = write_text(tmp_path / "b.csv", "x;z\n5.678;1\n")
    table = read_table(later, text=encoder.text_columns)
    assert encoder.encode(table).numeric.tolist() == [[5678, 1]]
    # a file with an evident mark is read by it
    other = write_text(tmp_path / "c.csv", "x,z\n5.678,1.5\n")
    table = read_table(other, text=encoder.text_columns)
    assert encoder.encode(table).numeric.tolist() == pytest.approx(np.array([[5.678, 1.5]]))


def test_codes_do_not_decide_the_decimal_mark_of_later_numbers(tmp_path: Path) -> None:
    rows = [f'"{["3,5", "3,5,7", "12", "a"][k % 4]}",{47 + k / 1000:.3f}\n' for k in range(40)]
    path = write_text(tmp_path / "a.csv", "ids,lat\n" + "".join(rows))
    encoder = TableEncoder.fit(read_table(path), min_count=1, scaling="none")
    for code in ("3,5", "3,5,7", "x"):
        later = write_text(tmp_path / "b.csv", f'ids,lat\n"{code}",47.123\n"12",47.003\n')
        table = read_table(later, text=encoder.text_columns)
        assert encoder.encode(table).numeric[:, 0].tolist() == pytest.approx([47.123, 47.003])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["$5", "€6"], "must have one unit, but they have several: '\\$', '€'"),
        (["5 %", "0.06"], "must have one unit, but they have several: none, '%'"),
        (["1,5", "2,5", "1.5"], "one decimal mark, but row 3 is '1.5', unlike others"),
    ],
)
def test_numbers_with_two_decimal_marks_are_refused(values: list[str], message: str) -> None:
    with pytest.raises(TabNASError, match=message):
        infer_kind("x", make_column(values))


@pytest.mark.parametrize(
    "values",
    [
        ["03.04.2024", "05.04.2024"],
        ["192.168.1.1", "10.0.0.1"],
        ["1.2.3", "1.10.0"],
        ["030 1234", "030 5678"],
        ["12-34", "56-78"],
        ["1,23,456", "2,34,567"],
        ["5 km", "6 km"],
        ["$", "€"],
        ["()", "(a)"],
    ],
)
def test_texts_that_are_not_numbers(values: list[str]) -> None:
    assert infer_kind("x", make_column(values)) is Kind.CATEGORICAL


def test_units_and_texts_in_later_numbers_are_refused_with_their_row() -> None:
    with pytest.warns(DataWarning):
        encoder = TableEncoder.fit(Table.from_data({"x": ["$5", "$1,000"]}), scaling="none")
    assert encoder.encode(Table.from_data({"x": ["7", "$8"]})).numeric.tolist() == [[7], [8]]
    with pytest.raises(TabNASError, match="the unit '\\$', but row 2 is '€6'"):
        encoder.encode(Table.from_data({"x": ["$5", "€6"]}))


# -- categories ------------------------------------------------------------------------------------


def encode_values(fitted: CategoricalColumn, values: list[Any]) -> list[int]:
    codes = np.empty(len(values), np.int32)
    fitted.encode(make_column(values), np.empty((0, 0), np.float32), codes)
    return codes.tolist()


def test_leading_zeros_matter_if_they_do_in_training() -> None:
    fitted = CategoricalColumn.fit("x", make_column(["01", "01", "01", "1", "1", "2"]))
    assert fitted.vocabulary == ("01", "1", "2")
    assert "leading zeros distinguished" in fitted.describe()
    assert encode_values(fitted, ["01", "1", "02"]) == [1, 2, 0]
    assert encode_values(fitted, [1, 2]) == [2, 3]


@pytest.mark.parametrize(
    "values",
    [[1, 2, 1], [1.0, 2.0, 1.0], ["1", "2", "1"], ["01", "02", "01"], ["1.0", "2", "1"]],
)
def test_the_category_of_a_number_does_not_depend_on_its_type(values: list[Any]) -> None:
    fitted = CategoricalColumn.fit("x", make_column(values))
    assert fitted.vocabulary == ("1", "2")
    for others in ([1, 2], [1.0, 2.0], ["01", "2.0"], ["+1", " 2"], ["1", "002"]):
        assert encode_values(fitted, others) == [1, 2]


def test_the_category_of_a_boolean_does_not_depend_on_its_type() -> None:
    for values in ([True, False, True], ["True", "FALSE", "true"], [1, 0, 1], ["1.0", "0", "1"]):
        fitted = CategoricalColumn.fit("x", make_column(values))
        for others in ([True, False], ["TRUE", "false"], [1, 0], ["1", "0.0"], ["True", "0"]):
            assert encode_values(fitted, others) == [1, 2]
    both = CategoricalColumn.fit("x", make_column(["true", "true", "1"]))
    assert encode_values(both, ["true", "1", "0"]) == [1, 2, 0]


def test_texts_are_not_normalised() -> None:
    values = ["1E5", "1e5", "1.10.2", "a1", "0x1", "yes"]
    fitted = CategoricalColumn.fit("x", make_column(values))
    assert set(fitted.vocabulary) == set(values)


@pytest.mark.parametrize("max_categories", [1, 2, 3])
def test_spellings_are_kept_by_a_limit(max_categories: int) -> None:
    fitted = CategoricalColumn.fit("x", make_column(["true"] * 4 + ["1"] * 3 + ["0"] * 2 + ["z"]))
    later = ["true", "1", "0", "z", "false", "?"]
    codes = np.array(encode_values(fitted, later), np.int32)
    fitted.recode(codes, max_categories)
    assert codes.tolist() == encode_values(fitted.with_max_categories(max_categories), later)


def test_unseen_values_are_counted_if_there_are_enough_rows() -> None:
    encoder = TableEncoder.fit(
        Table.from_data(
            {"few": ["a", "b"] * 20, "many": [f"u{i}" for i in range(40)], "n": range(40)}
        )
    )
    unseen = UnseenCategories(encoder)
    other = Table.from_data({"few": ["c"] * 5, "many": ["v"] * 5, "n": range(5)})
    unseen.add(encoder.encode(other))
    assert unseen.notes() == ()  # too few rows
    unseen.add(encoder.encode(other))
    (note,) = unseen.notes()
    assert note.startswith("all 10 values of the column 'few' are missing or unknown")
    unseen.add(
        encoder.encode(Table.from_data({"few": ["a"] * 2, "many": ["v"] * 2, "n": range(2)}))
    )
    assert unseen.notes() == ()


# -- texts among numbers ---------------------------------------------------------------------------


def test_texts_among_numbers_are_counted_by_rows() -> None:
    few = [str(1 + i % 4) for i in range(499)] + ["foo"]
    with pytest.raises(TabNASError, match=r"'x' must hold numbers only, but row 500 is 'foo'"):
        infer_kind("x", make_column(few))
    encoder = TableEncoder.fit(Table.from_data({"x": few}), kinds={"x": "categorical"})
    assert "categorical: 4 categories, 1 rare one pooled" in encoder.describe()["x"]
    values = [str(i) for i in range(30)] + ["foo"] * 3
    with pytest.raises(
        TabNASError, match="row 31 is 'foo', which is not a number, as are 2 others"
    ):
        infer_kind("x", make_column(values))
    # the same texts, of which more than a tenth of the rows are no numbers
    assert infer_kind("x", make_column([*values, "foo"])) is Kind.CATEGORICAL
    repeated = [str(i % 30) for i in range(60)] + ["a", "b", "c", "d", "e", "f"]
    with pytest.raises(TabNASError, match="row 61 is 'a'"):
        infer_kind("x", make_column(repeated))


def test_texts_among_numbers_of_a_store_are_counted_by_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first rows are all equal, and texts of later rows decide."""
    from tabnas.stores import _first_rows, encode_store

    monkeypatch.setattr(_first_rows, "MAX_FIRST_ROWS", 50)
    monkeypatch.setattr(_first_rows, "CHUNK_BYTES", 256)
    texts = ["1"] * 500 + [str(i % 4) for i in range(400)] + ["foo"] * 30
    rows = "".join(f"{x},{i % 7},{i % 2}\n" for i, x in enumerate(texts))
    path = write_text(tmp_path / "a.csv", f"x,n,y\n{rows}")
    with pytest.raises(TabNASError, match=r"'x' must hold numbers only, but a later row is 'foo'"):
        encode_store(path, tmp_path / "store", target="y")


# -- times of day ----------------------------------------------------------------------------------


def test_times_of_day_are_the_same_in_files_and_frames(tmp_path: Path) -> None:
    rows = [("08:15", 1), ("09:20", 2), ("17:45", 3), ("23:00", 5)]
    text = "".join(f"{time},{n}\n" for time, n in rows)
    table = read_table(write_text(tmp_path / "a.csv", f"t,n\n{text}"))
    assert table.column("t").type == pa.time32("s")
    short = read_table(write_text(tmp_path / "b.csv", f"t,n\n{text.replace('09', '9')}"))
    commas = write_text(tmp_path / "c.csv", "t;n;p\n" + "".join(f"{t};{n};1,5\n" for t, n in rows))
    times, numbers = map(list, zip(*rows, strict=True))
    frames = [pd.DataFrame({"t": times, "n": numbers}).astype({"t": object})]
    frames += [pd.DataFrame({"t": [time.fromisoformat(t) for t in times], "n": numbers})]
    tables = [table, short, read_table(commas), *map(Table.from_data, frames)]
    encoders = [TableEncoder.fit(each) for each in tables]
    expected = encoders[0].encode(table).numeric
    assert "numeric: centred on the median 48750" in encoders[0].describe()["t"]
    for encoder in encoders:
        again = TableEncoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
        for each in tables:
            np.testing.assert_array_equal(again.encode(each).numeric, expected)


def test_times_that_were_categories_stay_categories(tmp_path: Path) -> None:
    times = {"t": ["08:15", "09:20", "08:15", "09:20"]}
    encoder = TableEncoder.fit(Table.from_data(times), kinds={"t": "categorical"})
    again = TableEncoder.from_dict(encoder.to_dict())
    assert again.encode(Table.from_data(times)).categorical[:, 0].tolist() == [1, 2, 1, 2]
    path = write_text(tmp_path / "a.csv", "t,n\n09:20,1\n8:15,2\n08:15,3\n")
    table = read_table(path, text=again.text_columns)
    assert again.encode(table).categorical[:, 0].tolist() == [2, 0, 1]


def test_times_of_day_of_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first rows are all equal, or all written alike, and later ones are not."""
    from tabnas.stores import _first_rows, encode_store

    monkeypatch.setattr(_first_rows, "MAX_FIRST_ROWS", 50)
    monkeypatch.setattr(_first_rows, "CHUNK_BYTES", 256)
    times = [f"{8 + i % 4:02}:15" for i in range(500)]
    texts = {"same": ["08:15"] * 500 + times, "alike": [*times, *["9:20"] * 500]}
    rows = zip(*texts.values(), strict=True)
    lines = "".join(f"{a},{b},{i % 7},{i % 2}\n" for i, (a, b) in enumerate(rows))
    path = write_text(tmp_path / "a.csv", f"same,alike,n,y\n{lines}")
    store = encode_store(path, tmp_path / "store", target="y")
    described = store.encoder.describe()
    assert described["same"].startswith("numeric: centred on the median 29700")
    assert described["alike"].startswith("numeric: centred on the median 33600")


# -- targets ---------------------------------------------------------------------------------------


def test_marks_of_missing_values_may_be_labels() -> None:
    target = fit_target("y", make_column(["none", "mild", "none", "severe", "?"]))
    assert isinstance(target, ClassTarget)
    assert target.classes == ("mild", "none", "severe")
    assert find_labelled_rows(make_column(["none", "?", "mild"]), target).tolist() == [0, 2]
    other = fit_target("y", make_column(["yes", "no", "yes"]))
    assert find_labelled_rows(make_column(["yes", "-", "none"]), other).tolist() == [0]
    signs = make_column(["+", "-", "+", None])
    assert find_labelled_rows(signs).tolist() == [0, 1, 2]
    assert fit_target("y", signs).encode(make_column(["-", "+"])).tolist() == [1, 0]


def test_numeric_targets_with_marks_and_units() -> None:
    values = make_column(["$1,200.50", "-", "$800", "none"])
    assert find_labelled_rows(values).tolist() == [0, 2]
    target = fit_target("y", values.take([0, 2]), task="regression")
    assert isinstance(target, NumberTarget)
    assert target.encode(make_column(["$5", "1,000"])).tolist() == [5, 1000]
    assert target.unit == "$"


@pytest.mark.parametrize("labels", [[1, 2, 1], [1.0, 2.0, 1.0]])
def test_numeric_labels_may_be_written_as_texts(labels: list[Any]) -> None:
    target = ClassTarget.fit("y", make_column(labels))
    assert target.encode(make_column(["1.0", "02", "2"])).tolist() == [0, 1, 1]
