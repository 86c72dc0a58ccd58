"""The paper's rewards side by side: what each finds on real tables, and with which settings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tabnas.paper._experiment import Experiment, Job, Row, filter_rows, unique
from tabnas.paper._tables import describe_missing_tables, find_available_tables
from tabnas.paper.experiments.common import filter_by_ground_truth
from tabnas.paper.experiments.rewards._figures import plot_found, plot_grid
from tabnas.paper.experiments.rewards._grid import GridReplay
from tabnas.paper.experiments.rewards._report import report_grid, report_searches
from tabnas.paper.experiments.rewards._search import RewardSearches
from tabnas.paper.experiments.rewards._summary import (
    REFERENCE,
    summarize_grid,
    summarize_searches,
    summarize_totals,
)


class RewardsExperiment(Experiment):
    """Searches with every reward on every available table, then a replayed grid of settings."""

    name = "rewards"

    def __init__(self, definition: Mapping[str, Any], data: Path | None = None) -> None:
        super().__init__(definition, data)
        self._searches = cache(lambda table: RewardSearches(table, data, definition["searches"]))
        self._replay = cache(lambda table: GridReplay(table, data, definition["grid"]))

    def jobs(self) -> list[Job]:
        searches, grid = self.definition["searches"], self.definition["grid"]
        jobs: list[Job] = []
        for table in find_available_tables(searches["tables"], self.data):
            jobs.append({"part": "search", "table": table, "title": REFERENCE, "repeat": 0})
            jobs += [
                {"part": "search", "table": table, "title": reward["title"], "repeat": repeat}
                for reward in searches["rewards"]
                for repeat in range(searches["repeats"])
            ]
        for table in filter_by_ground_truth(grid["tables"]):
            jobs.append({"part": "problem", "table": table})
            jobs += [
                {"part": "grid", "table": table, "title": reward["title"], "rl_learning_rate": rate}
                for reward in grid["rewards"]
                for rate in grid["rl_learning_rates"]
            ]
        return jobs

    def run(self, job: Job) -> list[Row]:
        if job["part"] == "problem":
            return [{"problem": self._replay(job["table"]).describe()}]
        if job["part"] == "grid":
            (reward,) = filter_rows(self.definition["grid"]["rewards"], title=job["title"])
            rows: list[Row] = self._replay(job["table"]).run(reward, job["rl_learning_rate"])
            return rows
        searches: RewardSearches = self._searches(job["table"])
        if job["title"] == REFERENCE:
            return [searches.train_reference()]
        (reward,) = filter_rows(self.definition["searches"]["rewards"], title=job["title"])
        return [searches.run(reward, job["repeat"])]

    def summarize(self, rows: list[Row]) -> dict[str, Any]:
        searches = summarize_searches(
            filter_rows(rows, part="search"), self.definition["searches"]["epochs"]
        )
        return {
            "searches": searches,
            "totals": summarize_totals(searches),
            "grid": summarize_grid(rows, self.definition["grid"]),
        }

    def report(self, rows: list[Row], summary: Mapping[str, Any]) -> str:
        searches, grid = self.definition["searches"], self.definition["grid"]
        available = unique(filter_rows(rows, part="search"), "table")
        missing = describe_missing_tables(searches["tables"], available)
        return (
            report_searches(summary, searches, missing)
            + "\n\n"
            + report_grid(summary["grid"], grid)
        )

    def plot(self, rows: list[Row], summary: Mapping[str, Any], out: Path) -> None:
        plot_found(summary["searches"], out / "found")
        for table in summary["grid"]:
            plot_grid(table, self.definition["grid"], out / f"grid-{table['table']}")


EXPERIMENT = RewardsExperiment
