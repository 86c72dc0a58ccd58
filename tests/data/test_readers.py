from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import feather, parquet

from tabnas import TabnasError
from tabnas.data import CRITEO_COLUMNS, Table, TableEncoder, read_table
from tests.conftest import SHARED, needs_shared

ROWS = {"age": [31, None, 44], "city": ["Bern", None, "Zug"], "paid": [True, False, None]}


def test_every_format_gives_the_same_table(tmp_path: Path) -> None:
    table = pa.table(ROWS)
    text = "age,city,paid\n31,Bern,true\n?,,false\n44,Zug,\n"
    (tmp_path / "a.csv").write_text(text)
    (tmp_path / "a.tsv").write_text(text.replace(",", "\t"))
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text.encode()))
    parquet.write_table(table, tmp_path / "a.parquet")
    feather.write_feather(table, tmp_path / "a.feather")
    for path in tmp_path.iterdir():
        read = read_table(path)
        assert read.names == ["age", "city", "paid"], path
        assert read.arrow.to_pydict() == ROWS, path


def test_frames_and_arrays() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(ROWS)
    assert Table.of(frame).arrow.to_pydict()["city"] == ROWS["city"]
    assert Table.of(frame).arrow.to_pydict()["age"] == ROWS["age"]
    array = Table.of(np.arange(6.0).reshape(3, 2))
    assert array.names == ["x0", "x1"]
    assert not array.named
    mixed = Table.of(pd.DataFrame({"a": [1, "x", None]}))
    assert mixed.arrow.to_pydict() == {"a": ["1", "x", None]}


def test_polars() -> None:
    pl = pytest.importorskip("polars")
    assert Table.of(pl.DataFrame(ROWS)).arrow.to_pydict() == ROWS


def test_a_column_that_changes_its_mind_is_text(tmp_path: Path) -> None:
    path = tmp_path / "mixed.csv"
    path.write_text("a,b\n" + "1,2\n" * 300_000 + "x,2\n")
    table = read_table(path)
    assert pa.types.is_string(table.column("a").type)
    assert pa.types.is_integer(table.column("b").type)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"a,b\n", "no rows"),
        ("a.csv", b"a,b\n1,2\n1,2,3\n", "must have 2 values in every row"),
        ("a.csv", b"a,b\n1,2\n1\n", "must have 2 values in every row"),
        ("a.csv", b"a,a\n1,2\n", "several columns called 'a'"),
        ("a.csv", b"a,\n1,2\n", "column 2 of 'a.csv' has no name"),
        ("a.csv", b"a,b\n1,\xff\xfe\n", "must be UTF-8, however the column 'b'"),
        ("a.csv", b"\xff\xfea\n1\n", "must be UTF-8, however its first line"),
        ("a.csv.gz", b"a,b\n1,2\n", "cannot be read"),
        ("a.parquet", b"PAR1 no such thing", "cannot be read"),
        ("a.feather", b"no feather at all", "cannot be read"),
        ("a.xlsx", b"x", "must end in one of .csv"),
        ("a.txt", b"1\t2\t3\n", "must have 40 values in every row"),
    ],
)
def test_bad_files_get_a_sentence(tmp_path: Path, name: str, content: bytes, sentence: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TabnasError, match=sentence):
        read_table(tmp_path / name)


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(TabnasError, match="there is no file"):
        read_table(tmp_path / "missing.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(TabnasError, match="is a folder"):
        read_table(tmp_path / "folder.csv")


@given(st.binary(max_size=200), st.sampled_from([".csv", ".tsv", ".txt", ".parquet", ".feather"]))
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_a_table_or_a_sentence(tmp_path: Path, content: bytes, ending: str) -> None:
    path = tmp_path / f"fuzz{ending}"
    path.write_bytes(content)
    try:
        table = read_table(path)
        encoded = TableEncoder.fit(table).encode(table)
    except TabnasError:
        return
    assert len(encoded) == len(table) > 0


@needs_shared
def test_real_files_in_two_formats() -> None:
    written = read_table(SHARED / "data" / "adult.csv.gz")
    stored = read_table(SHARED / "data" / "adult.parquet")
    encoders = [TableEncoder.fit(table.drop(["income"])) for table in (written, stored)]
    assert encoders[0].to_dict() == encoders[1].to_dict()
    criteo = read_table(SHARED / "data" / "criteo_head.txt.gz")
    assert criteo.names == list(CRITEO_COLUMNS)
    assert len(criteo) == 2_000
