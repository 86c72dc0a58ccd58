"""Rows of Criteo's form: 13 counts, 26 codes, many of them missing, and a label."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from tabnas.data import CRITEO_COLUMNS


def make_criteo(rows: int, seed: int = 0) -> pa.Table:
    """Make a table in which counts and codes tell something of the label; a fifth are clicks."""
    rng = np.random.default_rng(seed)
    signal = rng.normal(size=rows)
    columns: dict[str, pa.Array] = {
        "label": pa.array((signal + rng.normal(size=rows) > 1.2).astype(np.int64))
    }
    for k in range(1, 14):
        counts = np.exp(rng.normal(scale=k / 3, size=rows) + 0.3 * signal).astype(np.int64)
        columns[f"I{k}"] = pa.array(counts, mask=rng.random(rows) < 0.03 * k)
    for k in range(1, 27):
        codes = (rng.zipf(1.3, size=rows) * (1 + (signal > 0))) % 2 ** min(k, 14)
        texts = np.array([f"{k * 7_919 + code:08x}" for code in codes])
        columns[f"C{k}"] = pa.array(texts, mask=rng.random(rows) < 0.01 * k)
    return pa.table(columns).select(list(CRITEO_COLUMNS))


def write_criteo(path: Path, rows: int, seed: int = 0) -> Path:
    """Write such rows as Criteo does: separated by tabs, no header, gzipped."""
    form = csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    with gzip.open(path, "wb") as file:
        csv.write_csv(make_criteo(rows, seed), file, form)
    return path
