"""Large files are read column by column, and give the same values as files read at once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

from tabnas.data import Table, TableEncoder, _arrow_files, _spool, read_table
from tabnas.data.csv_files import _reader
from tabnas.errors import TabNASError

ROWS = 5_000


@pytest.fixture
def arrow_table() -> pa.Table:
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 9, ROWS).astype(object)
    numbers[-3] = 1.5  # the first blocks hold whole numbers only
    return pa.table(
        {
            "a": rng.normal(size=ROWS),
            "a.b": rng.integers(0, 50, ROWS),
            "late fraction": pa.array([float(v) for v in numbers]),
            "late text": ["7"] * (ROWS - 1) + ["seven"],
            "city": rng.choice(["Bern", "Basel", None], ROWS),
        }
    )


@pytest.fixture
def all_files_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat every file as large, and read it in small blocks."""
    monkeypatch.setattr(_arrow_files, "MIN_LARGE_BYTES", 1)
    monkeypatch.setattr(_spool, "MIN_LARGE_BYTES", 1)
    monkeypatch.setattr(_reader, "SAMPLE_BYTES", 1 << 14)
    monkeypatch.setattr(_reader, "BLOCK_BYTES", 1 << 14)


@pytest.mark.parametrize("kind", ["parquet", "feather", "csv", "semicolons"])
def test_columns_equal_those_of_a_file_read_at_once(
    kind: str, arrow_table: pa.Table, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    path = tmp_path / f"table.{'csv' if kind == 'semicolons' else kind}"
    if kind == "parquet":
        parquet.write_table(arrow_table, path, row_group_size=700)
    elif kind == "feather":
        feather.write_feather(arrow_table, path, chunksize=700)
    elif kind == "csv":
        csv.write_csv(arrow_table, path)
    else:
        arrow_table = arrow_table.set_column(
            0, "a", pa.array([str(v).replace(".", ",") for v in arrow_table["a"].to_pylist()])
        )
        csv.write_csv(arrow_table, path, csv.WriteOptions(delimiter=";"))
    at_once = read_table(path)
    request.getfixturevalue("all_files_large")
    by_column = read_table(path)
    assert by_column.names == at_once.names == arrow_table.column_names
    assert len(by_column) == ROWS
    for name in arrow_table.column_names:
        left, right = by_column.column(name), at_once.column(name)
        assert left.to_pylist() == right.to_pylist()
    rows = np.array([4_999, 0, 17])
    assert by_column.column("a.b", rows).to_pylist() == at_once.column("a.b", rows).to_pylist()
    kinds = {"late text": "categorical"}
    encoders = [TableEncoder.fit(table, kinds=kinds) for table in (at_once, by_column)]
    assert encoders[0].to_dict() == encoders[1].to_dict()
    np.testing.assert_array_equal(
        encoders[0].encode(at_once).numeric, encoders[1].encode(by_column).numeric
    )
    for table in (at_once, by_column):
        assert [len(piece) for piece in table.iter_batches(900)] == [900] * 5 + [500]
        selected = table.select(["late text", "a"]).rename(["t", "b"], has_names=True)
        pieces = pa.concat_tables(piece.arrow for piece in selected.iter_batches(900))
        assert pieces.column_names == ["t", "b"]
        assert pieces["t"].to_pylist() == at_once.column("late text").to_pylist()
        assert pieces["b"].to_pylist() == at_once.column("a").to_pylist()


@pytest.mark.usefixtures("all_files_large")
def test_errors_of_large_files_name_the_problem(tmp_path: Path) -> None:
    path = tmp_path / "ragged.csv"
    path.write_text("a,b\n" + "1,2\n" * 9_000 + "1,2,3\n" + "1,2\n" * 10)
    with pytest.raises(TabNASError, match="but row 9001 has 3"):
        read_table(path)
    path.write_bytes(b"a,b\n" + b"1,x\n" * 9_000 + b"1,\xff\n")
    with pytest.raises(TabNASError, match="must be UTF-8"):
        read_table(path)


def test_lazy_tables_load_only_the_columns_used() -> None:
    loaded: list[int] = []

    def load(number: int) -> pa.Array:
        loaded.append(number)
        return pa.array([10 * number, 10 * number + 1, 10 * number + 2])

    table = Table.lazy(["a", "b", "c"], 3, load)
    selected = table.drop(["b"]).take(np.array([2, 0]))
    assert (selected.names, len(selected), loaded) == (["a", "c"], 2, [])
    assert selected.column("c").to_pylist() == [22, 20]
    assert selected.rename(["x", "y"], has_names=True).column("x").to_pylist() == [2, 0]
    assert loaded == [2, 0]
    assert table.arrow.to_pydict() == {"a": [0, 1, 2], "b": [10, 11, 12], "c": [20, 21, 22]}


def test_an_array_is_not_copied() -> None:
    array = np.arange(12.0).reshape(4, 3)
    table = Table.from_data(array)
    assert (table.names, table.has_names) == (["x0", "x1", "x2"], False)
    array[0, 1] = 99  # still the caller's memory
    assert table.column("x1").to_pylist() == [99, 4, 7, 10]


@pytest.mark.usefixtures("all_files_large")
def test_a_damaged_large_file_is_refused(arrow_table: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    parquet.write_table(arrow_table, path)
    content = bytearray(path.read_bytes())
    content[4:40] = bytes(36)  # the first page's header
    path.write_bytes(content)
    table = read_table(path)
    with pytest.raises(TabNASError, match=r"the column 'a' of 'table.parquet' cannot be read"):
        table.column("a")


@pytest.mark.usefixtures("all_files_large")
@pytest.mark.parametrize("ending", ["parquet", "feather", "csv"])
def test_batches_never_hold_a_complete_column(
    ending: str, arrow_table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"table.{ending}"
    if ending == "parquet":
        parquet.write_table(arrow_table, path)  # a single group of rows
    elif ending == "feather":
        feather.write_feather(arrow_table, path, chunksize=700)
    else:
        csv.write_csv(arrow_table, path)
    table = read_table(path)
    sizes: list[int] = []

    def record_sizes(tables: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
        for one in tables:
            sizes.append(one.num_rows)
            yield one

    regroup_rows = _arrow_files.regroup_rows
    monkeypatch.setattr(
        _arrow_files, "regroup_rows", lambda t, rows: regroup_rows(record_sizes(t, rows), rows)
    )
    monkeypatch.setattr(parquet.ParquetFile, "read", None)
    assert sum(len(piece) for piece in table.iter_batches(300)) == ROWS
    assert sum(sizes) == ROWS
    assert max(sizes) <= (700 if ending == "feather" else 300)


@pytest.mark.usefixtures("all_files_large")
@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_memory_does_not_grow_from_batch_to_batch(ending: str, tmp_path: Path) -> None:
    rows, groups = 20_000, 40
    arrow_table = pa.table(
        {name: np.random.default_rng(0).normal(size=rows * groups) for name in "ab"}
    )
    path = tmp_path / f"table.{ending}"
    if ending == "parquet":
        parquet.write_table(arrow_table, path, row_group_size=rows)
    else:
        feather.write_feather(arrow_table, path, chunksize=rows)
    del arrow_table
    before = pa.total_allocated_bytes()
    allocated = [pa.total_allocated_bytes() - before for _ in read_table(path).iter_batches(rows)]
    assert len(allocated) == groups
    piece = 2 * 8 * rows  # two columns, 8 bytes a value
    # usually six; more for a moment on a busy machine, where threads of Arrow wait with theirs
    assert max(allocated) < 16 * piece


def test_batches_have_one_type_whatever_their_dictionaries(
    tmp_path: Path, all_files_large: None
) -> None:
    names = [f"city {i // 2}" for i in range(400)]
    chunks = [pa.array(names[i : i + 100]).dictionary_encode() for i in range(0, 400, 100)]
    arrow_table = pa.table({"city": pa.chunked_array(chunks)})
    parquet.write_table(arrow_table, tmp_path / "a.parquet", row_group_size=100)
    feather.write_feather(arrow_table, tmp_path / "a.feather", chunksize=100)
    encoder = TableEncoder.fit(Table(arrow_table), min_count=1)
    for name in ("a.parquet", "a.feather"):
        pieces = [
            encoder.encode(piece).categorical
            for piece in read_table(tmp_path / name).iter_batches(70)
        ]
        np.testing.assert_array_equal(
            np.concatenate(pieces), encoder.encode(Table(arrow_table)).categorical
        )


@pytest.mark.usefixtures("all_files_large")
def test_the_index_of_a_data_frame_is_not_a_column(tmp_path: Path) -> None:
    frame = pa.table({"__index_level_0__": [7, 8], "a": [1, 2], "b": ["x", "y"]})
    parquet.write_table(frame, tmp_path / "a.parquet")
    feather.write_feather(frame, tmp_path / "a.feather")
    for name in ("a.parquet", "a.feather"):
        table = read_table(tmp_path / name)
        assert table.arrow.to_pydict() == {"a": [1, 2], "b": ["x", "y"]}
        assert [piece.arrow.to_pydict() for piece in table.select(["b"]).iter_batches(1)] == [
            {"b": ["x"]},
            {"b": ["y"]},
        ]


def test_files_that_are_large_only_in_memory_count_as_large() -> None:
    assert _arrow_files.is_large(1_000, rows=5_000_000, columns=15)
    assert _arrow_files.is_large(_arrow_files.MIN_LARGE_BYTES, rows=10, columns=1)
    assert not _arrow_files.is_large(1_000_000, rows=50_000, columns=15)


@pytest.mark.usefixtures("all_files_large")
def test_a_file_truncated_while_it_is_read_is_refused(
    arrow_table: pa.Table, tmp_path: Path
) -> None:
    for ending, write in ((".parquet", parquet.write_table), (".feather", feather.write_feather)):
        path = tmp_path / f"table{ending}"
        write(arrow_table, path)
        table = read_table(path)
        os.truncate(path, 100)
        with pytest.raises(TabNASError, match=rf"'table{ending}' cannot be read"):
            list(table.iter_batches(100))


def test_several_threads_can_read_a_parquet_file(
    arrow_table: pa.Table, tmp_path: Path, all_files_large: None
) -> None:
    """Batches are read ahead in one thread while columns are read in another."""
    parquet.write_table(arrow_table, tmp_path / "table.parquet", row_group_size=50)
    table = read_table(tmp_path / "table.parquet")

    def read_pieces(_: int) -> list[float]:
        return [x for piece in table.iter_batches(70) for x in piece.column("a").to_pylist()]

    def read_column(_: int) -> list[float]:
        return list(table.column("a").to_pylist())

    with ThreadPoolExecutor(4) as pool:
        columns = [*pool.map(read_pieces, range(4)), *pool.map(read_column, range(12))]
    assert columns == [arrow_table["a"].to_pylist()] * 16
