"""The judgement that matters: regret against the ground truth, by strategy and cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import wilcoxon

from tabnas.feasible import FeasibleSet
from tabnas.paper._experiment import Experiment, Job, Row
from tabnas.paper._figures import OTHERS, OURS, figure, save
from tabnas.paper._ground_truth import ground_truth_names
from tabnas.paper._judged import JudgedTable, interval
from tabnas.paper._markdown import markdown_table
from tabnas.search import select
from tabnas.space import Architecture, Budget
from tabnas.streams import stream

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NEAR = 2.0  # deviations from the best: about what another seed does
RANDOM = "random search"
ARCHITECTURES = 585  # of every space of the ground truth


class ComparisonExperiment(Experiment):
    """Real searches with real data; only the trainings of candidates are looked up."""

    name = "comparison"

    def __init__(self, definition: Mapping[str, Any], data: Path | None = None) -> None:
        super().__init__(definition, data)
        self.tables = [name for name in definition["tables"] if name in ground_truth_names()]
        self.table = cache(lambda name: JudgedTable(name, self.data))
        self.strategies = {said["name"]: said for said in definition["strategies"]}
        self.ours = next(iter(self.strategies))

    def jobs(self) -> list[Job]:
        seeds = range(self.definition["seeds"])
        cells = [(table, share) for table in self.tables for share in self.definition["shares"]]
        searches = [
            {"table": table, "share": share, "strategy": strategy, "seed": seed}
            for seed in seeds
            for table, share in cells
            for strategy, said in self.strategies.items()
            if seed < said.get("seeds", self.definition["seeds"])
        ]
        random = [{"table": table, "share": share, "strategy": RANDOM} for table, share in cells]
        return [*random, *searches]

    def run(self, job: Job) -> list[Row]:
        table = self.table(job["table"])
        budget = table.budget(job["share"])
        rows = (
            self._random(table, budget)
            if job["strategy"] == RANDOM
            else [self._search(table, budget, job)]
        )
        return [{"limit": int(budget.limits[0].at_most)} | row for row in rows]

    def _random(self, table: JudgedTable, budget: Budget) -> Iterator[Row]:
        """k feasible architectures trained once each, the best of them returned."""
        regrets = table.truth.regrets(budget)
        inside = [table.truth.architectures[k] for k in np.flatnonzero(np.isfinite(regrets))]
        for trainings in self.definition["random"]:
            rng = stream(trainings, "random search")
            for seed in range(self.definition["random_repeats"]):
                drawn = rng.choice(len(inside), min(trainings, len(inside)), replace=False)
                found = table.judge([inside[k] for k in drawn], regrets, seed=seed)
                cost = {"asked": trainings, "trainings": 0.0, "candidates": len(drawn)}
                yield {"seed": seed} | cost | found

    def _search(self, table: JudgedTable, budget: Budget, job: Job) -> Row:
        said = dict(self.strategies[job["strategy"]])
        for key in ("name", "seeds"):
            said.pop(key, None)
        said |= said.pop("tuned", {}).get(job["table"], {})
        by = said.pop("select", "one_shot")
        table.warm_up()
        began = process_time()
        search = table.search(budget, table.settings(said, seed=job["seed"]))
        search.run()
        candidates = select(search, self.definition["candidates"], by=by)
        seconds = process_time() - began
        # what a penalty leads to by itself; the candidates above are drawn given V for every reward
        everything = FeasibleSet(search.feasible.space, Budget())
        likeliest = everything.most_likely(1, search.controller.policy.log_p)[0]
        found = table.judge(candidates, table.truth.regrets(budget), seed=job["seed"])
        training = table.training_seconds(Architecture.parse(found["returned"]))
        return {
            "trainings": seconds / training,
            "candidates": len(candidates),
            "likeliest": str(likeliest),
            "likeliest_feasible": likeliest in search.feasible,
            **found,
        }

    def summarise(self, rows: list[Row]) -> dict[str, Any]:
        cells = list(dict.fromkeys((row["table"], row["limit"]) for row in rows))
        return {
            "tables": self.tables,
            "seeds": self.definition["seeds"],
            "strategies": [
                {"strategy": name} | self._judged(_of(rows, name), cells)
                for name in self.strategies
            ],
            "paired": [
                {"strategy": name} | _paired(_of(rows, self.ours), _of(rows, name))
                for name in self.strategies
                if name != self.ours
            ],
            "random": [
                {"asked": trainings}
                | self._judged(
                    [row for row in _of(rows, RANDOM) if row["asked"] == trainings], cells
                )
                for trainings in self.definition["random"]
            ],
        }

    def _judged(self, rows: list[Row], cells: Sequence[tuple[str, int]]) -> dict[str, Any]:
        by_cell: list[dict[str, Any]] = [
            {"table": table, "limit": limit} | _facts(own)
            for table, limit in cells
            if (own := [row for row in rows if (row["table"], row["limit"]) == (table, limit)])
        ]
        worst = max(by_cell, key=lambda cell: cell["regret"]) if by_cell else {}
        return _facts(rows) | {"worst": worst, "cells": by_cell}

    def report(self, rows: list[Row], summary: Mapping[str, Any]) -> str:
        strategies = summary["strategies"]
        overall = markdown_table(
            [
                "strategy",
                "mean regret",
                "worst cell",
                "within 2",
                "search",
                "its own choice is over",
            ],
            [
                [
                    one["strategy"],
                    _with_interval(one),
                    f"{one['worst']['regret']:.2f} ({one['worst']['table']}, "
                    f"{one['worst']['limit']:,})",
                    f"{one['near']:.0%}",
                    f"{one['trainings']:.2f}",
                    f"{1 - one['likeliest_feasible']:.0%}",
                ]
                for one in strategies
            ],
        )
        paired = markdown_table(
            ["against ours", "mean difference", "worse in", "better in", "p (Wilcoxon)"],
            [
                [
                    one["strategy"],
                    f"{one['difference']:+.2f} [{one['interval'][0]:+.2f}, "
                    f"{one['interval'][1]:+.2f}]",
                    f"{one['worse']:.0%}",
                    f"{one['better']:.0%}",
                    f"{one['p']:.1e}",
                ]
                for one in summary["paired"]
            ],
        )
        random = markdown_table(
            ["trainings", "mean regret", "within 2"],
            [[_asked(one), _with_interval(one), f"{one['near']:.0%}"] for one in summary["random"]],
        )
        ours = strategies[0]
        cells = markdown_table(
            ["table", "limit", "mean regret", "within 2", "best of the candidates", "search"],
            [
                [
                    cell["table"],
                    f"{cell['limit']:,}",
                    _with_interval(cell),
                    f"{cell['near']:.0%}",
                    f"{cell['regret_of_best_candidate']:.2f}",
                    f"{cell['trainings']:.2f}",
                ]
                for cell in ours["cells"]
            ],
        )
        return (
            "Regret: the loss of what is returned, its mean over seeds in the ground truth, less "
            "that of the best architecture within the limit, in standard deviations from seed to "
            "seed of a single training. Tables: "
            f"{', '.join(summary['tables'])}; limits: what "
            f"{', '.join(format(share, '.0%') for share in self.definition['shares'])} of a "
            f"space's {ARCHITECTURES} architectures keep; {summary['seeds']} seeds. Searches are real; each "
            f"names {self.definition['candidates']} candidates, which are trained once, and the "
            "best is returned. Every reward is helped by the exact feasible set: its candidates "
            "are drawn given V, so all are feasible; the last column says how often the "
            "architecture that its policy likes best is over the limit. `search` is in seconds of "
            "the processor over those of one training of what is returned; the candidates' "
            f"trainings come on top.\n\n{overall}\n\n![regret against cost](regret.png)\n\n"
            f"## {self.ours}, by table and limit\n\n{cells}\n\n"
            f"## Paired with {self.ours}\n\nThe same tables, limits and seeds.\n\n{paired}\n\n"
            f"## Random search\n\nArchitectures of V drawn uniformly, each trained once, the best "
            f"returned.\n\n{random}\n"
        )

    def draw(self, rows: list[Row], summary: Mapping[str, Any], out: Path) -> None:
        columns = min(3, len(self.tables) + 1)
        lines = -(-(len(self.tables) + 1) // columns)
        drawn, axes = figure(lines, columns, size=(4.4 * columns, 3.6 * lines))
        for axis, table in zip(axes.flat, [*self.tables, "all tables"], strict=False):
            own = [row for row in rows if table in (row["table"], "all tables")]
            self._panel(axis, own)
            axis.set_title(table, fontsize=10)
        for axis in axes.flat[len(self.tables) + 1 :]:
            axis.set_visible(False)
        handles, labels = axes.flat[0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8)
        save(drawn, out / "regret")

    def _panel(self, axis: Axes, rows: list[Row]) -> None:
        random = _of(rows, RANDOM)
        facts = [
            _facts(own)
            for count in self.definition["random"]
            if (own := [row for row in random if row["asked"] == count])
        ]
        trainings = [fact["candidates"] for fact in facts]
        axis.plot(trainings, [fact["regret"] for fact in facts], color="#777777", label=RANDOM)
        low, high = zip(*(fact["interval"] for fact in facts), strict=True)
        axis.fill_between(trainings, low, high, color="#777777", alpha=0.2, lw=0)
        for color, name in zip((OURS, *OTHERS, *OTHERS), self.strategies, strict=False):
            own = _of(rows, name)
            if not own:
                continue
            fact = _facts(own)
            low_end, high_end = fact["interval"]
            axis.errorbar(
                fact["trainings"] + fact["candidates"],
                fact["regret"],
                yerr=[[fact["regret"] - low_end], [high_end - fact["regret"]]],
                fmt="o",
                color=color,
                capsize=3,
                label=name,
            )
        axis.set(xscale="log", xlabel="cost in trainings, candidates' included", ylabel="regret")
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)


def _of(rows: list[Row], strategy: str) -> list[Row]:
    return [row for row in rows if row["strategy"] == strategy]


def _facts(rows: list[Row]) -> dict[str, Any]:
    regrets = [row["regret"] for row in rows]
    own_choice = [row["likeliest_feasible"] for row in rows if "likeliest_feasible" in row]
    return {
        "regret": float(np.mean(regrets)),
        "interval": interval(regrets),
        "near": float(np.mean(np.array(regrets) <= NEAR)),
        "regret_of_first": float(np.mean([row["regret_of_first"] for row in rows])),
        "regret_of_best_candidate": float(
            np.mean([row["regret_of_best_candidate"] for row in rows])
        ),
        "trainings": float(np.median([row["trainings"] for row in rows])),
        "candidates": float(np.mean([row["candidates"] for row in rows])),
        **({"likeliest_feasible": float(np.mean(own_choice))} if own_choice else {}),
    }


def _paired(ours: list[Row], others: list[Row]) -> dict[str, Any]:
    """Differences in regret on the same table, limit and seed: positive where ours is better."""

    def by_place(rows: list[Row]) -> dict[tuple[Any, ...], float]:
        return {(row["table"], row["limit"], row["seed"]): row["regret"] for row in rows}

    own, other = by_place(ours), by_place(others)
    differences = np.array([other[place] - own[place] for place in own if place in other])
    return {
        "difference": float(differences.mean()),
        "interval": interval(differences),
        "worse": float((differences > 0).mean()),
        "better": float((differences < 0).mean()),
        "p": float(wilcoxon(differences).pvalue) if differences.any() else 1.0,
    }


def _asked(one: Mapping[str, Any]) -> str:
    return "all there are" if one["asked"] == ARCHITECTURES else str(one["asked"])


def _with_interval(facts: Mapping[str, Any]) -> str:
    low, high = facts["interval"]
    return f"{facts['regret']:.2f} [{low:.2f}, {high:.2f}]"


EXPERIMENT = ComparisonExperiment
