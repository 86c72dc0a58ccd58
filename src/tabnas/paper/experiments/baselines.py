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
    baselines_text,
    criteo_text,
    draw_baselines,
)
from tabnas.paper.experiments._criteo_methods import CriteoMethods, described_methods
from tabnas.paper.experiments._equal_cost import EqualCost
from tabnas.paper.experiments._judged import Judged, JudgedTable
from tabnas.paper.experiments._paired import compared, described, holm
from tabnas.paper.experiments._there import (
    describe_absent,
    tables_with_files,
    tables_with_ground_truth,
)
from tabnas.paper.experiments._verdicts import (
    PARTS,
    REGRETS,
    by_run,
    judge,
    judged_rows,
    trained_alone,
)
from tabnas.strategies import STRATEGIES

RETURNED = REGRETS[1]
NAMES = [f"{prefix}{name}" for name in REGRETS for prefix in PARTS]


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
        repeats = said["criteo"]["repeats"] if tables_with_files(["criteo"], self.data) else 0
        criteo = [
            {"part": "criteo", "method": method, "repeat": repeat}
            for repeat in range(repeats)
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
            return [
                {"trainings": trainings} | trained_alone(bench.judged.judge, trainings, bench.seed)
                for trainings in self.definition["alone"]
            ]
        return [bench.row(self.methods[job["method"]])]

    def _limited(self, table: str, share: float) -> Judged:
        found: JudgedTable = self._table(table)
        judged = found.limited(share, epochs=self.definition["epochs"])
        judged.warm_up()
        return judged

    # --- what the rows say ------------------------------------------------------------------------

    def summarise(self, rows: list[Row]) -> dict[str, Any]:
        places = {(row["table"], row["share"]): row for row in rows if row["part"] == "training"}
        groups: dict[str, list[Row]] = {}
        for row in rows:
            if row["part"] == "methods":
                place = places[row["table"], row["share"]]
                cost = row.get("trainings") or row["seconds"] / place["seconds"]
                own = row | {"limit": place["limit"], "cost": cost}
                groups.setdefault(_titled(row), []).append(own)
        methods = {title: judged_rows(own) for title, own in groups.items()}
        base = methods[next(iter(self.methods))]
        found = [self._method(title, own, base) for title, own in methods.items()]
        for name in NAMES:
            holm([one[f"{name}_more"] for one in found[1:] if f"{name}_more" in one])
        return {
            "tables": list(dict.fromkeys(table for table, _ in places)),
            "limits": [row["limit"] for row in places.values()],
            "members": [_members(row) for row in places.values()],
            "limits_kept_by": self.definition["shares"],
            "seeds": self.definition["seeds"],
            "methods": found,
            "criteo": described_methods([row for row in rows if row["part"] == "criteo"]),
        }

    def _method(self, title: str, rows: list[Row], base: list[Row]) -> dict[str, Any]:
        """Regrets of one method, each next to the default search; trained alone has no first."""
        by_rule = judged_rows([_by_rule(row) for row in rows])
        said: dict[str, Any] = {"title": title}
        for name in (one for one in NAMES if one in rows[0]):
            said[name] = described(by_run(rows, name))
            said[f"{name}_more"] = compared(by_run(rows, name), by_run(base, name))
        return said | {
            "by_rule": described(by_run(by_rule, RETURNED)),
            "test_by_rule": described(by_run(by_rule, f"test_{RETURNED}")),
            "looks": float(np.mean([row.get("looks", 0) for row in rows])),
            "passes": float(np.mean([row.get("passes", 0) for row in rows])),
            "cost": float(np.mean([row["cost"] for row in rows])),
            "stuck": sum(row.get("stuck", False) for row in rows),
            "by_place": _by_place(rows),
        }

    def report(self, rows: list[Row], summary: Mapping[str, Any]) -> str:
        on_criteo = (
            criteo_text(self.definition["criteo"], summary)
            if summary["criteo"]
            else describe_absent(["criteo"], [])
        )
        return f"{baselines_text(summary)}\n\n{on_criteo}\n"

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


def _by_rule(row: Row) -> Row:
    """The row as if our rule had chosen the candidates; where it has, or none is asked, itself."""
    if "returned_by_rule" not in row:
        return row
    return row | {"named": row["named_by_rule"], "returned": row["returned_by_rule"]}


def _by_place(rows: list[Row]) -> list[dict[str, Any]]:
    places = dict.fromkeys((row["table"], row["share"]) for row in rows)
    found = []
    for place in places:
        own = [row for row in rows if (row["table"], row["share"]) == place]
        regrets = {name: described(by_run(own, name)) for name in NAMES if name in own[0]}
        found.append({"table": place[0], "share": place[1]} | regrets)
    return found


def _members(row: Row) -> int:
    """How many architectures keep a limit."""
    return int(np.isfinite(judge(row["table"], row["limit"]).regrets).sum())


EXPERIMENT = Baselines
