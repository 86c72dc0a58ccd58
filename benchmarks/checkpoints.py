"""What checkpoints cost: the share of a run's time that goes into them.

    python benchmarks/checkpoints.py --data tables --out results

Each run is made twice by turns, in one process: with a checkpoint every second, and with none. The
seconds of one checkpoint are the median over those of all its runs, from the state of what is under
way to the synced and renamed file. At the default of one a minute they are the share that counts;
the ratio of the two runs' times is a check on it, sixty times as much if nothing else is slowed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from _shared import make_parser, write_results

from tabnas.data import Table, load_dataset, read_table
from tabnas.paper import collect_provenance
from tabnas.runs import LabelledTable, PlannedRun, RunCheckpoint, RunSettings, plan_run

DEFAULT, OFTEN, NEVER = 60.0, 1.0, 1e9  # seconds from one checkpoint to the next
WIDE_ROWS, WIDE_COLUMNS = 4_000, 1_500


def wide(data: Path) -> LabelledTable:
    """A made table of more columns than networks are used to."""
    x = np.random.default_rng(0).normal(size=(WIDE_ROWS, WIDE_COLUMNS))
    columns = {f"x{k}": x[:, k] for k in range(WIDE_COLUMNS)}
    labels = np.where(x[:, 0] * x[:, 1] > 0, "a", "b")
    return LabelledTable.from_table(Table.from_data(columns | {"y": labels}), "y")


def digits(data: Path) -> LabelledTable:
    """The small table that comes with scikit-learn; candidates are chosen in folds."""
    dataset = load_dataset("digits")
    return LabelledTable.from_table(dataset.table, dataset.target)


def file(name: str, target: str) -> Callable[[Path], LabelledTable]:
    """One of the tables in the folder."""
    return lambda data: LabelledTable.from_table(read_table(data / f"{name}.parquet"), target)


CASES: dict[str, tuple[Callable[[Path], LabelledTable], int]] = {  # the table, and the limit
    "digits": (digits, 5_000),
    "letter": (file("letter", "letter"), 6_000),
    "covertype": (file("covertype", "cover_type"), 20_000),
    "letter, large networks": (file("letter", "letter"), 1_000_000),
    "wide": (wide, 200_000),
}


class TimedLedger(RunCheckpoint):
    """A checkpoint that notes how long its checkpoints take, and how large they are."""

    def __init__(self, folder: Path, run: PlannedRun, every: float) -> None:
        super().__init__(folder, identity=run.identity(), every=every)
        self.seconds: list[float] = []
        self.bytes: list[int] = []
        self._at = folder

    def save(self) -> None:
        began = perf_counter()
        super().save()
        self.seconds.append(perf_counter() - began)
        self.bytes.append(max(self._at.glob("*.checkpoint")).stat().st_size)


def measured(name: str, data: Path, seconds: float, repeats: int) -> dict[str, object]:
    """Runs of one case with and without checkpoints, by turns."""
    load, limit = CASES[name]
    settings = RunSettings(limits={"parameters": limit}, time=seconds, reference_models=False)
    run = plan_run(load(data), settings)
    took: dict[float, list[float]] = {OFTEN: [], NEVER: []}
    one: list[float] = []
    size = 0
    for repeat in range(repeats):
        for every in list(took)[:: (-1) ** repeat]:  # neither is always the first
            with tempfile.TemporaryDirectory() as folder:
                checkpoint = TimedLedger(Path(folder), run, every)
                began = perf_counter()
                run.execute(checkpoint=checkpoint)
                took[every].append(perf_counter() - began)
                one += checkpoint.seconds
                size = max([size, *checkpoint.bytes])
    if not one:
        raise SystemExit(f"no run of {name} lasted to a checkpoint: give it more by --seconds")
    often, never = (median(took[every]) for every in (OFTEN, NEVER))
    return {
        "case": name,
        "limit": limit,
        "rows": len(run.data.train_and_validation),
        "checkpoints": len(one),
        "largest_mb": size / 1e6,
        "checkpoint_ms": 1e3 * median(one),
        "slowest_ms": 1e3 * max(one),
        "share": median(one) / DEFAULT,
        "run_seconds": never,
        "run_seconds_often": often,
        "ratio_often": often / never,
    }


def report(origin: dict[str, object], rows: list[dict[str, object]]) -> str:
    """The table, for people."""
    lines = [
        "# What checkpoints cost",
        "",
        f"`{origin['command']}`, {origin['date']}. "
        f"The time of one checkpoint, the share of a run's time that one every {DEFAULT:g} seconds "
        "takes, and, as a check, the time of a run with "
        f"one every {OFTEN:g} s relative to one without, medians over runs by turns.",
        "",
        "| case | limit | rows | largest | one checkpoint | slowest | share at the default | "
        "run with one a second |",
        "|---|---|---|---|---|---|---|---|",
        *(
            f"| {r['case']} | {r['limit']:,} | {r['rows']:,} | {r['largest_mb']:.1f} MB | "
            f"{r['checkpoint_ms']:.1f} ms | {r['slowest_ms']:.0f} ms | **{r['share']:.3%}** | "
            f"{r['ratio_often']:.3f} of {r['run_seconds']:.0f} s |"
            for r in rows
        ),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--seconds", type=float, default=8, help="of one run, about")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    origin = collect_provenance("python benchmarks/checkpoints.py --data ... --out results")
    rows = []
    for name in options.cases:
        rows.append(measured(name, options.data, options.seconds, options.repeats))
        print(rows[-1], flush=True)
        write_results(options.out, "checkpoints", origin | {"rows": rows}, report(origin, rows))


if __name__ == "__main__":
    main()
