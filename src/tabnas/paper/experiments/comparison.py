"""The judgement that matters: regret against the ground truth, by strategy and cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from tabnas.feasible import FeasibleSet
from tabnas.paper._experiment import Experiment, Job, Row
from tabnas.paper._figures import OTHERS, OURS, figure, save
from tabnas.paper._markdown import markdown_table
from tabnas.paper.experiments._judged import Judged, JudgedTable
from tabnas.paper.experiments._paired import compared, described, more_text, p_text
from tabnas.paper.experiments._there import tables_with_ground_truth
from tabnas.paper.experiments._ticks import log_ticks
from tabnas.search import select
from tabnas.space import Architecture, Budget
from tabnas.streams import stream

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RANDOM = "random search"
ARCHITECTURES = 585  # of every space of the ground truth
TIMED_EPOCHS = 4  # of a training, which tell what all of them take


class ComparisonExperiment(Experiment):
    """Real searches with real data; only the trainings of candidates are looked up."""

    name = "comparison"

    def __init__(self, definition: Mapping[str, Any], data: Path | None = None) -> None:
        super().__init__(definition, data)
        self.tables = tables_with_ground_truth(definition)
        self.table = cache(lambda name: JudgedTable(name, self.data))
        self.judged = cache(self._limited)
        self.strategies = {said["name"]: said for said in definition["strategies"]}
        self.ours = next(iter(self.strategies))

    def _limited(self, table: str, share: float) -> Judged:
        judged: Judged = self.table(table).limited(share)
        judged.warm_up()
        return judged

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
        judged = self.judged(job["table"], job["share"])
        rows = self._random(judged) if job["strategy"] == RANDOM else [self._search(judged, job)]
        return [{"limit": judged.limit} | row for row in rows]

    def _random(self, judged: Judged) -> Iterator[Row]:
        """k feasible architectures trained once each, the best of them returned."""
        inside = [one for one in judged.truth.architectures if one in judged.feasible]
        for trainings in self.definition["random"]:
            rng = stream(trainings, "random search")
            for seed in range(self.definition["random_repeats"]):
                drawn = rng.choice(len(inside), min(trainings, len(inside)), replace=False)
                cost = {"asked": trainings, "trainings": 0.0, "candidates": len(drawn)}
                yield {"seed": seed} | cost | _verdict(judged, [inside[k] for k in drawn], seed)

    def _search(self, judged: Judged, job: Job) -> Row:
        said = dict(self.strategies[job["strategy"]])
        for key in ("name", "seeds"):
            said.pop(key, None)
        said |= said.pop("tuned", {}).get(job["table"], {})
        by = said.pop("select", "one_shot")
        began = process_time()
        search = judged.search(judged.settings(job["seed"], said))
        search.run()
        candidates = select(search, self.definition["candidates"], by=by)
        seconds = process_time() - began
        # what a penalty leads to by itself; the candidates above are drawn given V for every reward
        everything = FeasibleSet(search.feasible.space, Budget())
        likeliest = everything.most_likely(1, search.controller.policy.log_p)[0]
        found = _verdict(judged, candidates, job["seed"])
        training = judged.seconds_of(Architecture.parse(found["returned"]), epochs=TIMED_EPOCHS)
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
                {"strategy": name}
                | compared(_by_run(_of(rows, name)), _by_run(_of(rows, self.ours)))
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
            ["strategy", "more regret than ours", "p (Wilcoxon)"],
            [[one["strategy"], more_text(one), p_text(one["p"])] for one in summary["paired"]],
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
            f"space's {ARCHITECTURES} architectures keep; {summary['seeds']} seeds, half as many "
            "for the paper's loop. Searches are real; each "
            f"names {self.definition['candidates']} candidates, which are trained once, and the "
            "best is returned. Every reward is helped by the exact feasible set: its candidates "
            "are drawn given V, so all are feasible; the last column says how often the "
            "architecture that its policy likes best is over the limit. `search` is in seconds of "
            "the processor over those of one training of what is returned; the candidates' "
            f"trainings come on top.\n\n{overall}\n\n![regret against cost](regret.png)\n\n"
            "*Strategies of the same cost are drawn side by side.*\n\n"
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
        from matplotlib.ticker import LogLocator, NullFormatter

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
        colors = (OURS, *OTHERS, *OTHERS)
        for k, (color, name) in enumerate(zip(colors, self.strategies, strict=False)):
            own = _of(rows, name)
            if not own:
                continue
            fact = _facts(own)
            beside = 1 + 0.06 * k  # most cost the same, and would hide one another
            low_end, high_end = fact["interval"]
            axis.errorbar(
                (fact["trainings"] + fact["candidates"]) * beside,
                fact["regret"],
                yerr=[[fact["regret"] - low_end], [high_end - fact["regret"]]],
                fmt="o",
                color=color,
                capsize=3,
                label=name,
            )
        log_ticks(axis, "{x:g}")
        axis.set(yscale="log", xlabel="cost in trainings, candidates' included", ylabel="regret")
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_formatter(NullFormatter())
        axis.grid(alpha=0.3)


def _of(rows: list[Row], strategy: str) -> list[Row]:
    return [row for row in rows if row["strategy"] == strategy]


def _verdict(judged: Judged, candidates: Sequence[Architecture], seed: int) -> Row:
    said = judged.verdict(candidates, seed)
    return {
        "returned": said["returned"],
        "regret": said["regret_of_three"],
        "regret_of_first": said["regret"],
        "regret_of_best_candidate": min(map(judged.regret, candidates)),
    }


def _facts(rows: list[Row]) -> dict[str, Any]:
    said = described([row["regret"] for row in rows])
    own_choice = [row["likeliest_feasible"] for row in rows if "likeliest_feasible" in row]
    return {
        "regret": said["mean"],
        "interval": [said["mean"] - said["interval"], said["mean"] + said["interval"]],
        "near": said["near"],
        "regret_of_first": float(np.mean([row["regret_of_first"] for row in rows])),
        "regret_of_best_candidate": float(
            np.mean([row["regret_of_best_candidate"] for row in rows])
        ),
        "trainings": float(np.median([row["trainings"] for row in rows])),
        "candidates": float(np.mean([row["candidates"] for row in rows])),
        **({"likeliest_feasible": float(np.mean(own_choice))} if own_choice else {}),
    }


def _by_run(rows: list[Row]) -> dict[tuple[Any, ...], float]:
    return {(row["table"], row["limit"], row["seed"]): row["regret"] for row in rows}


def _asked(one: Mapping[str, Any]) -> str:
    return "all there are" if one["asked"] == ARCHITECTURES else str(one["asked"])


def _with_interval(facts: Mapping[str, Any]) -> str:
    low, high = facts["interval"]
    return f"{facts['regret']:.2f} [{low:.2f}, {high:.2f}]"


EXPERIMENT = ComparisonExperiment
