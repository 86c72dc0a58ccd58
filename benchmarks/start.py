"""How long a command takes to start: for a search, up to its first training step.

    python benchmarks/start.py --out results --before ../older/src

Every start is a process of its own; kernels and Python's bytecode are compiled before. With
`--before`, the sources of an older version take turns with the installed ones, so that both meet
the same machine.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import time
from typing import Any

from _shared import write_results
from pyarrow import parquet

import tabnas
from tabnas.data import load_dataset
from tabnas.paper import collect_provenance

SEARCHES = {
    "digits, 1,797 rows": ["search", "digits", "--max-parameters", "5000"],
    "adult, 48,842 rows": ["search", "adult", "--max-parameters", "5000"],
}
STAGES = ("imports", "table", "plan", "first step")
"""What a search does up to its first step; the last is the time until then, from the beginning."""
ROWS = 100  # that are predicted

WATCH = """
import os, sys, time

times = [time.time()]  # when the process began to work

def mark(owner, name, before=False):
    function = getattr(owner, name)
    def marked(*args, **kwargs):
        if before:
            times.append(time.time())
        result = function(*args, **kwargs)
        if not before:
            times.append(time.time())
        return result
    setattr(owner, name, marked)

def stop(*args, **kwargs):
    times.append(time.time())
    print(*times)
    sys.stdout.flush()
    os._exit(0)

from tabnas.cli import main
from tabnas.cli._data_source import DataSource
from tabnas.nets import SuperNet

mark(DataSource, "load_and_plan")
mark(DataSource, "_load", before=True)
mark(DataSource, "_load")
for name in ("train_step", "train_steps"):
    if hasattr(SuperNet, name):
        setattr(SuperNet, name, stop)
main()
"""


def run_process(source: Path, command: list[str]) -> tuple[str, float]:
    """Run Python with the package of a folder; return what it prints, and its seconds."""
    environment = os.environ | {"PYTHONPATH": str(source)}
    began = time()
    done = subprocess.run(
        [sys.executable, *command], env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout, time() - began


def start_search(source: Path, command: list[str]) -> dict[str, float]:
    """Start a search, end it at its first step, and return the seconds of each stage."""
    with tempfile.TemporaryDirectory() as folder:
        began = time()
        printed, _ = run_process(
            source, ["-c", WATCH, *command, "--quiet", "--out", f"{folder}/run"]
        )
    _, load, loaded, planned, stepped = map(float, printed.split())
    spans = (load - began, loaded - load, planned - loaded, stepped - began)
    return dict(zip(STAGES, spans, strict=True))


def start_command(source: Path, command: list[str]) -> dict[str, float]:
    """Return the seconds of a complete command."""
    return {"all": run_process(source, ["-m", "tabnas", *command])[1]}


def measure(sources: dict[str, Path], folder: Path, repeats: int) -> list[dict[str, Any]]:
    """Return the seconds of every start: each version by turns."""
    rows = folder / "rows.parquet"
    parquet.write_table(load_dataset("iris").table.arrow.slice(0, ROWS), rows)
    commands: dict[str, tuple[Any, list[str]]] = {
        f"search {name}": (start_search, command) for name, command in SEARCHES.items()
    }
    commands[f"predict {ROWS} rows"] = (start_command, ["predict", "RUN", str(rows)])
    commands["--help"] = (start_command, ["--help"])
    for name, source in sources.items():  # a model of each version, and all kernels
        search = ["search", "iris", "--max-parameters", "200", "--candidates", "1", "--quiet"]
        start_command(source, [*search, "--out", str(folder / name)])
    measured = []
    for repeat in range(repeats + 1):
        for case, (start, command) in commands.items():
            for version, source in sources.items():
                arguments = [str(folder / version) if a == "RUN" else a for a in command]
                seconds = start(source, arguments)
                if repeat:  # the first compiles bytecode, and fills the machine's file cache
                    measured.append({"case": case, "version": version, "seconds": seconds})
        print(f"{repeat} of {repeats}", flush=True)
    return measured


def report(origin: dict[str, Any], measured: list[dict[str, Any]]) -> str:
    """Return the page."""
    cases = list(dict.fromkeys(row["case"] for row in measured))
    versions = list(dict.fromkeys(row["version"] for row in measured))
    lines = [
        "# How long commands take to start",
        "",
        f"`{origin['command']}`, {origin['date']}, {origin['machine']['processor']}, "
        f"{origin['machine']['cores']} cores. Seconds from the start of the process, with compiled "
        "kernels and bytecode on disk: of a search, up to its first training step; of other "
        "commands, all of it. Medians of processes by turns.",
        "",
        f"| command | {' | '.join(versions)} |{' ratio |' if len(versions) > 1 else ''}",
        f"|---|{'---|' * len(versions)}{'---|' if len(versions) > 1 else ''}",
    ]
    for case in cases:
        rows = [row for row in measured if row["case"] == case]
        for stage in rows[0]["seconds"]:
            medians = [
                median(row["seconds"][stage] for row in rows if row["version"] == version)
                for version in versions
            ]
            cells = [f"{value:.2f}" for value in medians]
            if len(versions) > 1:
                cells.append(f"{medians[0] / medians[1]:.1f}")
            name = case if stage in ("all", STAGES[-1]) else f"{case}: {stage}"
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="the folder of the results")
    parser.add_argument("--before", type=Path, help="the folder src of an older version")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    sources = {"now": Path(tabnas.__file__).parents[1]}
    if options.before is not None:
        sources = {"before": options.before.resolve(), **sources}
    origin = collect_provenance("python benchmarks/start.py --out results --before ...")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYTHONPYCACHEPREFIX"] = f"{folder}/bytecode"
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        measured = measure(sources, Path(folder), options.repeats)
    write_results(options.out, "start", origin | {"starts": measured}, report(origin, measured))


if __name__ == "__main__":
    main()
