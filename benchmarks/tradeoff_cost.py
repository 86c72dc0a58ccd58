"""What a trade-off costs and finds, beside searches for each of its limits by themselves.

    python benchmarks/tradeoff_cost.py --data tables --out results

Four limits on each table, each twice the one before. The searches have their defaults, and so has
a trade-off; others train one, two or three candidates of the search for each limit, and none of
equal layers. Seconds are of everything but reading the table and the comparison with boosted trees,
in one process. Losses are on test rows. At most 20,000 rows of each table are taken. An interrupted
benchmark goes on where it was.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import geometric_mean, median
from time import perf_counter

from _shared import make_parser, sample_table, write_results

from tabnas.paper import collect_provenance
from tabnas.runs import FinishedRun, LabelledTable, RunSettings, plan_run, plan_tradeoff
from tabnas.streams import stream

TABLES = {
    "adult": ("income", 1_000),
    "california_housing": ("MedHouseVal", 250),
    "connect4": ("outcome", 1_000),
    "covertype": ("cover_type", 1_000),
    "letter": ("letter", 1_000),
}
LIMITS = 4
MAX_ROWS = 20_000
SEPARATE = "separate"
CANDIDATES = ("default", 1, 2, 3)


def losses(finished_runs: list[FinishedRun]) -> list[float]:
    """What the metric says on test rows; all of these are better when lower."""
    return [finished.scores["network"][finished.metric.name].value for finished in finished_runs]


def measure(name: str, folder: Path, seed: int, kinds: Sequence[str | int]) -> list[dict]:
    """Run separate searches or trade-offs of a table."""
    target, first = TABLES[name]
    table = sample_table(folder, name, stream(seed, "benchmark rows"), MAX_ROWS)
    data = LabelledTable.from_table(table, target)
    limits = [first << k for k in range(LIMITS)]
    rows = []
    for candidates in kinds:
        began = perf_counter()
        if candidates == SEPARATE:
            settings = [
                RunSettings(limits={"parameters": limit}, reference_models=False, seed=seed)
                for limit in limits
            ]
            finished_runs = [plan_run(data, limited).execute() for limited in settings]
        else:
            settings = RunSettings(
                limits={"parameters": limits[0]},
                reference_models=False,
                seed=seed,
                candidates=None if candidates == "default" else candidates,
            )
            finished_runs = list(plan_tradeoff(data, settings, limits).execute())
        rows.append(
            {
                "table": name,
                "seed": seed,
                "candidates": candidates,
                "seconds": perf_counter() - began,
                "limits": limits,
                "architectures": [str(finished.model.architecture) for finished in finished_runs],
                "losses": losses(finished_runs),
            }
        )
    return rows


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    path = options.out / "tradeoff_cost.json"
    rows = json.loads(path.read_text())["rows"] if path.exists() else []
    done = {(row["table"], row["seed"], row["candidates"]) for row in rows}
    measure(options.tables[0], options.data, 0, CANDIDATES[:1])  # compiles, and warms up
    for seed in range(options.seeds):
        for name in options.tables:
            kinds = [kind for kind in (SEPARATE, *CANDIDATES) if (name, seed, kind) not in done]
            rows += measure(name, options.data, seed, kinds)
            print(*rows[len(rows) - len(kinds) :], sep="\n", flush=True)
            origin = collect_provenance(
                "python benchmarks/tradeoff_cost.py --data ... --out results"
            )
            write_results(
                options.out, "tradeoff_cost", origin | {"rows": rows}, report(origin, rows)
            )


def report(origin, rows) -> str:
    def of(pair, candidates):
        return next(
            row
            for row in rows
            if (row["table"], row["seed"]) == pair and row["candidates"] == candidates
        )

    counts = Counter((row["table"], row["seed"]) for row in rows)
    pairs = sorted(pair for pair, count in counts.items() if count == 1 + len(CANDIDATES))
    tables = list(dict.fromkeys(table for table, _ in pairs))
    seeds = max(Counter(table for table, _ in pairs).values(), default=0)
    lines = [
        "# Trade-offs",
        "",
        f"`{origin['command']}`, {origin['date']}. "
        f"{LIMITS} limits on each table, each twice the one before, "
        f"{seeds} seeds. How many times as long the separate searches "
        "take as a trade-off, and the test losses of the trade-off's networks over theirs "
        "(geometric mean over limits and seeds; below 1 the trade-off is better). The default has "
        "one candidate of the search and up to three of equal layers; the others have one to three "
        "of the search alone.",
        "",
        "| table | separate | " + " | ".join(f"{c}: faster | loss" for c in CANDIDATES) + " |",
        "|---|---|" + "---|---|" * len(CANDIDATES),
    ]

    def faster(pair, candidates):
        return of(pair, SEPARATE)["seconds"] / of(pair, candidates)["seconds"]

    def worse(pair, candidates):
        ours, theirs = (of(pair, c)["losses"] for c in (candidates, SEPARATE))
        return geometric_mean([a / b for a, b in zip(ours, theirs, strict=True)])

    def cells(chosen):
        return " | ".join(
            f"{median(faster(pair, c) for pair in chosen):.2f} | "
            f"{geometric_mean([worse(pair, c) for pair in chosen]):.3f}"
            for c in CANDIDATES
        )

    for table in tables:
        chosen = [pair for pair in pairs if pair[0] == table]
        seconds = median(of(pair, SEPARATE)["seconds"] for pair in chosen)
        lines.append(f"| {table} | {seconds:.1f} s | {cells(chosen)} |")
    lines += [f"| all | | {cells(pairs)} |", ""] if pairs else []
    return "\n".join(lines)


if __name__ == "__main__":
    main()
