"""Text files are copied to Arrow's format."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import feather

from tabnas import TabNASError
from tabnas.data.csv_files import _blocks
from tabnas.stores import _readers
from tabnas.stores._progress import EncodingProgress, Meter
from tabnas.stores._readers import FeatherReader
from tabnas.stores._sources import Source
from tabnas.stores._text_copies import TextColumns, copy_text_sources

COLUMNS = TextColumns(types={"b": pa.string(), "a": pa.string()})


def copy(path: Path, chunk: int, out: Path) -> tuple[Source, list[EncodingProgress]]:
    reports: list[EncodingProgress] = []
    out.mkdir()
    source = Source.from_path(path)
    meter = Meter("reading", source.size, reports.append)
    (copied,) = copy_text_sources([source], COLUMNS, chunk, out, meter)
    return copied, reports


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("chunk", [3, 10, 64, 10_000])
def test_all_rows_are_copied(
    chunk: int, zipped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_readers, "MIN_ROWS", 1)
    body = "".join(f'{i},"line {i}\nand ""more""",z\n' for i in range(50)) + "last,x,y"
    path = tmp_path / ("t.csv.gz" if zipped else "t.csv")
    content = f"a,b,c\n{body}".encode()
    path.write_bytes(gzip.compress(content) if zipped else content)
    source, reports = copy(path, chunk, tmp_path / "store")
    assert source.copy is not None
    table = feather.read_table(source.copy)
    assert table.column_names == ["b", "a"]
    assert table.column("a").to_pylist() == [*map(str, range(50)), "last"]
    assert table.column("b")[7].as_py() == 'line 7\nand "more"'
    assert reports[-1].rows == 51
    assert reports[-1].fraction == 1.0
    reader = FeatherReader(names=("b", "a"), size=chunk)
    chunks = list(reader.chunks(source, 0, None))
    assert pa.concat_tables([one.table.arrow for one in chunks]).equals(table)
    assert sum(one.bytes for one in chunks) == source.size
    resumed = next(i for i, one in enumerate(chunks) if one.end is not None) + 1
    again = list(reader.chunks(source, chunks[resumed - 1].end, None))
    assert [len(one.table) for one in again] == [len(one.table) for one in chunks[resumed:]]


def test_an_unclosed_quote_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_blocks, "MAX_RECORD_BYTES", 100)
    path = tmp_path / "t.csv"
    path.write_text("a,b,c\n" + '1,2,"' + "x\n" * 10_000)
    with pytest.raises(TabNASError, match=r"'t\.csv' must close every quote and end its lines"):
        copy(path, 20, tmp_path / "store")
    assert not list((tmp_path / "store" / "text_copies").iterdir())


def test_an_unclosed_quote_in_a_dropped_column_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a,b,c\n1,2,3\n4,5,"6\n7,8,9\n')
    with pytest.raises(TabNASError, match=r"'t\.csv' must close every quote, but its row 2"):
        copy(path, 1_000, tmp_path / "store")
