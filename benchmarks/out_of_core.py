"""Tables larger than memory: encoded and searched, with how fast that is and what it takes.

    python benchmarks/out_of_core.py --files big/*.txt --out results

The files are in Criteo's form; `python benchmarks/_criteo_form.py` makes them, by drawing real rows
and changing them, so they tell of time and memory and not of how well a network does on Criteo.
`tabnas encode` and `tabnas search` run as they would for anybody, each in a process of its own, of
which the resident memory is watched. The first file is done alone, then all of them together.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from threading import Thread
from time import perf_counter, sleep

from tabnas.decoding import to_builtins
from tabnas.paper import collect_provenance
from tabnas.runs import load_result
from tabnas.stores import open_store

MEMORY = "1GB"
LIMIT = 20_000


class Watched:
    """A command, how long it took, and the most memory it had resident."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "tabnas", *arguments]
        began = perf_counter()
        process = subprocess.Popen(command)
        self.peak = 0
        watch = Thread(target=self._watch, args=(process,))
        watch.start()
        if process.wait():
            raise SystemExit(f"failed: {' '.join(command)}")
        watch.join()
        self.seconds = perf_counter() - began

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        status = Path(f"/proc/{process.pid}/status")
        while process.poll() is None:
            try:
                match = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
            except OSError:
                return
            self.peak = max(self.peak, 1024 * int(match[1]) if match else 0)
            sleep(0.2)


def measured(files: list[Path], work: Path, name: str, memory: str) -> dict[str, object]:
    """Encode, then search."""
    store_path, run = work / f"store-{name}", work / f"run-{name}"
    encoding = Watched(
        "encode", *map(str, files), "--target", "label", "--out", str(store_path),
        "--memory", memory,
    )  # fmt: skip
    store = open_store(store_path)
    rows = sum(store.rows.values())
    searching = Watched(
        "search", str(store_path), "--max-parameters", str(LIMIT), "--out", str(run),
        "--memory", memory,
    )  # fmt: skip
    result = load_result(run)
    seconds = result.timings
    plan = result.plan
    epochs = [plan.longer_epochs if one.is_longer else plan.epochs for one in result.candidates]
    trained = store.rows["train"] * sum(epochs)
    searched = store.rows["train"] * plan.search_epochs
    return {
        "files": len(files),
        "rows": rows,
        "parts": store.rows,
        "source_bytes": sum(file.stat().st_size for file in files),
        "store_bytes": store.bytes,
        "encoding": {
            "seconds": encoding.seconds,
            "rows_a_second": rows / encoding.seconds,
            "peak_bytes": encoding.peak,
            "passes": dict(store.metadata["seconds"]),
        },
        "search": {
            "seconds": searching.seconds,
            "peak_bytes": searching.peak,
            "phases": dict(seconds),
            "rows_a_second_search": searched / seconds["search"],
            "rows_a_second_training": trained / seconds["candidates"],
            "epochs": [plan.search_epochs, plan.epochs],
            "architecture": str(result.architecture),
            "parameters": to_builtins(result.costs["parameters"]),
            "scores": to_builtins(result.scores),
        },
    }


def report(rows: list[dict], origin: dict, memory: str) -> str:
    """The same for people."""
    lines = [
        "# Tables larger than memory",
        "",
        f"`{origin['command']}`, {origin['date']}. {__doc__.split(chr(10) * 2)[2]}",
        "",
        f"Memory set to {memory}, limit {LIMIT:,} parameters, one core for training.",
        "",
        "| rows | text GB | store GB | encoding rows/s | its peak GB | search rows/s | "
        "training rows/s | its peak GB | minutes in all |",
        "|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        encoding, search = row["encoding"], row["search"]
        minutes = (encoding["seconds"] + search["seconds"]) / 60
        lines.append(
            f"| {row['rows']:,} | {row['source_bytes'] / 1e9:.2f} | {row['store_bytes'] / 1e9:.2f} "
            f"| {encoding['rows_a_second']:,.0f} | {encoding['peak_bytes'] / 1e9:.2f} "
            f"| {search['rows_a_second_search']:,.0f} | {search['rows_a_second_training']:,.0f} "
            f"| {search['peak_bytes'] / 1e9:.2f} | {minutes:.1f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, help="a folder for stores and runs; else temporary")
    parser.add_argument("--memory", default=MEMORY)
    options = parser.parse_args()
    work = options.work or Path(tempfile.mkdtemp(prefix="tabnas-"))
    work.mkdir(parents=True, exist_ok=True)
    cases = {"one": options.files[:1], "all": options.files}
    rows = [measured(files, work, name, options.memory) for name, files in cases.items()]
    origin = collect_provenance(
        "python benchmarks/out_of_core.py --files big/*.txt --out results --work ..."
    )
    text = json.dumps({"provenance": origin, "memory": options.memory, "rows": rows}, indent=1)
    (options.out / "out_of_core.json").write_text(text + "\n")
    (options.out / "out_of_core.md").write_text(report(rows, origin, options.memory))


if __name__ == "__main__":
    main()
