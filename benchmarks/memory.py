"""How much memory a search of a large table takes, against the table's float32 arrays.

    python benchmarks/memory.py --out results

A table of a million rows and 40 numbers (made: the target is a noisy function of some of them) is
searched from the command line, as Parquet and as CSV, in a process of its own. What counts is the
peak of resident memory beyond that of the same search on a thousand rows, which is what the program
itself takes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from tabnas.paper import provenance

COLUMNS = 40


def make(path: Path, rows: int) -> None:
    """Write a table of numbers and a class."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, COLUMNS))
    y = x[:, 0] * x[:, 1] + np.sin(x[:, 2]) + rng.normal(scale=0.5, size=rows) > 0
    columns = {f"x{k}": x[:, k] for k in range(COLUMNS)} | {"y": np.where(y, "yes", "no")}
    table = pa.table(columns)
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    else:
        csv.write_csv(table, path)


RUN = """
import re, sys
from tabnas.cli._main import run
code = run(sys.argv[1:])
print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
sys.exit(code)
"""


def peak(path: Path, out: Path, seconds: float) -> tuple[int, float]:
    """Bytes of resident memory at most, and seconds, of one search."""
    arguments = [
        *("search", str(path), "--target", "y", "--max-parameters", "5000"),
        *("--time", str(seconds), "--out", str(out), "--quiet"),
    ]
    began = perf_counter()
    command = [sys.executable, "-c", RUN, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return 1024 * int(done.stdout), perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("parquet", "csv"):
            small, large = (Path(folder) / f"{size}.{kind}" for size in ("small", "large"))
            make(small, 1_000)
            make(large, options.rows)
            program, _ = peak(small, Path(folder) / f"small-{kind}", options.seconds)
            whole, seconds = peak(large, Path(folder) / f"large-{kind}", options.seconds)
            arrays = options.rows * COLUMNS * 4
            rows.append(
                {
                    "file": kind,
                    "rows": options.rows,
                    "columns": COLUMNS,
                    "arrays_mb": arrays / 1e6,
                    "program_mb": program / 1e6,
                    "peak_mb": whole / 1e6,
                    "ratio": (whole - program) / arrays,
                    "seconds": seconds,
                }
            )
            print(rows[-1], flush=True)
    facts = provenance("python benchmarks/memory.py --out results")
    (options.out / "memory.json").write_text(json.dumps(facts | {"rows": rows}, indent=1) + "\n")
    lines = [
        "# Memory of a search",
        "",
        f"`{facts['command']}`, {facts['date']}. Peak resident memory of `tabnas search --time "
        f"{options.seconds:g}` on {options.rows:,} rows of {COLUMNS} numbers, boosted trees "
        "included, beyond the peak of the same on 1,000 rows, in multiples of the float32 arrays.",
        "",
        "| file | arrays | the program itself | peak | beyond, in arrays | seconds |",
        "|---|---|---|---|---|---|",
        *(
            f"| {r['file']} | {r['arrays_mb']:.0f} MB | {r['program_mb']:.0f} MB | "
            f"{r['peak_mb']:.0f} MB | **{r['ratio']:.2f}** | {r['seconds']:.0f} |"
            for r in rows
        ),
    ]
    (options.out / "memory.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
