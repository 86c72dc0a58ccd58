from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from tabnas import TabNASError
from tabnas.data import CRITEO_COLUMNS, Table, TableEncoder, bundled_file, read_table, to_texts
from tests.criteo import write_criteo
from tests.real_files import write_adult

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
        assert read.arrow.select(["age", "paid"]).to_pydict() == {
            k: ROWS[k] for k in ("age", "paid")
        }
        assert to_texts(read.column("city")).to_pylist() == ROWS["city"], path


def test_data_frames_and_arrays() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(ROWS)
    assert Table.from_data(frame).arrow.to_pydict()["city"] == ROWS["city"]
    assert Table.from_data(frame).arrow.to_pydict()["age"] == ROWS["age"]
    array = Table.from_data(np.arange(6.0).reshape(3, 2))
    assert array.names == ["x0", "x1"]
    assert not array.has_names
    mixed = Table.from_data(pd.DataFrame({"a": [1, "x", None]}))
    assert mixed.arrow.to_pydict() == {"a": ["1", "x", None]}


def test_polars() -> None:
    pl = pytest.importorskip("polars")
    assert Table.from_data(pl.DataFrame(ROWS)).arrow.to_pydict() == ROWS


def test_a_column_of_numbers_and_texts_is_text(tmp_path: Path) -> None:
    path = tmp_path / "mixed.csv"
    path.write_text("a,b\n" + "1,2\n" * 300_000 + "x,2\n")
    table = read_table(path)
    assert pa.types.is_string(table.column("a").type)
    assert pa.types.is_integer(table.column("b").type)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"a,b\n", "must have rows"),
        ("a.csv", b"a,b\n1,2\n1,2,3\n", "must have 2 values in every row"),
        ("a.csv", b"a,b\n1,2\n1\n", "must have 2 values in every row"),
        ("a.csv", b"a,a\n1,2\n", "several columns called 'a'"),
        ("a.csv", b"a,\n1,2\n", "column 2 of 'a.csv' has no name"),
        ("a.csv", b"a,b\n1,\xff\xfe\n", "must be UTF-8, but the column 'b'"),
        ("a.csv", b"\xff\xfea\n1\n", "must be UTF-8, but its first line"),
        ("a.csv", b"a,b\n1,x\0y\n", "the column 'b' in row 1 holds a zero byte"),
        ("a.csv", b",a\n0,1\n", "column 1 of 'a.csv' has no name.*without its index"),
        ("a.csv", b"a,  \n1,2\n", "column 2 of 'a.csv' has no name"),
        ("a.csv", b"\na,b\n1,2\n", "column 1 of 'a.csv' has no name"),
        ("a.csv", b"\n", "column 1 of 'a.csv' has no name"),
        ("a.csv", b'a,b\n1,2\n3,"x\n4,y\n5,z\n', "must close every quote, but its row 2"),
        ("a.csv", b'a,b\n1,"x\n2,y\n3,z', "must close every quote, but its row 1"),
        ("a.csv", b"a,b\n1,2\n\n3,4,5\n", "row 2 has 3"),
        ("a.csv.gz", b"a,b\n1,2\n", "cannot be read"),
        ("a.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 999, mtime=0)[:30], "cannot be read"),
        ("a.csv.gz", gzip.compress(b"a,b\n1,2\n", mtime=0)[:-9] + b"\xff" * 9, "cannot be read"),
        ("a.parquet", b"PAR1 no such thing", "cannot be read: it is not a Parquet file, or it is"),
        ("a.parquet", b"x", "cannot be read: it is not a Parquet file, or it is incomplete"),
        ("a.feather", b"no feather at all", "cannot be read: it is not a Feather file, or it is"),
        ("a.xlsx", b"x", "must end in one of .csv, .*, .feather, .csv.gz, .tsv.gz, .txt.gz to be"),
        (
            "a.csv",
            gzip.compress(b"a,b\n1,2\n", mtime=0),
            "by gzip; unpack it, or let its name end in .csv.gz",
        ),
        (
            "a.txt",
            gzip.compress(b"1\t2\n", mtime=0),
            "by gzip; unpack it, or let its name end in .txt",
        ),
        ("a.csv", b"PK\x03\x04 of Excel", "must be text, but it is compressed by zip; unpack it"),
        ("a.csv", b"# by x\na,b\n1,2\n", "must have 1 value in every row, .*; remove a title or"),
        ("a.csv", b"# by x, y\na,b,c\n1,2,3\n", "have 2 values .*; remove a title or comment"),
        (
            "a.txt",
            b"1\t2\t3\n",
            "Criteo's .txt files have, but row 1 has 3; call a table with names .csv or .tsv",
        ),
    ],
)
def test_unreadable_files_are_refused(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TabNASError, match=message):
        read_table(tmp_path / name)


@pytest.mark.parametrize("content", ["a c y\n1 2 3\n", "# by x\na;c;y\n1;2;3\n"])
def test_a_missing_column_of_a_file_with_one_column_explains_separators(
    content: str, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text(content)
    table = read_table(tmp_path / "a.csv")
    with pytest.raises(TabNASError, match=r"no column 'y'; .*; if these are several columns"):
        table.resolve_name("y")


def test_paths_that_are_not_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TabNASError, match="there is no file"):
        read_table(tmp_path / "missing.csv")
    (tmp_path / "folder.csv").mkdir()
    for folder in (tmp_path / "folder.csv", tmp_path):
        with pytest.raises(TabNASError, match="is a folder"):
            read_table(folder)


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        (b"\xef\xbb\xbfa,b\r\n1,x\r\n2,y\r\n", {"a": [1, 2], "b": ["x", "y"]}),
        (b"a,b\r1,x\r2,y\r", {"a": [1, 2], "b": ["x", "y"]}),
        (b" a , b\n1,x\n2,y\n", {"a": [1, 2], "b": ["x", "y"]}),
        (b'"a","b"\n1,"x\ny"\n2,"u,v"\n', {"a": [1, 2], "b": ["x\ny", "u,v"]}),
        (b'a,b\n1,"x"\n2,"u\n"\n\n', {"a": [1, 2], "b": ["x", "u\n"]}),
        (b"a;b\n1,5;x\n2;y\n", {"a": [1.5, 2.0], "b": ["x", "y"]}),
        (b"a;b\n1.5;x,y\n2;y\n", {"a": [1.5, 2.0], "b": ["x,y", "y"]}),
        (b"a\tb\n1\tx, y\n2\ty\n", {"a": [1, 2], "b": ["x, y", "y"]}),
        (b"a|b\n1|x\n\n2|y\n\n", {"a": [1, 2], "b": ["x", "y"]}),
        (b"a|b|c,d\n1,2\n", {"a|b|c": [1], "d": [2]}),
        (b"a\n1\n2\n", {"a": [1, 2]}),
        (b"a,b\n1e999,1e308\n2,3\n", {"a": [float("inf"), 2.0], "b": [1e308, 3.0]}),
        ("ä,🦉\n1,ü\n".encode(), {"ä": [1], "🦉": ["ü"]}),
    ],
)
def test_variants_of_csv(tmp_path: Path, content: bytes, columns: dict[str, list[object]]) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    assert read_table(tmp_path / "a.csv").arrow.to_pydict() == columns


def test_codes_with_leading_zeros(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("code,size\n007,1\nXL,2\n007,3\nXL,4\n")
    (tmp_path / "new.csv").write_text("code,size\n007,1\n")
    encoder = TableEncoder.fit(read_table(tmp_path / "train.csv"))
    assert encoder.text_columns == ("code",)
    new = read_table(tmp_path / "new.csv", text=encoder.text_columns)
    assert encoder.encode(new).categorical.tolist() == [[1]]
    assert TableEncoder.fit(new.take(np.array([0, 0, 0])), kinds={"code": "categorical"})
    numbers = TableEncoder.fit(Table.from_data({"a": [1, 2, 2, 1]}), kinds={"a": "categorical"})
    assert numbers.text_columns == ("a",)


def test_parquet_and_feather(tmp_path: Path) -> None:
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    indexed = pa.table({"a": [1, 2], "__index_level_0__": [0, 1]})
    for ending, write in ((".parquet", parquet.write_table), (".feather", feather.write_feather)):
        write(twice, tmp_path / f"twice{ending}")
        with pytest.raises(TabNASError, match="several columns called 'a'"):
            read_table(tmp_path / f"twice{ending}")
        write(indexed, tmp_path / f"indexed{ending}")
        assert read_table(tmp_path / f"indexed{ending}").names == ["a"]
        content = (tmp_path / f"indexed{ending}").read_bytes()
        (tmp_path / f"cut{ending}").write_bytes(content[: len(content) * 2 // 3])
        with pytest.raises(TabNASError, match="cannot be read"):
            read_table(tmp_path / f"cut{ending}")


def test_a_real_table_is_the_same_in_two_formats(tmp_path: Path) -> None:
    path = bundled_file("adult.parquet")
    assert path is not None
    text_table, parquet_table = read_table(write_adult(tmp_path / "adult.csv.gz")), read_table(path)
    encoders = [TableEncoder.fit(table.drop(["income"])) for table in (text_table, parquet_table)]
    assert encoders[0].to_dict() == encoders[1].to_dict()
    criteo = read_table(write_criteo(tmp_path / "criteo.txt.gz", 2_000))
    assert criteo.names == list(CRITEO_COLUMNS)
    assert len(criteo) == 2_000
