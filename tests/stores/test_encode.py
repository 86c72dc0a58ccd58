"""Encoding files in two passes gives the same arrays as a table in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pyarrow import feather, parquet

from tabnas import TabNASError
from tabnas.data import (
    DataWarning,
    NumberTarget,
    Shares,
    Table,
    bundled_file,
    choose_knots,
    find_labelled_rows,
    read_table,
    summarize_values,
)
from tabnas.stores import encode_store, open_store
from tests.criteo import write_criteo
from tests.real_files import write_adult
from tests.stores.conftest import (
    Columns,
    assert_holds,
    encode_in_memory,
    make_mixed_columns,
    write_csv,
)

ROWS = 400

numbers = st.one_of(
    st.integers(-50, 50).map(str),
    st.floats(-1e6, 1e6).map(repr),
    st.sampled_from(["1e300", "-1e300", "5e-324", "0", "-0.0", " 7 ", "9007199254740993"]),
)
words = st.sampled_from(["red", "blue", " red", "été", "東京", 'a "b" c', "x\ny", "p, q", "007x"])
days = st.dates(min_value=np.datetime64("1900-01-01").item()).map(str)
truths = st.sampled_from(["true", "false", "True", "FALSE"])


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[object]]:
    """Draw columns of every kind; some have few values, some are constant or empty."""
    rng = Random(draw(st.integers(0, 2**32)))  # drawing every cell would take most of the time
    rows = draw(st.integers(30, 60))
    columns = {}
    for i in range(draw(st.integers(1, 4))):
        cells = draw(st.sampled_from([numbers, words, days, truths]))
        pool = draw(st.lists(cells, min_size=1, max_size=draw(st.sampled_from([1, 3, 30]))))
        missing = draw(st.sampled_from([[], [None], [None, "?"]]))
        columns[f"c{i}"] = rng.choices([*pool, *missing], k=rows)
    columns["sure"] = [str(i % 7) for i in range(rows)]
    if draw(st.booleans()):
        columns["value"] = [rng.uniform(-1e9, 1e9) for _ in range(rows)]
    else:
        columns["kind"] = rng.choices(["a", "b", "c", None], k=rows)
    return columns


@given(tables(), st.sampled_from([150, 10_000]), st.sampled_from(["robust", "standard", "none"]))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_store_equals_the_table_in_memory(
    small_chunks: Callable[[int, int], None], columns: Columns, chunk: int, scaling: str
) -> None:
    small_chunks(chunk, 3 * chunk)
    target = "value" if "value" in columns else "kind"
    with TemporaryDirectory() as folder:
        path = write_csv(Path(folder) / "table.csv", columns)
        try:
            encoder, arrays = encode_in_memory(read_table(path), target, scaling=scaling)
        except TabNASError:
            assume(False)
        assume(target == "value" or len(np.unique(arrays["train"][2])) > 1)
        store = encode_store(path, Path(folder) / "store", target=target, scaling=scaling)
        assert store.encoder.to_dict() == encoder.to_dict()
        assert_holds(store, arrays)
        numeric = store.read("train", 0, store.rows["train"]).encoded.numeric
        summaries = zip(
            summarize_values(numeric), summarize_values(arrays["train"][0]), strict=True
        )
        assert all(choose_knots(a, 5) == choose_knots(b, 5) for a, b in summaries)
        if isinstance(store.target, NumberTarget):
            fitted = NumberTarget.fit("value", pa.chunked_array([arrays["train"][2]]))
            assert store.target.center == pytest.approx(fitted.center, rel=1e-9, abs=1e-3)
            assert store.target.scale == pytest.approx(fitted.scale, rel=1e-9)
        store.verify()


@pytest.mark.parametrize(
    "spellings", [("true", "True"), ("1", "1.0"), ("2024-01-01", "2024-01-01 00:00:00")]
)
def test_a_column_with_different_spellings_of_one_value_is_constant(
    spellings: tuple[str, str], tmp_path: Path
) -> None:
    rows = 60
    columns = {
        "c": list(spellings) * (rows // 2),
        "x": list(range(rows)),
        "kind": ["a", "b", "c"] * (rows // 3),
    }
    path = write_csv(tmp_path / "table.csv", columns)
    kinds = {"x": "numeric"}
    store = encode_store(path, tmp_path / "store", target="kind", kinds=kinds)
    encoder, arrays = encode_in_memory(read_table(path), "kind", kinds=kinds)
    assert store.encoder.constant == ("c",)
    assert store.encoder.to_dict() == encoder.to_dict()
    assert_holds(store, arrays)


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz", ".parquet", ".feather"])
@pytest.mark.parametrize("target", ["kind", "value"])
def test_every_file_format_gives_the_same_rows(
    ending: str, target: str, tmp_path: Path, small_chunks: Callable[[int, int], None]
) -> None:
    small_chunks(4_000, 4_000)
    other = "value" if target == "kind" else "kind"
    path = tmp_path / f"table{ending}"
    separator = "\t" if ending == ".tsv" else ","
    text = tmp_path / "text.csv" if ending in (".parquet", ".feather") else path
    write_csv(text, make_mixed_columns(ROWS), separator)
    table = read_table(text)
    if ending == ".parquet":
        parquet.write_table(table.arrow, path, row_group_size=90)
    elif ending == ".feather":
        feather.write_feather(table.arrow, path, chunksize=90)
    store = encode_store(path, tmp_path / "store", target=target, drop=(other,))
    encoder, arrays = encode_in_memory(read_table(path), target, drop=(other,))
    assert store.encoder.to_dict() == encoder.to_dict()
    assert store.encoder.constant == ("same",)
    assert_holds(store, arrays)
    assert len(store.pieces) > 1
    assert store.digest == open_store(tmp_path / "store").digest


def test_rows_do_not_depend_on_chunks_or_pieces(
    tmp_path: Path, small_chunks: Callable[[int, int], None]
) -> None:
    path = write_csv(tmp_path / "table.csv", make_mixed_columns(ROWS))
    stores = []
    for chunk, piece in ((1 << 20, 1 << 20), (3_000, 3_000), (700, 5_000)):
        small_chunks(chunk, piece)
        stores.append(encode_store(path, tmp_path / f"{chunk}", target="kind"))
    in_one_chunk = stores[0]
    _, arrays = encode_in_memory(read_table(path), "kind")
    for store in stores:
        assert store.encoder.to_dict() == in_one_chunk.encoder.to_dict()
        assert_holds(store, arrays)
    assert len(stores[0].pieces) == 1
    assert all(len(store.pieces) > 2 for store in stores[1:])


def test_several_files_are_one_table(tmp_path: Path) -> None:
    columns = make_mixed_columns(ROWS)
    path = write_csv(tmp_path / "whole.csv", columns)
    cuts = [(0, 150), (150, 160), (160, ROWS)]
    paths = [
        write_csv(tmp_path / f"{a}.csv", {n: v[a:b] for n, v in columns.items()}) for a, b in cuts
    ]
    store = encode_store(paths, tmp_path / "store", target="kind")
    encoder, arrays = encode_in_memory(read_table(path), "kind")
    assert store.encoder.to_dict() == encoder.to_dict()
    assert_holds(store, arrays)


def test_the_name_of_a_link_gives_the_file_format(tmp_path: Path) -> None:
    hidden = write_csv(tmp_path / "3f786850e387", make_mixed_columns(ROWS))
    link = tmp_path / "train.csv"
    link.symlink_to(hidden)
    store = encode_store(link, tmp_path / "store", target="kind")
    encoder, arrays = encode_in_memory(read_table(link), "kind")
    assert store.encoder.to_dict() == encoder.to_dict()
    assert_holds(store, arrays)
    again = tmp_path / "test.csv"
    again.symlink_to(hidden)
    with pytest.raises(TabNASError, match=r"'test\.csv' is twice"):
        encode_store(link, tmp_path / "other", target="kind", test=[again])


def test_given_files_replace_the_shares(tmp_path: Path) -> None:
    paths = [write_csv(tmp_path / f"{i}.csv", make_mixed_columns(100, seed=i)) for i in range(3)]
    store = encode_store(
        paths[0], tmp_path / "store", target="kind", validation=[paths[1]], test=[paths[2]]
    )
    tables = [read_table(path) for path in paths]
    present = [find_labelled_rows(table.column("kind")) for table in tables]
    assert list(store.rows.values()) == list(map(len, present))
    test = store.encoder.encode(tables[2])
    labelled = present[2]
    rows = store.read("test", 0, store.rows["test"])
    assert (rows.encoded.numeric == test.numeric[labelled]).all()
    smaller_store = encode_store(paths[0], tmp_path / "one", target="kind", test=[paths[1]])
    assert smaller_store.shares == (0.2, 0.0)
    assert smaller_store.rows["test"] == len(present[1])


def test_a_column_that_changes_late_is_not_dropped(
    tmp_path: Path, small_chunks: Callable[[int, int], None]
) -> None:
    small_chunks(2_000, 4_000)  # kinds are found from few rows, too
    rows = 1_000
    late = rows - 200
    columns = {
        "number": ["0"] * late + [str(i) for i in range(200)],
        "word": ["?"] * late + ["auk", "owl"] * 100,
        "flag": ["true"] * late + ["false"] * 200,
        "day": ["2024-01-01"] * late + [f"2024-02-{1 + i % 28:02d}" for i in range(200)],
        "never": ["0"] * rows,
        "known": [str(i) for i in range(rows)],
        "kind": ["a", "b", "a"] * 333 + ["a"],
    }
    path = write_csv(tmp_path / "table.csv", columns)
    with pytest.warns(DataWarning, match="'known' looks like an identifier"):
        store = encode_store(path, tmp_path / "store", target="kind")
    descriptions = store.encoder.describe()
    kinds = {name: description.split(":")[0] for name, description in descriptions.items()}
    assert kinds == {
        "number": "numeric",
        "word": "categorical",
        "flag": "boolean",
        "day": "datetime",
        "never": "constant",
        "known": "numeric",
    }
    with pytest.warns(DataWarning, match="'known' looks like an identifier"):
        encoder, arrays = encode_in_memory(read_table(path), "kind")
    assert store.encoder.to_dict() == encoder.to_dict()
    assert_holds(store, arrays)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        (
            "whole",
            "seven",
            "'table.csv': the column 'whole' must hold numbers, but row 390 is 'seven'; "
            r"replace it or leave it empty, or declare the column categorical \(--categorical\)",
        ),
        ("size", "inf", "'table.csv': the column 'size' must be finite, but row 390 is inf"),
        ("day", "soon", "'day' must hold dates or times .*, but row 390 is 'soon'"),
        ("paid", "maybe", "'paid' must hold true and false .*, but row 390 is 'maybe'"),
        ("value", "much", "'value' must hold numbers, but row 390 is 'much'"),
    ],
)
def test_values_of_another_kind_are_refused_with_file_and_row(
    column: str,
    value: str,
    message: str,
    tmp_path: Path,
    small_chunks: Callable[[int, int], None],
) -> None:
    small_chunks(2_000, 5_000)
    columns = make_mixed_columns(ROWS)
    columns[column][389] = value
    path = write_csv(tmp_path / "table.csv", columns)
    with pytest.raises(TabNASError, match=message):
        encode_store(path, tmp_path / "store", target="value", drop=("kind",))


def test_numbers_with_text_are_refused_before_encoding(tmp_path: Path) -> None:
    columns = make_mixed_columns(ROWS)
    columns["size"][7] = "broken"
    path = write_csv(tmp_path / "table.csv", columns)
    with pytest.raises(
        TabNASError, match=r"'table.csv': .*'size' must hold numbers only.*row 8 is"
    ):
        encode_store(path, tmp_path / "store", target="kind")
    assert not (tmp_path / "store").exists()  # nothing was written
    store = encode_store(
        path, tmp_path / "store", target="kind", kinds={"size": "categorical"}, min_count=1
    )
    assert "broken" in store.encoder.columns[0].vocabulary


def test_decimal_commas(tmp_path: Path, small_chunks: Callable[[int, int], None]) -> None:
    columns = make_mixed_columns(ROWS)
    columns["size"] = [None if v is None else str(v).replace(".", ",") for v in columns["size"]]
    path = write_csv(tmp_path / "table.csv", columns, ";")
    small_chunks(3_000, 3_000)
    store = encode_store(path, tmp_path / "store", target="kind")
    encoder, arrays = encode_in_memory(read_table(path), "kind")
    assert "size" in encoder.features
    assert store.encoder.to_dict() == encoder.to_dict()
    assert_holds(store, arrays)


def test_hashed_columns_need_no_sketches(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "table.csv", make_mixed_columns(ROWS))
    kinds = {"user": "hashed", "colour": "hashed"}
    store = encode_store(path, tmp_path / "store", target="kind", kinds=kinds)
    encoder, arrays = encode_in_memory(read_table(path), "kind", kinds=kinds)
    assert store.encoder.to_dict() == encoder.to_dict()
    assert_holds(store, arrays)
    narrow = encode_store(path, tmp_path / "narrow", target="kind", kinds=kinds, buckets=64)
    assert narrow.encoder.n_categories == (66, 65)


def test_the_rows_of_large_parts_are_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tabnas.stores import _split

    monkeypatch.setattr(_split, "MAX_HELD_OUT_ROWS", 20)
    path = write_csv(tmp_path / "table.csv", make_mixed_columns(ROWS))
    store = encode_store(path, tmp_path / "store", target="kind", shares=Shares(test=0.01))
    assert store.shares == (pytest.approx(20 / ROWS, rel=0.01), 0.01)
    assert 5 < store.rows["validation"] < 40


def test_encoders_are_fitted_to_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tabnas.stores import _settings

    monkeypatch.setattr(_settings, "MAX_SAMPLED_ROWS", 1_000)
    rng = np.random.default_rng(0)
    columns = {
        "x": rng.normal(5, 2, size=20_000),
        "rare gap": [None if i == 19_999 else i % 5 for i in range(20_000)],
        "kind": rng.choice(["a", "b"], 20_000),
    }
    path = tmp_path / "table.parquet"
    parquet.write_table(Table.from_data(columns).arrow, path)
    store = encode_store(path, tmp_path / "store", target="kind", seed=1)
    assert store.metadata["rows_sampled"] == 1_000
    column = store.encoder.columns[0]
    assert column.center == pytest.approx(5, abs=0.4)
    assert column.scale == pytest.approx(2, abs=0.4)
    assert "rare gap is missing" in store.encoder.features  # although the sample may have no gap


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,kind\n1,x\n2\n", "'table.csv' must have 2 values in every row.*row 2 has 1"),
        ('a,kind\n1,x\n"2,y\n3,x\n', "must close every quote"),
        ("a,kind\n1,x\n\0,y\n", "must be text, but the column 'a' in row 2 holds a zero byte"),
        ("a,kind\n", "'table.csv' must have rows, but it has none"),
        ("a,kind\n1,x\n2,y\n", "must have rows for training and for validation"),
        ("a,kind\n" + "1,x\n" * 50, "all are constant or dropped"),
        ("a,kind\n" + "1,x\n2,x\n" * 50, "'kind' must have at least two classes"),
        ("a,kind\n" + "1,\n2,\n" * 50, "'kind' must have values, but all of the first 100"),
        ("a,b\n1,x\n2,y\n", "there is no column 'kind'"),
    ],
)
def test_unusable_tables_are_refused(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(content)
    with pytest.raises(TabNASError, match=message):
        encode_store(path, tmp_path / "store", target="kind")


def test_files_of_different_formats_or_columns_are_refused(tmp_path: Path) -> None:
    first = write_csv(tmp_path / "first.csv", make_mixed_columns(50))
    other = {"more": ["1"] * 50, **make_mixed_columns(50)}
    second = write_csv(tmp_path / "second.csv", other)
    third = write_csv(tmp_path / "third.csv", make_mixed_columns(50), ";")
    stored = tmp_path / "fourth.parquet"
    parquet.write_table(read_table(first).arrow, stored)
    for path, message in (
        (second, "'second.csv' must have the columns of the first file.*'more' is in one"),
        (third, "'third.csv' must separate values by ','"),
        (stored, r"'first.csv' is .csv and 'fourth.parquet' .parquet"),
        (first, "'first.csv' is twice"),
    ):
        with pytest.raises(TabNASError, match=message):
            encode_store([first, path], tmp_path / "store", target="kind")


@pytest.mark.parametrize(
    ("name", "target"), [("criteo", "label"), ("adult", "income"), ("connect4", "outcome")]
)
def test_stores_of_real_tables_equal_those_in_memory(
    name: str, target: str, tmp_path: Path
) -> None:
    path = bundled_file(f"{name}.parquet") or write_criteo(tmp_path / "criteo.txt.gz", 2_000)
    if name == "adult":
        path = write_adult(tmp_path / "adult.csv.gz")
    store = encode_store(path, tmp_path / "store", target=target)
    table = read_table(path)
    encoder, arrays = encode_in_memory(table, target)
    assert sum(store.rows.values()) == len(table)
    assert store.encoder.to_dict() == encoder.to_dict()
    assert_holds(store, arrays)
