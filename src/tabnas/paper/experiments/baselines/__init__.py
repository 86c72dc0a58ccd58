"""Baselines at equal cost: other strategies on the same SuperNet, and random search without one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.paper._experiment import Experiment, Job, Row, filter_rows, group_rows, mean, unique
from tabnas.paper._tables import describe_missing_tables, find_available_tables
from tabnas.paper.experiments.baselines._criteo import CriteoMethods, summarize_criteo
from tabnas.paper.experiments.baselines._equal_cost import EqualCost
from tabnas.paper.experiments.baselines._report import (
    RANDOM,
    plot_baselines,
    report,
    report_criteo,
)
from tabnas.paper.experiments.common import (
    REGRETS,
    RETURNED,
    SearchProblem,
    add_regrets,
    compare_groups,
    filter_by_ground_truth,
    get_scorer,
    load_problem,
    random_search,
    summarize_runs,
    values_by_run,
)
from tabnas.strategies import STRATEGIES


class BaselinesExperiment(Experiment):
    """Every method on every table, limit and seed; then the paper's own table, on Criteo."""

    name = "baselines"

    def __init__(self, definition: Mapping[str, Any], data: Path | None = None) -> None:
        super().__init__(definition, data)
        criteo = definition["criteo"]
        self.methods = _select_methods(definition["methods"], definition["only"])
        self.criteo_methods = _select_methods(criteo["methods"], criteo["only"])
        self.criteo = CriteoMethods(criteo, data)
        # several jobs in a row share a SuperNet, which each could train by itself
        self._equal_cost = lru_cache(maxsize=1)(
            lambda table, share, seed: EqualCost(self._problem(table, share), seed)
        )

    def _problem(self, table: str, share: float) -> SearchProblem:
        epochs = self.definition["epochs"]
        return load_problem(table, share, self.data, epochs=epochs, warm_up=True)

    def jobs(self) -> list[Job]:
        definition = self.definition
        limits = [
            {"table": table, "share": share}
            for table in filter_by_ground_truth(definition["tables"])
            for share in definition["shares"]
        ]
        trainings = [{"part": "training"} | limit for limit in limits]
        searches = [
            {"part": "methods"} | limit | {"seed": seed, "method": method}
            for limit in limits
            for seed in range(definition["seeds"])
            for method in [*self.methods, RANDOM]
        ]
        has_criteo = find_available_tables(["criteo"], self.data)
        criteo = [
            {"part": "criteo", "method": title, "repeat": repeat}
            for repeat in range(definition["criteo"]["repeats"] if has_criteo else 0)
            for title, method in self.criteo_methods.items()
            if repeat == 0 or method["kind"] != "reference"
        ]
        return [*criteo, *trainings, *searches]

    def run(self, job: Job) -> list[Row]:
        if job["part"] == "criteo":
            return [self.criteo.run(self.criteo_methods[job["method"]], job["repeat"])]
        if job["part"] == "training":
            problem = self._problem(job["table"], job["share"])
            seconds = problem.time_trainings(self.definition["timed_trainings"])
            return [{"limit": problem.limit, "seconds": float(np.median(seconds))}]
        equal_cost: EqualCost = self._equal_cost(job["table"], job["share"], job["seed"])
        if job["method"] == RANDOM:
            return [
                {"trainings": trainings}
                | random_search(equal_cost.problem.scorer, trainings, job["seed"])
                for trainings in self.definition["random_trainings"]
            ]
        return [equal_cost.run(self.methods[job["method"]])]

    def summarize(self, rows: list[Row]) -> dict[str, Any]:
        limits = {(row["table"], row["share"]): row for row in filter_rows(rows, part="training")}
        searches = []
        for row in filter_rows(rows, part="methods"):
            limit = limits[row["table"], row["share"]]
            is_random = row["method"] == RANDOM
            searches.append(
                row
                | {
                    "title": f"{RANDOM}, {row['trainings']}" if is_random else row["method"],
                    "limit": limit["limit"],
                    "cost": row.get("trainings") or row["seconds"] / limit["seconds"],
                }
            )
        groups = group_rows(add_regrets(searches), "title")
        differences = compare_groups(groups, next(iter(self.methods)))
        return {
            "tables": unique(limits.values(), "table"),
            "limits": [row["limit"] for row in limits.values()],
            "feasible": [_count_feasible(row) for row in limits.values()],
            "shares_within_limit": self.definition["shares"],
            "seeds": self.definition["seeds"],
            "methods": [
                {"title": title} | differences[title] | _summarize_method(group)
                for title, group in groups.items()
            ],
            "criteo": summarize_criteo(filter_rows(rows, part="criteo")),
        }

    def report(self, rows: list[Row], summary: Mapping[str, Any]) -> str:
        on_criteo = (
            report_criteo(self.definition["criteo"], summary)
            if summary["criteo"]
            else describe_missing_tables(["criteo"], [])
        )
        return f"{report(summary)}\n\n{on_criteo}\n"

    def plot(self, rows: list[Row], summary: Mapping[str, Any], out: Path) -> None:
        plot_baselines(summary, out / "regret")


def _select_methods(methods: list[dict[str, Any]], only: list[str]) -> dict[str, dict[str, Any]]:
    """Return the methods to run by title, without strategies that are not installed."""
    return {
        method["title"]: method
        for method in methods
        if (not only or method["title"] in only)
        and ("strategy" not in method or method["strategy"] in STRATEGIES)
    }


def _summarize_method(rows: list[Row]) -> dict[str, Any]:
    by_rule = add_regrets([_apply_rule(row) for row in rows])
    return {
        **_summarize_regrets(rows),
        "by_rule": summarize_runs(values_by_run(by_rule, RETURNED[0])),
        "test_by_rule": summarize_runs(values_by_run(by_rule, RETURNED[1])),
        "evaluations": mean(row.get("evaluations", 0) for row in rows),
        "rows_evaluated": mean(row.get("rows_evaluated", 0) for row in rows),
        "cost": mean(row["cost"] for row in rows),
        "stuck": sum(row.get("stuck", False) for row in rows),
        "by_limit": [
            {"table": table, "share": share} | _summarize_regrets(cell)
            for (table, share), cell in group_rows(rows, "table", "share").items()
        ],
    }


def _summarize_regrets(rows: list[Row]) -> dict[str, Any]:
    """Summarize the regrets; random search without a SuperNet has no first candidate."""
    names = [name for name in REGRETS if name in rows[0]]
    return {name: summarize_runs(values_by_run(rows, name)) for name in names}


def _apply_rule(row: Row) -> Row:
    """Return the row with the candidates of our selection rule, if they are others."""
    if "returned_by_rule" not in row:
        return row
    return row | {"candidates": row["candidates_by_rule"], "returned": row["returned_by_rule"]}


def _count_feasible(row: Row) -> int:
    return int(np.isfinite(get_scorer(row["table"], row["limit"]).regrets).sum())


EXPERIMENT = BaselinesExperiment
