"""Ablations: the effect of each part of a search, evaluated by the ground truth."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.paper._experiment import Experiment, Job, Row, filter_rows, group_rows, mean, unique
from tabnas.paper.experiments.ablations._report import UNCHANGED, plot_ablations, report
from tabnas.paper.experiments.ablations._search import AblationSearch
from tabnas.paper.experiments.common import (
    FIRST,
    REGRETS,
    add_regrets,
    compare_groups,
    filter_by_ground_truth,
    load_problem,
    summarize_runs,
    values_by_run,
)
from tabnas.search import SELECTIONS


class AblationsExperiment(Experiment):
    """Every base and every variant of it, on every table, limit and seed of the base."""

    name = "ablations"

    def __init__(self, definition: Mapping[str, Any], data: Path | None = None) -> None:
        super().__init__(definition, data)
        self.bases: Mapping[str, Any] = definition["bases"]
        self.variants: dict[tuple[str, str, str], Mapping[str, Any]] = {}
        for name, base in self.bases.items():
            self.variants[name, "", UNCHANGED] = {}
            for variant in filter_rows(definition["variants"], base=name):
                if variant["question"] in base["questions"]:
                    self.variants[name, variant["question"], variant["title"]] = variant

    def jobs(self) -> list[Job]:
        return [
            {
                "base": name,
                "question": question,
                "variant": title,
                "table": table,
                "share": share,
                "seed": seed,
            }
            for name, base in self.bases.items()
            for table in filter_by_ground_truth(base["tables"])
            for share in base["shares"]
            for seed in range(base["seeds"])
            for variant_of, question, title in self.variants
            if variant_of == name
        ]

    def run(self, job: Job) -> list[Row]:
        base = self.bases[job["base"]]
        variant = self.variants[job["base"], job["question"], job["variant"]]
        epochs = self.definition["epochs"]
        problem = load_problem(job["table"], job["share"], self.data, epochs=epochs)
        settings = problem.settings(job["seed"], base["changes"] | variant.get("changes", {}))
        search = AblationSearch(problem, settings, snapshots=self.definition["snapshots"])
        search.run(infeasible_in_baseline=variant.get("infeasible_in_baseline", False))
        selections = [base["selection"]]
        if job["variant"] == UNCHANGED and "selection" in base["questions"]:
            selections += [name for name in SELECTIONS if name != base["selection"]]
        return search.rows(selections, job["seed"])

    def summarize(self, rows: list[Row]) -> dict[str, Any]:
        return {
            name: {
                "tables": unique(filter_rows(rows, base=name), "table"),
                "shares_within_limit": base["shares"],
                "seeds": base["seeds"],
                "variants": self._summarize_variants(filter_rows(rows, base=name), name),
            }
            for name, base in self.bases.items()
        }

    def _summarize_variants(self, rows: list[Row], base: str) -> list[dict[str, Any]]:
        """Summarize each variant: the base first, then the base with other selection rules."""
        selection = self.bases[base]["selection"]
        named = []
        for row in add_regrets(rows):
            question, title = row["question"], row["variant"]
            if row["selection"] != selection:
                question, title = "selection", row["selection"].replace("_", " ")
            if question not in ("", "selection"):  # others do not change which candidate is first
                row = {key: value for key, value in row.items() if key not in FIRST}
            named.append(row | {"question": question, "title": title})
        groups = group_rows(named, "question", "title")
        differences = compare_groups(groups, ("", UNCHANGED))
        return [
            {
                "question": question,
                "title": title,
                "paper": self._paper_says(base, question, title),
                **{
                    name: summarize_runs(values_by_run(group, name))
                    for name in REGRETS
                    if name in group[0]
                },
                **differences[question, title],
                "evaluations": mean(row["evaluations"] for row in group),
                "seconds": mean(row["seconds"] for row in group),
                "p_feasible": np.mean([row["p_feasible"] for row in group], axis=0).tolist(),
            }
            for (question, title), group in groups.items()
        ]

    def _paper_says(self, base: str, question: str, title: str) -> str:
        if (base, question, title) == ("paper", "selection", "most likely"):
            return "worse"
        verdict: str = self.variants.get((base, question, title), {}).get("paper", "")
        return verdict

    def report(self, rows: list[Row], summary: Mapping[str, Any]) -> str:
        return report(self._titles, summary)

    def plot(self, rows: list[Row], summary: Mapping[str, Any], out: Path) -> None:
        plot_ablations(self._titles, summary, out)

    @property
    def _titles(self) -> dict[str, str]:
        return {name: base["title"] for name, base in self.bases.items()}


EXPERIMENT = AblationsExperiment
