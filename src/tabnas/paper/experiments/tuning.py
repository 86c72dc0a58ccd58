"""Figure "tuning": what becomes of a search by beta of Abs, and by N of rejection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.paper._experiment import Experiment, Job, Row, read_definition
from tabnas.paper._tables import PreparedTable, paper_table
from tabnas.paper.experiments._there import describe_absent, tables_with_files
from tabnas.paper.experiments._toy_problem import Toy
from tabnas.paper.experiments._tuning_shown import EXACT, draw_searches, draw_toy, report
from tabnas.paper.experiments._watched_search import WatchedSearch, ending, prepared
from tabnas.policy import Adam
from tabnas.space import Architecture


class TuningExperiment(Experiment):
    """On the toy with hundreds of seeds, and in searches on real tables."""

    name = "tuning"

    def __init__(self, definition: Mapping[str, Any], data: Path | None = None) -> None:
        super().__init__(definition, data)
        said = definition["toy"]
        problem = read_definition("toy", quick=False) | {"steps": said["steps"]}
        self.toy = Toy(problem, seeds=said["seeds"])
        self.tables = {table["title"]: table for table in definition["tables"]}
        self._searched = cache(self._prepare_search)
        self._trained = cache(self._prepare_training)

    def _prepare_search(self, title: str) -> PreparedTable:
        return prepared(self.tables[title], self.data)

    def _prepare_training(self, title: str) -> PreparedTable:
        said = self.tables[title]
        return prepared({"table": said["table"], "changes": said.get("standalone", {})}, self.data)

    def jobs(self) -> list[Job]:
        toy = self.definition["toy"]
        by_beta = [{"part": "beta", "beta": beta} for beta in toy["betas"]]
        by_samples = [{"part": "samples", "samples": str(n)} for n in toy["samples"]]
        exact = [{"part": "exact", "draw": draw} for draw in ("feasible", "policy")]
        there = tables_with_files((said["table"] for said in self.tables.values()), self.data)
        tables = {title: said for title, said in self.tables.items() if said["table"] in there}
        references = [{"part": "reference", "table": title} for title in tables]
        searches = [
            {"part": "search", "table": title, "seed": seed, "samples": samples}
            for title, said in tables.items()
            for seed in range(said["seeds"])
            for samples in [*map(str, self.definition["searches"]["samples"]), EXACT]
        ]
        return [*by_beta, *by_samples, *exact, *references, *searches]

    def run(self, job: Job) -> list[Row]:
        if job["part"] == "search":
            return [self._search(job)]
        if job["part"] == "reference":
            table = self._searched(job["table"])
            facts = {"what": table.said.what, "limit": table.limit}
            return [facts | self._standalone(job["table"], table.said.reference)]
        reward, options = _toy_reward(job)
        shares = self.toy.shares(self.toy.run(reward, options))
        return [{name: value for name, value in shares.items() if name != "found"}]

    def _search(self, job: Job) -> Row:
        said, table = self.tables[job["table"]], self._searched(job["table"])
        exact = job["samples"] == EXACT
        settings = replace(
            table.search_settings(seed=job["seed"]),
            policy_optimizer=Adam(learning_rate=said["rl_rate"]),
            reward="rejection" if exact else "rejection_monte_carlo",
            # y from the policy as Monte Carlo has it, so that nothing differs but P(V)
            reward_options={"sample_from": "policy"} if exact else {"samples": int(job["samples"])},
        )
        moments = self.definition["searches"]["moments"]
        data = table.feasible, table.training, table.validation
        search = WatchedSearch(*data, settings, moments=moments)
        search.watch()
        found = ending(search)
        return (
            found
            | {name: search.trace[name] for name in ("progress", "p_feasible", "p_estimated")}
            | {
                "policy_updates": search.policy_updates,
                "step_microseconds": search.step_microseconds,
            }
            | self._standalone(job["table"], found["chosen"])
        )

    def _standalone(self, title: str, architecture: str) -> Row:
        table = self._trained(title)
        seeds = range(self.definition["searches"]["trainings"])
        one = Architecture.parse(architecture)
        return {"losses": [table.train(one, seed=seed).loss for seed in seeds]}

    def summarise(self, rows: list[Row]) -> dict[str, Any]:
        def of(part: str, *names: str) -> list[dict[str, Any]]:
            kept = (
                *("success", "infeasible", "p_feasible_mean"),
                *("optimum_probability_mean", "optimum_probability_std"),
            )
            own = [row for row in rows if row["part"] == part]
            return [{name: row[name] for name in (*names, *kept)} for row in own]

        return {
            "toy": {
                "seeds": self.toy.seeds,
                "steps": self.definition["toy"]["steps"],
                "optimum": self.toy.optimum,
                "by_beta": of("beta", "beta"),
                "by_samples": of("samples", "samples"),
                "exact": of("exact", "draw"),
            },
            "tables": {title: self._of_table(title, rows) for title in self._run(rows)},
        }

    def _run(self, rows: list[Row]) -> list[str]:
        """Return the titles of the tables that were there."""
        run = {row["table"] for row in rows if row["part"] == "reference"}
        return [title for title in self.tables if title in run]

    def _of_table(self, title: str, rows: list[Row]) -> dict[str, Any]:
        own = [row for row in rows if row.get("table") == title]
        (reference,) = (row for row in own if row["part"] == "reference")
        by_samples = []
        for samples in [*map(str, self.definition["searches"]["samples"]), EXACT]:
            of = [row for row in own if row.get("samples") == samples]
            losses = np.array([row["losses"] for row in of])
            by_samples.append(
                {
                    "samples": samples,
                    "p_feasible_before": of[0]["p_feasible"][0],
                    "p_feasible_after": [row["p_feasible"][-1] for row in of],
                    "p_estimated_after": [row["p_estimated"][-1] for row in of],
                    "p_feasible_least": min(min(row["p_feasible"]) for row in of),
                    "favourite_feasible": float(np.mean([row["favourite_feasible"] for row in of])),
                    "chosen": [row["chosen"] for row in of],
                    "policy_updates": float(np.mean([row["policy_updates"] for row in of])),
                    "step_microseconds": float(np.median([row["step_microseconds"] for row in of])),
                    "loss": float(losses.mean()),
                    "loss_std": float(losses.mean(axis=1).std()),
                }
            )
        return {
            "what": reference["what"],
            "limit": reference["limit"],
            "epochs": self._epochs(title),
            "reference_loss": float(np.mean(reference["losses"])),
            "by_samples": by_samples,
        }

    def _epochs(self, title: str) -> int:
        said = self.tables[title]
        changed: int = said.get("changes", {}).get("epochs", paper_table(said["table"]).epochs)
        return changed

    def report(self, rows: list[Row], summary: Mapping[str, Any]) -> str:
        run = [self.tables[title]["table"] for title in self._run(rows)]
        absent = describe_absent((said["table"] for said in self.tables.values()), run)
        return report(self.definition, summary, absent)

    def draw(self, rows: list[Row], summary: Mapping[str, Any], out: Path) -> None:
        draw_toy(summary["toy"], out)
        if summary["tables"]:
            draw_searches(rows, summary, out)


def _toy_reward(job: Job) -> tuple[str, dict[str, Any]]:
    if job["part"] == "beta":
        return "abs", {"beta": job["beta"]}
    if job["part"] == "samples":
        return "rejection_monte_carlo", {"samples": int(job["samples"])}
    return "rejection", {"sample_from": job["draw"]}


EXPERIMENT = TuningExperiment
