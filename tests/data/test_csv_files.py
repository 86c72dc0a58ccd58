"""Text is read in blocks, whose ends change no type, value or row."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from tabnas import TabNASError
from tabnas.data import Table, TableEncoder, _arrow_files, _spool, read_table
from tabnas.data.csv_files import _reader, detect_csv_format
from tests.criteo import write_criteo
from tests.real_files import write_adult

VALUES = (
    *("NA", "1", "0x10", "9" * 20, "1.5", "true", "x", "x'y", 'say ""so""', " 7 "),
    *("2020-01-01", "10:00:00", "2020-01-01 10:00:00", "2020-01-01 10:00:00.5"),
    *("2020-01-01T10:00:00Z", "2020-01-01T10:00:00.5+01:00"),
)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read text in blocks of some lines."""
    monkeypatch.setattr(_reader, "SAMPLE_BYTES", 1 << 10)
    monkeypatch.setattr(_reader, "BLOCK_BYTES", 1 << 11)


@pytest.fixture
def spooled(monkeypatch: pytest.MonkeyPatch, small_blocks: None) -> None:
    """Read text in small blocks, and spool it to a temporary file."""
    monkeypatch.setattr(_spool, "MIN_LARGE_BYTES", 1)
    monkeypatch.setattr(_spool, "GROUP_BYTES", 1 << 14)


@pytest.fixture(params=["small_blocks", "spooled"])
def way(request: pytest.FixtureRequest) -> str:
    request.getfixturevalue(request.param)
    return str(request.param)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("first", VALUES)
def test_types_equal_those_of_the_file_read_at_once(first: str, tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    lines = [[f"c{i}" for i in range(len(VALUES))], *[[f'"{first}"'] * len(VALUES)] * 20]
    lines += [[f'"{then}"' for then in VALUES]]
    path.write_text("\n".join(map(",".join, lines)) + "\n", encoding="utf-8")
    at_once = csv.read_csv(path, **detect_csv_format(path, separator=",").options())
    read = read_table(path)
    assert read.arrow.schema.types == at_once.schema.types
    assert read.arrow.to_pydict() == at_once.to_pydict()


@pytest.mark.usefixtures("way")
def test_a_type_does_not_depend_on_the_block(tmp_path: Path) -> None:
    """A code of 1.0 is the category 1, in a column of numbers and among texts."""
    encoder = TableEncoder.fit(Table.from_data({"code": [1, 2] * 5}), kinds={"code": "categorical"})
    path = tmp_path / "new.csv"
    for last, expected in (("2.0", {1, 2}), ("x", {0, 1})):
        path.write_text("code,other\n" + "1.0,a\n" * 999 + f"{last},a\n")
        pieces = [encoder.encode(piece).categorical for piece in read_table(path).iter_batches(64)]
        assert set(np.concatenate(pieces)[:, 0].tolist()) == expected


@pytest.mark.usefixtures("way")
def test_decimal_commas_hold_for_all_rows_or_for_none(tmp_path: Path) -> None:
    path = tmp_path / "new.csv"
    start = "a;b;c\n" + "1;1,5;1,5\n" * 999
    path.write_text(start + "2,5;3;x\n")
    table = read_table(path)
    assert table.column("a").to_pylist() == [1.0] * 999 + [2.5]
    assert table.column("b").to_pylist() == [1.5] * 999 + [3.0]
    assert table.column("c").to_pylist() == ["1,5"] * 999 + ["x"]
    pieces = pa.concat_tables(piece.arrow for piece in table.iter_batches(10))
    assert pieces.to_pydict() == table.arrow.to_pydict()


@pytest.mark.usefixtures("way")
def test_an_empty_line_of_a_single_column_is_a_row(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    for end in ("\n", "\r\n"):
        path.write_bytes(f"a{end}1{end}{end}3{end}{end}5{end}".encode())
        assert read_table(path).column("a").to_pylist() == [1, None, 3, None, 5]
    path.write_bytes(b"a\n\n\n")
    assert read_table(path).column("a").to_pylist() == [None, None]


@pytest.mark.usefixtures("way")
def test_records_may_be_longer_than_a_block(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    long = "x" * 100_000
    path.write_text(f"a,b\n1,y\n2,{long}\n")
    assert read_table(path).column("b").to_pylist() == ["y", long]
    path.write_text(f"a,{long}\n1,2\n")
    assert read_table(path).names == ["a", long]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    ("last", "message"),
    [
        (b"1,2,3\n", "must have 2 values in every row.*but row 1000 has 3"),
        (b"1,x\0y\n", "the column 'b' in row 1000 holds a zero byte"),
        (b"1,\xff\n", "must be UTF-8, but the column 'b' is not"),
        (b'1,"x\n2,y\n', "must close every quote, but its row 1000 runs"),
    ],
)
def test_errors_of_late_rows_name_the_row(tmp_path: Path, last: bytes, message: str) -> None:
    path = tmp_path / "late.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 999 + last)
    with pytest.raises(TabNASError, match=message):
        read_table(path)


def test_a_file_with_a_header_only_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "header.csv"
    for end in ("", "\n"):
        path.write_text("a,b" + end)
        with pytest.raises(TabNASError, match="must have rows, but it has column names only"):
            read_table(path)


@pytest.mark.usefixtures("spooled")
def test_only_a_few_blocks_are_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "many.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,x\n" * 100_000))
    monkeypatch.setattr(_spool, "MIN_LARGE_BYTES", 1 << 15)
    waiting: list[int] = []
    add = _spool.Spool.add

    def record_waiting(spool: _spool.Spool, batch: pa.RecordBatch) -> None:
        waiting.append(spool._bytes + batch.nbytes)
        add(spool, batch)

    monkeypatch.setattr(_spool.Spool, "add", record_waiting)
    reports: list[float] = []
    assert len(read_table(path, on_progress=reports.append)) == 100_000
    assert len(waiting) > 100  # blocks
    assert max(waiting) < 1 << 16
    assert reports[-1] == 1.0


@pytest.mark.usefixtures("spooled")
def test_no_temporary_file_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 9_999)
    table = read_table(path)
    path.write_bytes(b"a,b\n" + b"1,2\n" * 9_999 + b"1,2,3\n")
    with pytest.raises(TabNASError, match="must have 2 values"):
        read_table(path)
    assert list((tmp_path / "tmp").iterdir()) == []
    assert table.column("b").to_pylist() == [2] * 9_999  # the open table can still be read


@pytest.mark.usefixtures("spooled")
@pytest.mark.parametrize("name", ["adult.csv.gz", "criteo.txt.gz"])
def test_real_files_read_in_blocks_have_the_same_values(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name
    path = write_adult(path) if name.startswith("adult") else write_criteo(path, 2_000)
    monkeypatch.setattr(_reader, "BLOCK_BYTES", 1 << 15)
    table = read_table(path)
    pieces = pa.concat_tables(piece.arrow for piece in table.iter_batches(1_000))
    monkeypatch.undo()
    assert _arrow_files.MIN_LARGE_BYTES == _spool.MIN_LARGE_BYTES
    expected = read_table(path).arrow
    assert pieces.cast(expected.schema).equals(expected)  # texts came as dictionaries
