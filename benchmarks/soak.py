"""Whether searches in one process leave anything behind: memory, files, threads.

    python benchmarks/soak.py --minutes 10 --out results

Searches of small tables back to back, each in a run folder with checkpoints, its model loaded again
and asked. After each, garbage collected, it is noted how much memory is resident, and how many
file handles, threads and temporary files there are. The first rounds over all tables warm up: what
is compiled, imported and cached then stays. Of the rest, a line through the memory says what one
more search costs. Runs on Linux, which tells these numbers in /proc.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import os
import shutil
import tempfile
import threading
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from tabnas.data import Table, load_dataset
from tabnas.paper import collect_provenance
from tabnas.runs import LabelledTable, RunSettings, load_run_model, run_in_folder

WORK = {"search_epochs": 6, "epochs": 6, "candidates": 2}
CHECKPOINT_EVERY = 0.2  # seconds
WARM_UP = 3  # rounds over all tables
LARGEST_GROWTH = 0.02
"""Of the memory in use, over the whole soak: below it, memory is called flat."""


@dataclass(frozen=True)
class Work:
    """One kind of search."""

    name: str
    table: Table
    settings: dict[str, Any] = field(default_factory=dict)

    def search(self, folder: Path, seed: int) -> str:
        """Run it, ask its model, and return the architecture."""
        data = LabelledTable.from_table(self.table, "target")
        options = {"limits": {"parameters": 2_000}, "reference_models": False} | self.settings
        settings = RunSettings(seed=seed, **options)
        run_in_folder(folder, data, settings, saved_plan=WORK, checkpoint_seconds=CHECKPOINT_EVERY)
        model = load_run_model(folder)
        model.predict(data.features)
        return str(model.architecture)


def works() -> list[Work]:
    """Classes and quantities, folds and a validation part, categories, workers, a refit, trees."""
    tables = {name: load_dataset(name).table for name in ("iris", "wine", "diabetes", "digits")}
    wine = {name: tables["wine"].column(name).to_numpy() for name in tables["wine"]}
    binned = {
        name: values if name == "target" else np.round(values / values.std()).astype(str)
        for name, values in wine.items()
    }
    digits = tables["digits"]
    twice = digits.take(np.tile(np.arange(len(digits)), 2))
    return [
        Work("iris: classes, folds", tables["iris"]),
        Work("diabetes: a quantity, refit", tables["diabetes"], {"refit": True}),
        Work("wine: categories", Table.from_data(binned)),
        Work("iris: two workers", tables["iris"], {"workers": 2}),
        Work("wine: boosted trees", tables["wine"], {"reference_models": True}),
        Work("digits, twice over: validation part", twice),
    ]


def resident_mb() -> float:
    """Memory of this process that is in use and not shared away."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def left_behind(temporary: Path) -> dict[str, float]:
    """What there is after a search."""
    gc.collect()
    return {
        "resident_mb": resident_mb(),
        "handles": len(list(Path("/proc/self/fd").iterdir())) - 1,  # but the one to look with
        "threads": threading.active_count(),
        "files": sum(1 for path in temporary.rglob("*") if path.is_file()),
    }


def soak(seconds: float) -> list[dict[str, Any]]:
    """Search until the time is over; a row for each search."""
    rows: list[dict[str, Any]] = []
    began = perf_counter()
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory() as temporary_name:
        temporary = Path(temporary_name)
        tempfile.tempdir = temporary_name  # whatever makes temporary files makes them there
        try:
            for number, work in enumerate(itertools.cycle(works())):
                if perf_counter() - began > seconds:
                    break
                architecture = work.search(temporary / "run", seed=number)
                inside = {path.name for path in (temporary / "run").iterdir()}
                shutil.rmtree(temporary / "run")
                row = {"search": number, "work": work.name, "architecture": architecture}
                rows.append(row | left_behind(temporary) | {"in_folder": sorted(inside)})
        finally:
            tempfile.tempdir = before
    return rows


def line_through(values: list[float]) -> tuple[float, float]:
    """The slope by least squares, and its standard error."""
    x = np.arange(len(values)) - (len(values) - 1) / 2
    y = np.array(values) - np.mean(values)
    slope = float(x @ y / (x @ x))
    error = float(np.sqrt(((y - slope * x) ** 2).sum() / max(len(y) - 2, 1) / (x @ x)))
    return slope, error


def measure_growth(rows: list[dict[str, Any]], warm_up: int) -> dict[str, Any]:
    """The slope of memory after the warm-up, what else has grown, and a verdict."""
    measured = rows[warm_up:]
    if len(measured) < 10:
        raise SystemExit(f"{len(rows)} searches are too few, {warm_up} being warm-up: soak longer")
    slope, error = line_through([row["resident_mb"] for row in measured])
    share = slope * len(measured) / measured[0]["resident_mb"]
    later, _ = line_through([row["resident_mb"] for row in measured[len(measured) // 2 :]])
    others = {n: measured[-1][n] - measured[0][n] for n in ("handles", "threads", "files")}
    expected = {
        "MODEL_CARD.md", "config.toml", "history.jsonl", "model", "report.html", "result.json",
    }  # fmt: skip
    strays = sorted({name for row in rows for name in row["in_folder"]} - expected)
    flat = share < LARGEST_GROWTH and max(others.values()) <= 0 and not strays
    return {
        "searches": len(rows),
        "warm_up": warm_up,
        "first_mb": measured[0]["resident_mb"],
        "last_mb": measured[-1]["resident_mb"],
        "slope_kb": 1e3 * slope,
        "slope_error_kb": 1e3 * error,
        "later_slope_kb": 1e3 * later,
        "growth_share": share,
        "growth": others,
        "strays": strays,
        "verdict": "flat" if flat else "something grows",
    }


def report(origin: dict[str, Any], growth: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """The Markdown of the result."""
    last = rows[-1]
    return "\n".join(
        [
            "# Searches back to back",
            "",
            f"`{origin['command']}`, {origin['date']}. "
            f"{growth['searches']} searches of small tables in one process, with folders and "
            f"checkpoints; the first {growth['warm_up']} warm up. "
            f"Verdict: **{growth['verdict']}**.",
            "",
            "| after the warm-up | first | last | a search |",
            "|---|---|---|---|",
            f"| resident memory | {growth['first_mb']:.1f} MB | {growth['last_mb']:.1f} MB | "
            f"{growth['slope_kb']:+.1f} ± {growth['slope_error_kb']:.1f} kB |",
            *(
                f"| {words} | {last[name] - growth['growth'][name]} | {last[name]} | |"
                for name, words in (
                    ("handles", "open file handles"),
                    ("threads", "threads"),
                    ("files", "temporary files left"),
                )
            ),
            "",
            f"The line through memory rises by {100 * growth['growth_share']:.2f} % of it over the "
            f"whole soak; up to {100 * LARGEST_GROWTH:.0f} % is called flat. Over the second half "
            f"it is {growth['later_slope_kb']:+.1f} kB a search. In turn:",
            "",
            *(f"- {name}" for name in dict.fromkeys(row["work"] for row in rows)),
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of small tables, again and again
    rows = soak(60 * options.minutes)
    growth = measure_growth(rows, WARM_UP * len(works()))
    origin = collect_provenance(
        f"python benchmarks/soak.py --minutes {options.minutes:g} --out results"
    )
    print(json.dumps(growth, indent=1))
    shortened = [{n: row[n] for n in ("work", "resident_mb", "handles", "threads")} for row in rows]
    (options.out / "soak.json").write_text(
        json.dumps(origin | growth | {"rows": shortened}, indent=1) + "\n"
    )
    (options.out / "soak.md").write_text(report(origin, growth, rows))


if __name__ == "__main__":
    main()
