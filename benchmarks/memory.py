"""How much memory a search, a prediction and an evaluation of a large table take.

    python benchmarks/memory.py --out results

The tables are made: 40 numbers, and a class that is a noisy function of some of them, as Parquet
and as CSV. Every command runs in a process of its own. Of a search of a million rows, what counts
is the peak of resident memory beyond that of the same search on a thousand rows, which is what the
program itself takes. Of predictions and scores of five million rows, it is the peak itself: they
are made in pieces, so it must not grow with the file.
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

from tabnas.paper import collect_provenance

COLUMNS = 40
PIECE = 500_000  # rows that are made at a time


def make(path: Path, rows: int) -> None:
    """Write a table of numbers and a class."""
    rng = np.random.default_rng(0)
    names = [f"x{k}" for k in range(COLUMNS)]
    schema = pa.schema([*((name, pa.float64()) for name in names), ("y", pa.string())])
    open_writer = parquet.ParquetWriter if path.suffix == ".parquet" else csv.CSVWriter
    with open_writer(path, schema) as writer:
        for begin in range(0, rows, PIECE):
            x = rng.normal(size=(min(PIECE, rows - begin), COLUMNS))
            y = x[:, 0] * x[:, 1] + np.sin(x[:, 2]) + rng.normal(scale=0.5, size=len(x)) > 0
            columns = dict(zip(names, x.T, strict=True)) | {"y": np.where(y, "yes", "no")}
            writer.write_table(pa.table(columns, schema=schema))


RUN = """
import re, sys
from tabnas.cli._main import run
code = run(sys.argv[1:])
print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
sys.exit(code)
"""


def measure_peak(*arguments: object) -> tuple[int, float]:
    """Return the peak of resident memory in bytes, and the seconds, of one command."""
    began = perf_counter()
    command = [sys.executable, "-c", RUN, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return 1024 * int(done.stdout.split()[-1]), perf_counter() - began


def measure_search(folder: Path, kind: str, rows: int, seconds: float) -> dict[str, object]:
    """Search a small and a large table of one format."""
    peaks, took = [], 0.0
    for size in (1_000, rows):
        table = folder / f"{size}.{kind}"
        make(table, size)
        peak, took = measure_peak(
            *("search", table, "--target", "y", "--max-parameters", 5000),
            *("--time", seconds, "--out", folder / f"run-{size}-{kind}", "--quiet"),
        )
        peaks.append(peak)
    arrays = rows * COLUMNS * 4
    return {
        "file": kind,
        "rows": rows,
        "columns": COLUMNS,
        "arrays_mb": arrays / 1e6,
        "program_mb": peaks[0] / 1e6,
        "peak_mb": peaks[1] / 1e6,
        "ratio": (peaks[1] - peaks[0]) / arrays,
        "seconds": took,
    }


def measure_answers(folder: Path, kind: str, rows: int) -> list[dict[str, object]]:
    """Predict and evaluate a large table with the model of a small one."""
    table = folder / f"answers.{kind}"
    make(table, rows)
    run = folder / f"run-1000-{kind}"
    commands = {
        "predict": ("predict", run, table, "--out", folder / f"predictions.{kind}"),
        "evaluate": ("evaluate", run, table),
    }
    answers = []
    for name, command in commands.items():
        peak, took = measure_peak(*command)
        answers.append(
            {
                "command": name,
                "file": kind,
                "rows": rows,
                "file_mb": table.stat().st_size / 1e6,
                "peak_mb": peak / 1e6,
                "seconds": took,
            }
        )
    return answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the search")
    parser.add_argument("--answers", type=int, default=5_000_000, help="rows to predict")
    parser.add_argument("--seconds", type=float, default=20, help="time of the search")
    options = parser.parse_args()
    searches, answers = [], []
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("parquet", "csv"):
            searches.append(measure_search(Path(folder), kind, options.rows, options.seconds))
            print(searches[-1], flush=True)
            answers += measure_answers(Path(folder), kind, options.answers)
            print(*answers[-2:], sep="\n", flush=True)
    origin = collect_provenance("python benchmarks/memory.py --out results")
    (options.out / "memory.json").write_text(
        json.dumps(origin | {"rows": searches, "answers": answers}, indent=1) + "\n"
    )
    lines = [
        "# Memory",
        "",
        f"`{origin['command']}`, {origin['date']}.",
        "",
        "## A search",
        "",
        f"Peak resident memory of `tabnas search --time {options.seconds:g}` on {options.rows:,} "
        f"rows of {COLUMNS} numbers, boosted trees included, beyond the peak of the same on 1,000 "
        "rows, in multiples of the float32 arrays.",
        "",
        "| file | arrays | the program itself | peak | beyond, in arrays | seconds |",
        "|---|---|---|---|---|---|",
        *(
            f"| {r['file']} | {r['arrays_mb']:.0f} MB | {r['program_mb']:.0f} MB | "
            f"{r['peak_mb']:.0f} MB | **{r['ratio']:.2f}** | {r['seconds']:.0f} |"
            for r in searches
        ),
        "",
        "## Predictions and scores",
        "",
        f"Peak resident memory of `tabnas predict` and `tabnas evaluate` on {options.answers:,} "
        f"rows of {COLUMNS} numbers, the program itself included.",
        "",
        "| command | file | its size | peak | seconds |",
        "|---|---|---|---|---|",
        *(
            f"| {r['command']} | {r['file']} | {r['file_mb']:,.0f} MB | **{r['peak_mb']:.0f} MB** "
            f"| {r['seconds']:.0f} |"
            for r in answers
        ),
    ]
    (options.out / "memory.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
