"""What a search costs, in stand-alone trainings of the network it finds.

    python benchmarks/search_cost.py --data tables --out results

The time from encoded arrays to the chosen candidates (SuperNet, policy, selection), over that of
one stand-alone training of the first of them at its own default number of epochs, in the same run;
and the time for training all candidates. On the default space, and on the paper's 20 widths in
three layers under limits that leave 5 % and 50 % of the architectures feasible. Medians over
repeats with different seeds; one thread; compiled before the clock starts.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from time import perf_counter

import numpy as np
from _shared import make_parser, sample_table, write_results

from tabnas import PAPER_WIDTHS
from tabnas.paper import collect_provenance
from tabnas.runs import LabelledTable, RunSettings, make_candidate_training, plan_run
from tabnas.runs.candidates._candidate import Trial
from tabnas.runs.search._selection import select_candidates
from tabnas.search import Search

TABLES = {  # target; limits: of the default space, for 5 % and for 50 % of the paper's widths
    "adult": ("income", 5_000, 6_142, 39_648),
    "california_housing": ("MedHouseVal", 3_000, 3_944, 34_887),
    "connect4": ("outcome", 4_000, 7_850, 46_972),
    "covertype": ("cover_type", 6_000, 6_813, 42_455),
    "higgs": ("signal", 5_265, 5_165, 37_756),
    "letter": ("letter", 6_000, 6_264, 39_587),
    "sleep": ("stage", 5_000, 4_677, 36_108),
}
MAX_ROWS = 100_000


def measured(run, seed: int) -> dict[str, float]:
    """One search and the trainings that follow it."""
    prepared, plan = run.data, run.plan
    began = perf_counter()
    search = Search(
        plan.feasible,
        prepared.train.examples,
        prepared.validation.examples,
        replace(plan.search, seed=seed),
    )
    search.run()
    chosen = select_candidates(search, plan, plan.feasible)
    searched = perf_counter()
    plan = replace(plan, training=replace(plan.training, seed=seed))
    first = make_candidate_training(Trial(chosen[0]), prepared, plan, run.metric).run()
    alone = perf_counter() - searched
    for other in chosen[1:]:
        make_candidate_training(Trial(other), prepared, plan, run.metric).run()
    return {
        "search": searched - began,
        "training": alone,
        "candidates": perf_counter() - searched,
        "loss": first.loss,
    }


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    options = parser.parse_args()
    rows = []
    for name in options.tables:
        target, *limits = TABLES[name]
        table = sample_table(options.data, name, np.random.default_rng(0), MAX_ROWS)
        data = LabelledTable.from_table(table, target)
        for kind, limit in zip(("default", "few", "many"), limits, strict=True):
            widths = None if kind == "default" else PAPER_WIDTHS
            settings = RunSettings(limits={"parameters": limit}, widths=widths)
            run = plan_run(data, settings)
            feasible = run.plan.feasible
            times = [measured(run, seed) for seed in range(options.repeats + 1)][1:]
            rows.append(
                {
                    "table": name,
                    "space": kind,
                    "limit": limit,
                    "feasible": feasible.count() / feasible.space.size,
                    "cost": median(t["search"] / t["training"] for t in times),
                    "candidates": median(t["candidates"] / t["training"] for t in times),
                    "search_seconds": median(t["search"] for t in times),
                    "training_seconds": median(t["training"] for t in times),
                    "times": times,
                }
            )
            print({k: v for k, v in rows[-1].items() if k != "times"}, flush=True)
    origin = collect_provenance("python benchmarks/search_cost.py --data ... --out results")
    write_results(
        options.out, "search_cost", origin | {"rows": rows}, report(origin, rows, options.repeats)
    )


def report(origin, rows, repeats: int) -> str:
    """The table, for people."""
    lines = [
        "# What a search costs",
        "",
        f"`{origin['command']}`, {origin['date']}. Time from encoded arrays to the candidates, in "
        f"stand-alone trainings of the first at its own default epochs; medians of {repeats}, one "
        "thread, same run. The paper's searches cost 3.0. Beside it: training all candidates.",
        "",
        "| table | space | limit | feasible | search cost | candidates | search | one training |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        lines.append(
            f"| {row['table']} | {row['space']} | {row['limit']:,} | {row['feasible']:.1%} | "
            f"**{row['cost']:.2f}** | {row['candidates']:.2f} | {row['search_seconds']:.2f} s | "
            f"{row['training_seconds']:.2f} s |"
        )
    for kind in ("default", "few", "many"):
        costs = [row["cost"] for row in rows if row["space"] == kind]
        if costs:
            lines.append(f"| median | {kind} | | | **{median(costs):.2f}** | | | |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
