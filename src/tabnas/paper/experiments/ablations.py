"""Ablations: what each part of a search is worth, with the ground truth as the judge."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.paper._experiment import Experiment, Job, Row
from tabnas.paper.experiments._ablated_search import AblatedSearch
from tabnas.paper.experiments._ablations_shown import (
    FIRST,
    RETURNED,
    UNCHANGED,
    ablations_text,
    draw_ablations,
)
from tabnas.paper.experiments._judged import Judged, JudgedTable
from tabnas.paper.experiments._paired import compared, described, holm
from tabnas.paper.experiments._there import tables_with_ground_truth
from tabnas.paper.experiments._verdicts import by_run, judged_rows
from tabnas.search import SELECTIONS


class Ablations(Experiment):
    """Every base and every variant of it, on every table, limit and seed of the base."""

    name = "ablations"

    def __init__(self, definition: Mapping[str, Any], data: Path | None = None) -> None:
        super().__init__(definition, data)
        self._table = lru_cache(maxsize=1)(lambda name: JudgedTable(name, self.data))
        self._judged = lru_cache(maxsize=4)(self._limited)
        self.variants: dict[tuple[str, str, str], Mapping[str, Any]] = {}
        for base, said in definition["bases"].items():
            self.variants[base, "", UNCHANGED] = {}
            self.variants |= {
                (base, one["question"], one["title"]): one
                for one in definition["variants"]
                if one["base"] == base and one["question"] in said["questions"]
            }

    def jobs(self) -> list[Job]:
        bases = self.definition["bases"]
        return [
            {
                "base": base,
                "question": question,
                "variant": title,
                "table": table,
                "share": share,
                "seed": seed,
            }
            for base, said in bases.items()
            for table in tables_with_ground_truth(said)
            for share in said["shares"]
            for seed in range(said["seeds"])
            for of, question, title in self.variants
            if of == base
        ]

    def run(self, job: Job) -> list[Row]:
        base = self.definition["bases"][job["base"]]
        variant = self.variants[job["base"], job["question"], job["variant"]]
        judged = self._judged(job["table"], job["share"])
        settings = judged.settings(job["seed"], base["changes"] | variant.get("changes", {}))
        search = AblatedSearch(judged, settings, moments=self.definition["moments"])
        search.run(average_of_all=variant.get("average_of_all", False))
        all_of_them = job["variant"] == UNCHANGED and "selection" in base["questions"]
        others = [one for one in SELECTIONS if one != base["selection"]] if all_of_them else []
        return search.rows([base["selection"], *others], job["seed"])

    def _limited(self, table: str, share: float) -> Judged:
        found: JudgedTable = self._table(table)
        return found.limited(share, epochs=self.definition["epochs"])

    # --- what the rows say ------------------------------------------------------------------------

    def summarise(self, rows: list[Row]) -> dict[str, Any]:
        return {
            base: {
                "tables": list(dict.fromkeys(row["table"] for row in rows if row["base"] == base)),
                "limits_kept_by": said["shares"],
                "seeds": said["seeds"],
                "variants": self._compared([row for row in rows if row["base"] == base], base),
            }
            for base, said in self.definition["bases"].items()
        }

    def _compared(self, rows: list[Row], base: str) -> list[dict[str, Any]]:
        """Each variant, the base first, then the base with other rules of selection."""
        own = self.definition["bases"][base]["selection"]
        groups: dict[tuple[str, str], list[Row]] = {}
        for row in judged_rows(rows):
            question, title = row["question"], row["variant"]
            if row["selection"] != own:
                question, title = "selection", row["selection"].replace("_", " ")
            groups.setdefault((question, title), []).append(row)
        first = groups["", UNCHANGED]
        found: list[dict[str, Any]] = []
        for (question, title), group in groups.items():
            # what comes first is a matter of selection alone
            names = [*FIRST, *RETURNED] if question in ("", "selection") else RETURNED
            said = {name: described(by_run(group, name)) for name in names}
            more = {
                f"{name}_more": compared(by_run(group, name), by_run(first, name)) for name in names
            }
            found.append(
                {
                    "question": question,
                    "title": title,
                    "paper": self._paper_says(base, question, title),
                    **said,
                    **more,
                    "looks": float(np.mean([row["looks"] for row in group])),
                    "seconds": float(np.mean([row["seconds"] for row in group])),
                    "p_feasible": np.mean([row["p_feasible"] for row in group], axis=0).tolist(),
                }
            )
        for name in (*FIRST, *RETURNED):
            holm([one[f"{name}_more"] for one in found[1:] if f"{name}_more" in one])
        return found

    def _paper_says(self, base: str, question: str, title: str) -> str:
        if base == "paper" and (question, title) == ("selection", "most likely"):
            return "worse"
        said: str = self.variants.get((base, question, title), {}).get("paper", "")
        return said

    def report(self, rows: list[Row], summary: Mapping[str, Any]) -> str:
        return ablations_text(self._titles, summary)

    def draw(self, rows: list[Row], summary: Mapping[str, Any], out: Path) -> None:
        draw_ablations(self._titles, summary, out)

    @property
    def _titles(self) -> dict[str, str]:
        return {base: said["title"] for base, said in self.definition["bases"].items()}


EXPERIMENT = Ablations
