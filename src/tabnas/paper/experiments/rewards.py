"""The paper's rewards side by side: what each finds on real tables, and by which settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tabnas.paper._experiment import Experiment, Job, Row
from tabnas.paper.experiments._rewards_figures import draw_found, draw_grid
from tabnas.paper.experiments._rewards_replay import Replay
from tabnas.paper.experiments._rewards_report import grid_report, searches_report
from tabnas.paper.experiments._rewards_search import SearchedTable
from tabnas.paper.experiments._rewards_summary import (
    REFERENCE,
    found_by_reward,
    grid_by_reward,
    totals,
)
from tabnas.paper.experiments._there import (
    describe_absent,
    tables_with_files,
    tables_with_ground_truth,
)


class RewardsExperiment(Experiment):
    """Searches with every reward on every table there is, then a grid of settings, replayed."""

    name = "rewards"

    def __init__(self, definition: Mapping[str, Any], data: Path | None = None) -> None:
        super().__init__(definition, data)
        self._searched: dict[str, SearchedTable] = {}
        self._replays: dict[str, Replay] = {}

    def jobs(self) -> list[Job]:
        searches, grid = self.definition["searches"], self.definition["grid"]
        replays: list[Job] = []
        for table in tables_with_ground_truth(grid):
            replays.append({"part": "facts", "table": table})
            replays += [
                {"part": "grid", "table": table, "title": reward["title"], "rate": rate}
                for reward in grid["rewards"]
                for rate in grid["rates"]
            ]
        found: list[Job] = []
        for table in tables_with_files(searches["tables"], self.data):
            found.append({"part": "search", "table": table, "title": REFERENCE, "repeat": 0})
            found += [
                {"part": "search", "table": table, "title": reward["title"], "repeat": repeat}
                for reward in searches["rewards"]
                for repeat in range(searches["repeats"])
            ]
        return [*found, *replays]

    def run(self, job: Job) -> list[Row]:
        if job["part"] == "search":
            return [self._search(job)]
        replay = self._replay(job["table"])
        if job["part"] == "facts":
            return [{"facts": replay.facts()}]
        reward = _titled(self.definition["grid"]["rewards"], job["title"])
        return replay.run(reward, job["rate"])

    def _search(self, job: Job) -> Row:
        said, name = self.definition["searches"], job["table"]
        if name not in self._searched:
            self._searched[name] = SearchedTable(name, self.data, said)
        table = self._searched[name]
        if job["title"] == REFERENCE:
            return table.reference()
        return table.search(_titled(said["rewards"], job["title"]), job["repeat"])

    def _replay(self, name: str) -> Replay:
        if name not in self._replays:
            self._replays[name] = Replay(name, self.data, self.definition["grid"])
        return self._replays[name]

    def summarise(self, rows: list[Row]) -> dict[str, Any]:
        searches = found_by_reward(rows, self.definition["searches"])
        return {
            "searches": searches,
            "totals": totals(searches),
            "grid": grid_by_reward(rows, self.definition["grid"]),
        }

    def report(self, rows: list[Row], summary: Mapping[str, Any]) -> str:
        said = self.definition
        run = {row["table"] for row in rows if row["part"] == "search"}
        absent = describe_absent(said["searches"]["tables"], run)
        return (
            searches_report(summary, said["searches"], absent)
            + "\n\n"
            + grid_report(summary["grid"], said["grid"])
        )

    def draw(self, rows: list[Row], summary: Mapping[str, Any], out: Path) -> None:
        draw_found(summary["searches"], out / "found")
        for table in summary["grid"]:
            draw_grid(table, self.definition["grid"], out / f"grid-{table['table']}")


def _titled(rewards: list[dict[str, Any]], title: str) -> dict[str, Any]:
    return next(reward for reward in rewards if reward["title"] == title)


EXPERIMENT = RewardsExperiment
