"""The first rows of any number of files: their number and bytes are bounded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from tabnas import TabNASError
from tabnas.stores import _first_rows
from tabnas.stores._first_rows import read_first_rows
from tabnas.stores._sources import find_sources

FILES, ROWS = 30, 500
WRITE = {".parquet": parquet.write_table, ".feather": feather.write_feather}


@pytest.fixture(params=list(WRITE))
def paths(request: pytest.FixtureRequest, tmp_path: Path) -> list[Path]:
    """Write files of 80 bytes a row."""
    rng = np.random.default_rng(0)
    names = [f"{number:02d}{request.param}" for number in range(FILES)]
    for name in names:
        WRITE[request.param](pa.table({f"x{k}": rng.normal(size=ROWS) for k in range(10)}), name)
    return [tmp_path / name for name in names]


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_bytes_of_the_first_rows_are_bounded(in_folder: None, paths: list[Path]) -> None:
    first_rows = read_first_rows(find_sources(paths), 60_000)
    assert 50_000 < first_rows.table.arrow.nbytes < 66_000
    assert sum(first_rows.lengths) == len(first_rows.table)
    assert len(first_rows.lengths) == FILES
    assert first_rows.estimated_rows == pytest.approx(FILES * ROWS, rel=0.05)
    tiny = read_first_rows(find_sources(paths), 300)
    assert 1 <= len(tiny.table) <= 5  # fewer than one row for each file


def test_the_number_of_the_first_rows_is_bounded(
    in_folder: None, paths: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_first_rows, "MAX_FIRST_ROWS", 90)
    first_rows = read_first_rows(find_sources(paths), 1 << 30)
    assert first_rows.lengths == (3,) * FILES
    assert first_rows.estimated_rows == pytest.approx(FILES * ROWS, rel=0.05)
    other = paths[-1]
    WRITE[other.suffix](pa.table({"z": [1.0]}), str(other))
    for size in (300, 1 << 30):
        with pytest.raises(TabNASError, match=rf"'{other.name}' must have the columns"):
            read_first_rows(find_sources(paths), size)
