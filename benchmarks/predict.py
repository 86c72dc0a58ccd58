"""How long `tabnas predict` takes for a million rows, with one thread and with all cores.

    python benchmarks/predict.py --data tables --out results

The rows are those of adult, drawn a million times. Commands are run as users run them, by turns;
times are from start to end of the process. The files that they write are compared byte for byte.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from _shared import make_parser, write_results

from tabnas.paper import collect_provenance
from tabnas.threads import available_threads

ROWS = 1_000_000


def run_tabnas(*arguments: object) -> float:
    """Run a command in a process of its own; return its seconds."""
    began = perf_counter()
    command = [sys.executable, "-m", "tabnas", *map(str, arguments)]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return perf_counter() - began


def measure(options: Any, folder: Path) -> list[dict[str, Any]]:
    """Search a model, write the rows in two formats, and time predictions of each."""
    source = options.data / "adult.parquet"
    run = folder / "run"
    search = ("--target", "income", "--max-parameters", 5_000, "--time", 2, "--quiet")
    run_tabnas("search", source, *search, "--out", run)
    table = pa.parquet.read_table(source)
    few = table.slice(0, 10)
    table = table.take(np.random.default_rng(0).integers(len(table), size=ROWS))
    rows = []
    for suffix, write in ((".csv", pa.csv.write_csv), (".parquet", pa.parquet.write_table)):
        write(table, folder / f"rows{suffix}")
        write(few, folder / f"few{suffix}")
        times: dict[str, list[float]] = {"start": [], "one": [], "all": []}
        for _ in range(options.repeats):
            written = []
            for name, threads in (("one", 1), ("all", available_threads())):
                out = folder / f"{name}{suffix}"
                arguments = (run, folder / f"rows{suffix}", "--threads", threads, "--out", out)
                times[name].append(run_tabnas("predict", *arguments))
                written.append(out.read_bytes())
            if written[0] != written[1]:
                raise AssertionError("predictions differ with the number of threads")
            few_rows = (run, folder / f"few{suffix}", "--threads", 1, "--out", out)
            times["start"].append(run_tabnas("predict", *few_rows))
        rows.append({"format": suffix[1:], **times})
        print(rows[-1], flush=True)
    return rows


def report(origin: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """Return the page."""
    lines = [
        "# Prediction",
        "",
        f"`{origin['command']}`, {origin['date']}, {origin['machine']['cores']} cores. `tabnas "
        f"predict` of {ROWS:,} rows of adult, to a file of the same format; seconds of the "
        "process, medians by turns. *Start* is the same command for ten rows: imports, kernels and "
        "model. Both numbers of threads write the same bytes.",
        "",
        "| format | start | one thread | all cores | times faster |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        start, one, many = (median(row[name]) for name in ("start", "one", "all"))
        ratio = median(a / b for a, b in zip(row["one"], row["all"], strict=True))
        lines.append(f"| {row['format']} | {start:.2f} | {one:.2f} | {many:.2f} | {ratio:.2f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        rows = measure(options, Path(folder))
    origin = collect_provenance("python benchmarks/predict.py --data ... --out results")
    write_results(options.out, "predict", origin | {"rows": rows}, report(origin, rows))


if __name__ == "__main__":
    main()
