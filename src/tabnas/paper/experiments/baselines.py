"""Baselines at equal cost: other strategies on the same SuperNet, and random search without one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.paper._experiment import Experiment, Job, Row
from tabnas.paper.experiments._baselines_shown import (
    ALONE,
    REGRETS,
    baselines_text,
    criteo_text,
    draw_baselines,
)
from tabnas.paper.experiments._criteo_methods import CriteoMethods, described_methods
from tabnas.paper.experiments._equal_cost import EqualCost
from tabnas.paper.experiments._judged import Judged, JudgedTable
from tabnas.paper.experiments._paired import compared, described
from tabnas.paper.experiments._there import tables_with_ground_truth
from tabnas.strategies import STRATEGIES


class Baselines(Experiment):
    """Every method on every table, limit and seed; then the paper's own table, on Criteo."""

    name = "baselines"

    def __init__(self, definition: Mapping[str, Any], data: Path | None = None) -> None:
        super().__init__(definition, data)
        said = definition["criteo"]
        self.methods = _shown(definition["methods"], definition["shown"])
        self.criteo_methods = _shown(said["methods"], said["shown"])
        # what several jobs in a row have in common; each would make the same by itself
        self._table = lru_cache(maxsize=1)(lambda name: JudgedTable(name, self.data))
        self._judged = lru_cache(maxsize=1)(self._limited)
        self._bench = lru_cache(maxsize=1)(
            lambda table, share, seed: EqualCost(self._judged(table, share), seed)
        )
        self._criteo = lru_cache(maxsize=1)(lambda: CriteoMethods(said, self.data))

    def jobs(self) -> list[Job]:
        said = self.definition
        places = [
            {"table": table, "share": share}
            for table in tables_with_ground_truth(said)
            for share in said["shares"]
        ]
        timed = [{"part": "training"} | place for place in places]
        searched = [
            {"part": "methods"} | place | {"seed": seed, "method": method}
            for place in places
            for seed in range(said["seeds"])
            for method in [*self.methods, ALONE]
        ]
        criteo = [
            {"part": "criteo", "method": method, "repeat": repeat}
            for repeat in range(said["criteo"]["repeats"])
            for method, one in self.criteo_methods.items()
            if repeat == 0 or one["kind"] != "reference"
        ]
        return [*criteo, *timed, *searched]

    def run(self, job: Job) -> list[Row]:
        if job["part"] == "criteo":
            criteo: CriteoMethods = self._criteo()
            return [criteo.row(self.criteo_methods[job["method"]], job["repeat"])]
        if job["part"] == "training":
            judged = self._judged(job["table"], job["share"])
            seconds = judged.training_seconds(self.definition["timed"])
            return [{"limit": judged.limit, "seconds": float(np.median(seconds))}]
        bench: EqualCost = self._bench(job["table"], job["share"], job["seed"])
        if job["method"] == ALONE:
            return [bench.alone(trainings) for trainings in self.definition["alone"]]
        return [bench.row(self.methods[job["method"]])]

    def _limited(self, table: str, share: float) -> Judged:
        found: JudgedTable = self._table(table)
        return found.limited(share, epochs=self.definition["epochs"])

    # --- what the rows say ------------------------------------------------------------------------

    def summarise(self, rows: list[Row]) -> dict[str, Any]:
        places = {(row["table"], row["share"]): row for row in rows if row["part"] == "training"}
        groups: dict[str, list[Row]] = {}
        for row in rows:
            if row["part"] == "methods":
                cost = places[row["table"], row["share"]]["seconds"]
                groups.setdefault(_titled(row), []).append(
                    row | {"cost": row.get("trainings") or row["seconds"] / cost}
                )
        base = groups[next(iter(self.methods))]
        return {
            "tables": list(dict.fromkeys(table for table, _ in places)),
            "limits": [row["limit"] for row in places.values()],
            "limits_kept_by": self.definition["shares"],
            "seeds": self.definition["seeds"],
            "methods": [
                {
                    "title": title,
                    **{name: described([row[name] for row in group]) for name in REGRETS},
                    **{
                        f"{name}_more": compared(_by_run(group, name), _by_run(base, name))
                        for name in REGRETS
                    },
                    "looks": float(np.mean([row.get("looks", 0) for row in group])),
                    "passes": float(np.mean([row.get("passes", 0) for row in group])),
                    "cost": float(np.mean([row["cost"] for row in group])),
                    "stuck": sum(row.get("stuck", False) for row in group),
                    "by_place": self._by_place(group),
                }
                for title, group in groups.items()
            ],
            "criteo": described_methods([row for row in rows if row["part"] == "criteo"]),
        }

    def _by_place(self, group: list[Row]) -> list[dict[str, Any]]:
        places = dict.fromkeys((row["table"], row["share"]) for row in group)
        return [
            {"table": table, "share": share}
            | {
                name: described(
                    [row[name] for row in group if (row["table"], row["share"]) == (table, share)]
                )
                for name in REGRETS
            }
            for table, share in places
        ]

    def report(self, rows: list[Row], summary: Mapping[str, Any]) -> str:
        return f"{baselines_text(summary)}\n\n{criteo_text(self.definition['criteo'], summary)}\n"

    def draw(self, rows: list[Row], summary: Mapping[str, Any], out: Path) -> None:
        draw_baselines(summary, out / "regret")


def _shown(methods: list[dict[str, Any]], shown: list[str]) -> dict[str, dict[str, Any]]:
    """Those that are shown, by title, without strategies that are not there."""
    return {
        one["title"]: one
        for one in methods
        if (not shown or one["title"] in shown)
        and ("strategy" not in one or one["strategy"] in STRATEGIES)
    }


def _titled(row: Row) -> str:
    return f"{ALONE}, {row['trainings']}" if row["method"] == ALONE else str(row["method"])


def _by_run(rows: list[Row], name: str) -> dict[tuple[Any, ...], float]:
    return {(row["table"], row["share"], row["seed"]): row[name] for row in rows}


EXPERIMENT = Baselines
