"""Figure "tuning": the success of searches by beta of Abs, and by N of rejection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.paper._experiment import Experiment, Job, Row, filter_rows, mean, read_definition
from tabnas.paper._tables import (
    PreparedTable,
    describe_missing_tables,
    find_available_tables,
    get_paper_table,
    prepare_table,
)
from tabnas.paper.experiments.common import TracedSearch, describe_end
from tabnas.paper.experiments.toy._problem import Toy
from tabnas.paper.experiments.tuning._report import EXACT, plot_searches, plot_toy, report
from tabnas.policy import Adam
from tabnas.space import Architecture


class TuningExperiment(Experiment):
    """Hundreds of seeds on the toy problem, and searches on real tables."""

    name = "tuning"

    def __init__(self, definition: Mapping[str, Any], data: Path | None = None) -> None:
        super().__init__(definition, data)
        toy = definition["toy"]
        problem = read_definition("toy", quick=False) | {"steps": toy["steps"]}
        self.toy = Toy(problem, seeds=toy["seeds"])
        self.tables = {table["title"]: table for table in definition["tables"]}
        self.samples = [*map(str, definition["searches"]["samples"]), EXACT]

    def _search_table(self, title: str) -> PreparedTable:
        table = self.tables[title]
        return prepare_table(table["table"], self.data, table.get("changes"))

    def jobs(self) -> list[Job]:
        toy = self.definition["toy"]
        by_beta = [{"part": "beta", "beta": beta} for beta in toy["betas"]]
        by_samples = [{"part": "samples", "samples": str(n)} for n in toy["samples"]]
        exact = [{"part": "exact", "sample_from": where} for where in ("feasible", "policy")]
        available = find_available_tables(
            (table["table"] for table in self.tables.values()), self.data
        )
        tables = {
            title: table for title, table in self.tables.items() if table["table"] in available
        }
        references = [{"part": "reference", "table": title} for title in tables]
        searches = [
            {"part": "search", "table": title, "seed": seed, "samples": samples}
            for title, table in tables.items()
            for seed in range(table["seeds"])
            for samples in self.samples
        ]
        return [*by_beta, *by_samples, *exact, *references, *searches]

    def run(self, job: Job) -> list[Row]:
        if job["part"] == "search":
            return [self._search(job)]
        if job["part"] == "reference":
            table = self._search_table(job["table"])
            losses = self._train(job["table"], table.config.reference)
            return [
                {"description": table.config.description, "limit": table.limit, "losses": losses}
            ]
        reward, options = _toy_reward(job)
        shares = self.toy.summarize(self.toy.run(reward, options))
        return [{name: value for name, value in shares.items() if name != "found"}]

    def _search(self, job: Job) -> Row:
        table = self._search_table(job["table"])
        exact = job["samples"] == EXACT
        learning_rate = self.tables[job["table"]]["rl_learning_rate"]
        settings = replace(
            table.search_settings(seed=job["seed"]),
            policy_optimizer=Adam(learning_rate=learning_rate),
            reward="rejection" if exact else "rejection_monte_carlo",
            # sampled from the policy, as with Monte Carlo, so that only P(V) differs
            reward_options={"sample_from": "policy"} if exact else {"samples": int(job["samples"])},
        )
        snapshots = self.definition["searches"]["snapshots"]
        data = table.feasible, table.training, table.validation
        search = TracedSearch(*data, settings, snapshots=snapshots)
        search.run_traced()
        end = describe_end(search)
        return {
            **end,
            **{name: search.trace[name] for name in ("progress", "p_feasible", "p_estimated")},
            "policy_updates": search.policy_updates,
            "step_microseconds": search.step_microseconds,
            "losses": self._train(job["table"], end["selected"]),
        }

    def _train(self, title: str, architecture: str) -> list[float]:
        table = self.tables[title]
        prepared = prepare_table(table["table"], self.data, table.get("standalone"))
        trainings = self.definition["searches"]["trainings"]
        return prepared.losses(Architecture.parse(architecture), trainings)

    def summarize(self, rows: list[Row]) -> dict[str, Any]:
        keys = (
            *("success", "infeasible", "p_feasible_mean"),
            *("optimum_probability_mean", "optimum_probability_std"),
        )

        def summarize_toy(part: str, setting: str) -> list[dict[str, Any]]:
            part_rows = filter_rows(rows, part=part)
            return [{name: row[name] for name in (setting, *keys)} for row in part_rows]

        return {
            "toy": {
                "seeds": self.toy.seeds,
                "steps": self.definition["toy"]["steps"],
                "optimum": self.toy.optimum,
                "by_beta": summarize_toy("beta", "beta"),
                "by_samples": summarize_toy("samples", "samples"),
                "exact": summarize_toy("exact", "sample_from"),
            },
            "tables": {
                title: self._summarize_table(title, filter_rows(rows, table=title))
                for title in self.tables
                if filter_rows(rows, part="reference", table=title)
            },
        }

    def _summarize_table(self, title: str, rows: list[Row]) -> dict[str, Any]:
        (reference,) = filter_rows(rows, part="reference")
        table = self.tables[title]
        epochs = table.get("changes", {}).get("epochs", get_paper_table(table["table"]).epochs)
        by_samples = []
        for samples in self.samples:
            searches = filter_rows(rows, samples=samples)
            losses = np.array([row["losses"] for row in searches])
            steps = [row["step_microseconds"] for row in searches]
            by_samples.append(
                {
                    "samples": samples,
                    "p_feasible_before": searches[0]["p_feasible"][0],
                    "p_feasible_after": [row["p_feasible"][-1] for row in searches],
                    "p_estimated_after": [row["p_estimated"][-1] for row in searches],
                    "p_feasible_min": min(min(row["p_feasible"]) for row in searches),
                    "most_likely_feasible": mean(row["most_likely_feasible"] for row in searches),
                    "selected": [row["selected"] for row in searches],
                    "policy_updates": mean(row["policy_updates"] for row in searches),
                    "step_microseconds": float(np.median(steps)),
                    "loss": float(losses.mean()),
                    "loss_std": float(losses.mean(axis=1).std()),
                }
            )
        return {
            "description": reference["description"],
            "limit": reference["limit"],
            "epochs": epochs,
            "reference_loss": mean(reference["losses"]),
            "by_samples": by_samples,
        }

    def report(self, rows: list[Row], summary: Mapping[str, Any]) -> str:
        available = [self.tables[title]["table"] for title in summary["tables"]]
        names = (table["table"] for table in self.tables.values())
        return report(self.definition, summary, describe_missing_tables(names, available))

    def plot(self, rows: list[Row], summary: Mapping[str, Any], out: Path) -> None:
        plot_toy(summary["toy"], out)
        if summary["tables"]:
            plot_searches(rows, summary, out)


def _toy_reward(job: Job) -> tuple[str, dict[str, Any]]:
    if job["part"] == "beta":
        return "abs", {"beta": job["beta"]}
    if job["part"] == "samples":
        return "rejection_monte_carlo", {"samples": int(job["samples"])}
    return "rejection", {"sample_from": job["sample_from"]}


EXPERIMENT = TuningExperiment
