"""Which children the weight updates should train, and how candidates should be chosen.

    python benchmarks/weight_sampling.py --data tables --out results

For every table, rule and seed: a search with the default plan, its three candidates by each rule of
selection, each trained alone twice; what counts is the validation loss of the best of the three,
relative to the best that was seen on the table by anybody, and the seconds of the search over those
of one stand-alone training in the same run. Resumable: what is in the JSON file is not done again.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from _shared import make_parser, sample_table

from tabnas.paper import collect_provenance
from tabnas.runs import LabelledTable, RunSettings, make_candidate_training, plan_run
from tabnas.runs.candidates._candidate import Trial
from tabnas.search import SELECTIONS, Search, select

TABLES = {  # target, limit on parameters
    "letter": ("letter", 6_000),
    "california_housing": ("MedHouseVal", 3_000),
    "adult": ("income", 5_000),
    "higgs": ("signal", 5_265),
    "connect4": ("outcome", 4_000),
    "covertype": ("cover_type", 6_000),
}
MAX_ROWS = 40_000
RULES = {
    "paper": {"child_sampler": "paper"},
    "feasible, uniform": {"child_sampler": "feasible"},
    "feasible, policy": {"child_sampler": "feasible", "child_sampler_options": {"by": "policy"}},
    "tightening 4, uniform": {"child_sampler": "tightening"},
    "tightening 4, policy": {
        "child_sampler": "tightening",
        "child_sampler_options": {"by": "policy"},
    },
    "tightening 8, uniform": {
        "child_sampler": "tightening",
        "child_sampler_options": {"start": 8.0},
    },
}
TRAININGS = 2


def planned(folder: Path, name: str):
    """The table under its limit, everything by default."""
    target, limit = TABLES[name]
    table = sample_table(folder, name, np.random.default_rng(0), MAX_ROWS)
    data = LabelledTable.from_table(table, target)
    return plan_run(data, RunSettings(limits={"parameters": limit}))


class Alone:
    """Losses and seconds of architectures trained alone, remembered."""

    def __init__(self, run, known: dict[str, list[list[float]]]) -> None:
        self.run, self.known = run, known

    def loss(self, architecture) -> float:
        """The mean validation loss over trainings of different seeds."""
        trained = self.known.setdefault(str(architecture), [])
        while len(trained) < TRAININGS:
            trained.append(self.train(architecture, seed=1_000 + len(trained)))
        return float(np.mean([loss for loss, _ in trained]))

    def train(self, architecture, seed: int) -> list[float]:
        """Loss and seconds of one training."""
        plan = replace(self.run.plan, training=replace(self.run.plan.training, seed=seed))
        began = perf_counter()
        trial = Trial(architecture)
        tried = make_candidate_training(trial, self.run.data, plan, self.run.metric).run()
        return [tried.loss, perf_counter() - began]


def search_once(run, rule: str, seed: int, alone: Alone) -> dict[str, object]:
    """One search, judged by every rule of selection."""
    prepared, settings = run.data, replace(run.plan.search, seed=seed, **RULES[rule])
    began = perf_counter()
    search = Search(
        run.plan.feasible, prepared.train.examples, prepared.validation.examples, settings
    )
    search.run()
    chosen = select(search, 3)
    seconds = perf_counter() - began
    _, training = alone.train(chosen[0], seed)
    losses = {
        by: min(alone.loss(network) for network in select(search, 3, by=by)) for by in SELECTIONS
    }
    return {"seconds": seconds, "training": training, "losses": losses, "chosen": str(chosen[0])}


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    path = options.out / "weight_sampling.json"
    results = json.loads(path.read_text()) if path.exists() else {"alone": {}, "searches": {}}
    for name in TABLES:
        run = planned(options.data, name)
        alone = Alone(run, results["alone"].setdefault(name, {}))
        for rule in RULES:
            for seed in range(options.seeds):
                key = f"{name}/{rule}/{seed}"
                if key not in results["searches"]:
                    results["searches"][key] = search_once(run, rule, seed, alone)
                    path.write_text(json.dumps(results, indent=1) + "\n")
        print(name, flush=True)
    results |= collect_provenance("python benchmarks/weight_sampling.py --data ... --out results")
    path.write_text(json.dumps(results, indent=1) + "\n")
    (options.out / "weight_sampling.md").write_text(report(results, options.seeds))


def report(results, seeds: int) -> str:
    """The tables, for people."""

    def relative(name: str, rule: str, by: str) -> float:
        best = min(np.mean([t[0] for t in trained]) for trained in results["alone"][name].values())
        runs = [results["searches"][f"{name}/{rule}/{seed}"] for seed in range(seeds)]
        return float(np.mean([run["losses"][by] for run in runs]) / best)

    def cost(name: str, rule: str) -> float:
        runs = [results["searches"][f"{name}/{rule}/{seed}"] for seed in range(seeds)]
        return median(run["seconds"] / run["training"] for run in runs)

    lines = [
        "# Which children to train, and how to choose candidates",
        "",
        f"`{results['command']}`, {results['date']}. Validation loss of the best of three "
        f"candidates, trained alone {TRAININGS} times each, relative to the best architecture "
        f"seen on the table (1 = found it); mean over {seeds} searches. In brackets the "
        "cost of the search in stand-alone trainings, median, same run. Candidates by one-shot "
        "loss, the default.",
        "",
        "| children | " + " | ".join(TABLES) + " | mean |",
        "|---|" + "---|" * (len(TABLES) + 1),
    ]
    for rule in RULES:
        values = [relative(name, rule, "one_shot") for name in TABLES]
        costs = [cost(name, rule) for name in TABLES]
        cells = [f"{v:.3f} ({c:.1f})" for v, c in zip(values, costs, strict=True)]
        mean = f"{np.mean(values):.3f} ({np.mean(costs):.1f})"
        lines.append(f"| {rule} | " + " | ".join(cells) + f" | {mean} |")
    lines += [
        "",
        "The same searches, candidates chosen by other rules; mean over the tables.",
        "",
        "| children | " + " | ".join(SELECTIONS) + " |",
        "|---|" + "---|" * len(SELECTIONS),
    ]
    for rule in RULES:
        cells = [
            f"{np.mean([relative(name, rule, by) for name in TABLES]):.3f}" for by in SELECTIONS
        ]
        lines.append(f"| {rule} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
