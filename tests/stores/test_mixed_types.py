"""Files of one table may store the same columns in different types."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tabnas import TabNASError
from tabnas.stores import encode_store

ROWS = 100
WORDS = pa.array([f"{i % 7}" for i in range(ROWS)])
DAYS = pa.array([date(2024, 1 + i % 12, 1) for i in range(ROWS)])
TIMES = pa.array([datetime(2024, 1 + i % 12, 1) for i in range(ROWS)], pa.timestamp("us"))
ZONED = TIMES.cast(pa.timestamp("ns", tz="UTC"))
NUMBERS = pa.array(np.arange(ROWS) % 9)


def write_files(folder: Path, *columns: pa.Array) -> list[Path]:
    """Write a file with a target for each array."""
    paths = []
    for number, column in enumerate(columns):
        paths.append(folder / f"{number}.parquet")
        parquet.write_table(pa.table({"x": column, "y": ["a", "b"] * (ROWS // 2)}), paths[-1])
    return paths


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        ((WORDS.dictionary_encode(), WORDS), "categorical"),
        ((WORDS, WORDS.dictionary_encode()), "categorical"),
        ((WORDS.cast(pa.large_string()), WORDS), "numeric"),
        ((DAYS, TIMES), "datetime"),
        ((TIMES, DAYS), "datetime"),
        ((ZONED, DAYS, TIMES), "datetime"),
        ((NUMBERS, NUMBERS.cast(pa.float32()), NUMBERS.cast(pa.int8())), "numeric"),
        ((NUMBERS, pa.nulls(ROWS)), "numeric"),
    ],
)
def test_different_types_of_a_column_are_converted(
    columns: tuple[pa.Array, ...], kind: str, tmp_path: Path
) -> None:
    paths = write_files(tmp_path, *columns)
    store = encode_store(paths, tmp_path / "mixed", target="y")
    assert store.encoder.columns[0].kind == kind
    cast_columns = [column.cast(columns[0].type) for column in columns[1:]]
    (tmp_path / "alike").mkdir()
    same = encode_store(
        write_files(tmp_path / "alike", columns[0], *cast_columns),
        tmp_path / "store",
        target="y",
        kinds={"x": kind},
    )
    assert store.encoder.to_dict() == same.encoder.to_dict()
    assert store.digest == same.digest


@pytest.mark.parametrize(("column", "type_"), [(WORDS, "string"), (DAYS, "date32[day]")])
def test_incompatible_types_of_a_column_are_refused(
    column: pa.Array, type_: str, tmp_path: Path
) -> None:
    paths = write_files(tmp_path, NUMBERS, NUMBERS, column)
    with pytest.raises(TabNASError) as raised:
        encode_store(paths, tmp_path / "store", target="y")
    assert str(raised.value) == (
        "'2.parquet' must have columns of the types of the files before it, but 'x' is "
        f"{type_} there and int64 before; write all files with the same types"
    )
