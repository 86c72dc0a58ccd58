"""Large files in Criteo's form, made of the rows of a small real one.

    python benchmarks/_criteo_form.py criteo.parquet big.txt --rows 1000000

A row is drawn from the real ones and changed. A count is multiplied by lognormal noise and rounded;
one that is missing stays so. One category in five is that of another row, drawn anew for each
column, and one in fifty is a code that no real row has, one of a hundred million. So columns keep
their distributions, their missing values and their link to the label, which grows weaker, and
vocabularies grow with the rows, as Criteo's do. Results on such files tell of time and memory, not
of how well a network does on Criteo.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv, parquet

from tabnas.data import CRITEO_COLUMNS

NOISE = 0.3  # the deviation of a count's logarithm
SWAPPED = 0.2
UNSEEN = 0.02
CODES = 10**8
CHUNK = 100_000


def noisy_counts(column: pa.ChunkedArray, rng: np.random.Generator) -> pa.Array:
    """Counts times lognormal noise, rounded."""
    values = column.cast(pa.float64()).to_numpy()
    noise = np.exp(rng.normal(scale=NOISE, size=len(values)))
    return pa.array(np.round(values * noise), from_pandas=True).cast(pa.int64())


def mixed_codes(
    column: pa.ChunkedArray, indices: NDArray[np.int64], rng: np.random.Generator
) -> pa.Array:
    """Categories of the rows `indices`, some from other rows, some that nobody has seen."""
    rows = np.where(
        rng.random(len(indices)) < SWAPPED, rng.integers(len(column), size=len(indices)), indices
    )
    taken = column.take(pa.array(rows)).combine_chunks()
    new = rng.random(len(indices)) < UNSEEN
    codes = pa.array([f"{code:08x}" for code in rng.integers(CODES, size=int(new.sum()))])
    return pc.replace_with_mask(taken.cast(pa.string()), pa.array(new), codes)


def make(source: Path, out: Path, rows: int, seed: int = 0) -> None:
    """Write a tab-separated file without a header."""
    real = parquet.read_table(source).select(list(CRITEO_COLUMNS))
    rng = np.random.default_rng(seed)
    schema = pa.schema(
        [(name, pa.string() if name.startswith("C") else pa.int64()) for name in CRITEO_COLUMNS]
    )
    form = csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    with csv.CSVWriter(out, schema, write_options=form) as writer:
        for begin in range(0, rows, CHUNK):
            indices = rng.integers(len(real), size=min(CHUNK, rows - begin))
            taken = real.take(pa.array(indices))
            columns = [taken.column("label").cast(pa.int64())]
            columns += [noisy_counts(taken.column(f"I{i}"), rng) for i in range(1, 14)]
            columns += [mixed_codes(real.column(f"C{i}"), indices, rng) for i in range(1, 27)]
            writer.write_table(pa.table(columns, schema=schema))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    make(options.source, options.out, options.rows, options.seed)


if __name__ == "__main__":
    main()
