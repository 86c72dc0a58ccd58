"""Memory is bounded by its setting and does not grow with the number of rows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from tabnas import TabNASError
from tabnas.stores._settings import MemoryPlan

COLUMNS = 20
MEASURE_PEAK = r"""
import re, sys
from tabnas.stores import _first_pass, _settings, encode_store

_settings.MAX_CHUNK_BYTES, _settings.MAX_SAMPLED_ROWS = 1 << 20, 5_000
_first_pass.PIECE_BYTES = 4 << 20
store = encode_store(sys.argv[1], sys.argv[2], target="y")
for block in range(0, store.rows["train"] // 1_000, 7):
    store.read_blocks("train", [block], 1_000)
store.verify()
print(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1])
"""


def measure_peak(folder: Path, rows: int) -> int:
    """Return the peak of resident bytes of encoding and reading so many rows."""
    rng = np.random.default_rng(0)
    columns = {f"x{k}": rng.normal(size=rows) for k in range(COLUMNS)}
    columns |= {"c": rng.choice(["a", "b", "c"], rows), "y": rng.choice(["u", "v"], rows)}
    path = folder / f"{rows}.csv"
    csv.write_csv(pa.table(columns), path)
    command = [
        sys.executable,
        "-c",
        MEASURE_PEAK,
        str(path),
        str(folder / f"{rows}"),
    ]
    completed = subprocess.run(command, check=True, capture_output=True, text=True)
    return 1024 * int(completed.stdout)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_memory_does_not_grow_with_rows(tmp_path: Path) -> None:
    small, large = measure_peak(tmp_path, 100_000), measure_peak(tmp_path, 300_000)
    text = (tmp_path / "300000.csv").stat().st_size
    assert text > 120e6
    assert large - small < 0.4 * text
    assert large < 280e6  # half of it is the program itself


def test_memory_is_divided_into_shares() -> None:
    small, large = (
        MemoryPlan.from_memory(500 * 10**6),
        MemoryPlan.from_memory(8 * 10**9),
    )
    assert small.chunk < large.chunk
    assert small.sampled_rows(500.0) == 31_250
    assert large.sampled_rows(100.0) == 1 << 18
    assert small.sampled_rows(1e9) == 1 << 12
    for memory in (0, 1, -(10**9), 299 * 10**6, True, 1e9, "1GB"):
        with pytest.raises(TabNASError, match="memory must be at least 300 MB"):
            MemoryPlan.from_memory(memory)
