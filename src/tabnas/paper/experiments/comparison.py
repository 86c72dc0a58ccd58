"""The judgement that matters: regret against the ground truth, by strategy and cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from tabnas.paper._experiment import Experiment, Job, Row
from tabnas.paper.experiments._comparison_shown import comparison_text, draw_comparison
from tabnas.paper.experiments._judged import Judged, JudgedTable
from tabnas.paper.experiments._paired import compared, described, holm
from tabnas.paper.experiments._there import tables_with_ground_truth
from tabnas.paper.experiments._verdicts import (
    PARTS,
    REGRETS,
    by_run,
    dearest,
    judge,
    judged_rows,
    trained_alone,
)
from tabnas.paper.experiments._watched_search import favourite
from tabnas.search import select
from tabnas.space import Architecture

RANDOM = "random search"
DEAREST = "the three dearest, no search"
TIMED_EPOCHS = 4  # of a training, which tell what all of them take
RETURNED = REGRETS[1]


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
        others = [
            {"table": table, "share": share, "strategy": strategy}
            for table, share in cells
            for strategy in (RANDOM, DEAREST)
        ]
        return [*others, *searches]

    def run(self, job: Job) -> list[Row]:
        judged = self.judged(job["table"], job["share"])
        if job["strategy"] == RANDOM:
            rows = [
                {"seed": seed, "asked": trainings, "trainings": 0.0}
                | trained_alone(judged.judge, trainings, seed)
                for trainings in self.definition["random"]
                for seed in range(self.definition["random_repeats"])
            ]
        elif job["strategy"] == DEAREST:
            named = dearest(judged.judge, self.definition["candidates"])
            rows = [
                {"seed": seed, "trainings": 0.0, "candidates": len(named)}
                | judged.judge.named(named, seed)
                for seed in range(self.definition["seeds"])
            ]
        else:
            rows = [self._search(judged, job)]
        return [{"limit": judged.limit} | row for row in rows]

    def _search(self, judged: Judged, job: Job) -> Row:
        said = dict(self.strategies[job["strategy"]])
        for key in ("name", "seeds", "beside"):
            said.pop(key, None)
        said |= said.pop("tuned", {}).get(job["table"], {})
        by = said.pop("select", "one_shot")
        began = process_time()
        search = judged.search(judged.settings(job["seed"], said))
        search.run()
        candidates = select(search, self.definition["candidates"], by=by)
        seconds = process_time() - began
        named = judged.judge.named(candidates, job["seed"])
        training = judged.seconds_of(Architecture.parse(named["returned"]), epochs=TIMED_EPOCHS)
        # what a penalty leads to by itself; the candidates above are drawn given V for every reward
        liked = favourite(search)
        return {
            "trainings": seconds / training,
            "candidates": len(candidates),
            "favourite": str(liked),
            "favourite_feasible": liked in search.feasible,
            **named,
        }

    # --- what the rows say ------------------------------------------------------------------------

    def summarise(self, rows: list[Row]) -> dict[str, Any]:
        groups: dict[str, list[Row]] = {}
        for row in judged_rows(rows):
            groups.setdefault(row["strategy"], []).append(row)
        random = groups.pop(RANDOM)
        counts = {count: [row for row in random if row["asked"] == count] for count in self.asked}
        titles = [name for name in (*self.strategies, DEAREST) if name in groups]
        ours = groups[self.ours]
        beside = {name: self.strategies[name].get("beside") for name in titles if name != DEAREST}
        return {
            "tables": self.tables,
            "limits": len({(row["table"], row["limit"]) for row in rows}),
            "seeds": self.definition["seeds"],
            "strategies": [{"strategy": name} | _facts(groups[name]) for name in titles],
            "paired": _paired({name: groups[name] for name in titles if name != self.ours}, ours),
            "like_for_like": [
                {"beside": other} | one
                for other in dict.fromkeys(filter(None, beside.values()))
                for one in _paired(
                    {name: groups[name] for name in titles if beside.get(name) == other},
                    groups[other],
                )
            ],
            "random": [{"asked": count} | _facts(own) for count, own in counts.items()],
            "random_paired": _paired({str(count): own for count, own in counts.items()}, ours),
        }

    @property
    def asked(self) -> list[int]:
        """How many architectures random searches train."""
        found: list[int] = self.definition["random"]
        return found

    def report(self, rows: list[Row], summary: Mapping[str, Any]) -> str:
        return comparison_text(self.definition, summary)

    def draw(self, rows: list[Row], summary: Mapping[str, Any], out: Path) -> None:
        draw_comparison(summary, out / "regret")


def _paired(groups: Mapping[str, list[Row]], base: list[Row]) -> list[dict[str, Any]]:
    """Each group against the base, on the validation rows and on the test rows."""
    names = [f"{prefix}{RETURNED}" for prefix in PARTS]
    found: list[dict[str, Any]] = []
    for title, own in groups.items():
        pairs = {name: compared(by_run(own, name), by_run(base, name)) for name in names}
        found.append({"strategy": title, **pairs})
    for name in names:
        holm([one[name] for one in found])
    return found


def _facts(rows: list[Row]) -> dict[str, Any]:
    """All runs of a strategy together, and by table and limit."""
    cells: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        cells.setdefault((row["table"], row["limit"]), []).append(row)
    by_cell: list[dict[str, Any]] = [
        {"table": table, "limit": limit} | _described(own) for (table, limit), own in cells.items()
    ]
    tables = dict.fromkeys(table for table, _ in cells)
    own_choice = [kept for row in rows if (kept := _own_choice(row)) is not None]
    return {
        **_described(rows),
        **({"favourite_over": 1 - float(np.mean(own_choice))} if own_choice else {}),
        "among_the_dearest": float(np.mean([_among_the_dearest(row) for row in rows])),
        "below_one": sum(cell[RETURNED]["mean"] < 1 for cell in by_cell),
        "worst": max(by_cell, key=lambda cell: float(cell[RETURNED]["mean"])),
        "by_table": {
            table: _described([row for row in rows if row["table"] == table]) for table in tables
        },
        "cells": by_cell,
    }


def _described(rows: Sequence[Row]) -> dict[str, Any]:
    own = list(rows)
    regrets = [f"{prefix}{name}" for name in REGRETS for prefix in PARTS]
    oracle = "regret_of_best_candidate"
    search = float(np.median([row["trainings"] for row in own]))
    candidates = float(np.mean([row["candidates"] for row in own]))
    return {
        **{name: described(by_run(own, name)) for name in regrets if name in own[0]},
        **({oracle: float(np.mean([row[oracle] for row in own]))} if oracle in own[0] else {}),
        "search": search,
        "candidates": candidates,
        "in_all": search + candidates,
    }


def _own_choice(row: Row) -> bool | None:
    """Whether what a policy likes best is feasible; older rows have it under another name."""
    return row.get("favourite_feasible", row.get("likeliest_feasible"))


def _among_the_dearest(row: Row) -> bool:
    """Whether what is returned is one of the five that cost most, which need no search."""
    most = dearest(judge(row["table"], row["limit"]), 5)
    return row["returned"] in [str(one) for one in most]


EXPERIMENT = ComparisonExperiment
