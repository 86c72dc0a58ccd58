"""Figure "calibration": one-shot against stand-alone loss, and what a late start of RL makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.feasible import FeasibleSet
from tabnas.paper._experiment import Experiment, Job, Row
from tabnas.paper._tables import PreparedTable, paper_table
from tabnas.paper.experiments._agreement import pearson, spearman
from tabnas.paper.experiments._calibration_shown import (
    OURS_TITLE,
    SETS,
    draw_late,
    draw_scatter,
    report,
)
from tabnas.paper.experiments._judged import NEVER, JudgedTable
from tabnas.paper.experiments._paired import compared, interval_of
from tabnas.paper.experiments._there import (
    describe_absent,
    tables_with_files,
    tables_with_ground_truth,
)
from tabnas.paper.experiments._verdicts import PARTS, by_run, judge
from tabnas.paper.experiments._watched_search import ending, prepared
from tabnas.search import Search, compute_one_shot_losses
from tabnas.space import Architecture, Budget
from tabnas.types import BoolArray, FloatArray

PAPER_LOOP = {
    "child_sampler": "paper",
    "evaluations_per_step": 1,
    "policy_every": 1,
    "baseline": "average",
}
"""A child of the whole space, then one look, as Algorithm 1 has them."""


class CalibrationExperiment(Experiment):
    """SuperNets on tables with a ground truth, and on the paper's own."""

    name = "calibration"

    def __init__(self, definition: Mapping[str, Any], data: Path | None = None) -> None:
        super().__init__(definition, data)
        self._judged = cache(lambda name: JudgedTable(name, self.data))
        self._sampled = cache(self._prepare)

    def _prepare(self, title: str) -> PreparedTable:
        said = self.definition["sampled"]
        (own,) = (one for one in said["supernets"] if one["title"] == title)
        return prepared({"table": said["table"], "changes": own["changes"]}, self.data)

    def jobs(self) -> list[Job]:
        said = self.definition
        tables = tables_with_ground_truth(said)
        ranking = [
            {"part": "ranking", "table": table, "seed": seed, "share": share, **supernet}
            for table in tables
            for supernet in said["ranking"]["supernets"]
            for share in said["ranking"]["shares"]
            for seed in range(said["ranking"]["seeds"])
        ]
        late = [
            {"part": "late", "table": table, "share": share, "seed": seed, **reward}
            for table in tables
            for share in said["late"]["shares"]
            for seed in range(said["late"]["seeds"])
            for reward in said["late"]["rewards"]
        ]
        sampled = said["sampled"]
        if not sampled["architectures"] or not tables_with_files([sampled["table"]], self.data):
            return [*ranking, *late]
        alone = [
            {"part": "alone", "table": sampled["table"], "seed": seed}
            for seed in range(sampled["trainings"])
        ]
        one_shot = [
            {"part": "sampled", "table": sampled["table"], "title": one["title"], "seed": seed}
            for one in sampled["supernets"]
            for seed in range(sampled["seeds"])
        ]
        return [*ranking, *late, *alone, *one_shot]

    def run(self, job: Job) -> list[Row]:
        made = {
            "ranking": self._ranking,
            "late": self._late,
            "alone": self._alone,
            "sampled": self._one_shot,
        }
        return [made[job["part"]](job)]

    def _ranking(self, job: Job) -> Row:
        table = self._judged(job["table"])
        judged = table.limited(job["share"], epochs=self.definition["epochs"])
        truth = judged.truth
        changes = {"child_sampler": job["children"]} | (
            {} if job["rl"] else {"policy_start": NEVER}
        )
        search = judged.search(judged.settings(job["seed"], changes))
        search.run()
        one_shot = compute_one_shot_losses(search, truth.architectures)
        alone = truth.losses["validation"]
        costs = truth.costs["parameters"]
        near = self.definition["ranking"]["near"] * judged.limit
        # the linear model shares nothing with the others, and no SuperNet trains it
        deep = np.array([bool(one.widths) for one in truth.architectures])
        full = np.array([len(one.widths) == truth.space.depth for one in truth.architectures])
        inside = deep & (costs <= judged.limit)
        sets = {"all": deep, "full": full, "feasible": inside, "near": inside & (costs >= near)}
        lowest = int(np.where(inside, one_shot, np.inf).argmin())
        return {
            "limit": judged.limit,
            **_agreements(one_shot, alone.mean(axis=1), sets),
            **{f"{name}_count": int(members.sum()) for name, members in sets.items()},
            # what one training more would foretell of the mean of the others
            "seeds_pearson": pearson(alone[inside, 0], alone[inside, 1:].mean(axis=1)),
            "lowest": str(truth.architectures[lowest]),
            "lowest_regret": judged.judge.regret(truth.architectures[lowest]),
            "one_shot": one_shot.round(4).tolist() if job["seed"] == 0 else None,
        }

    def _late(self, job: Job) -> Row:
        said = self.definition["late"]
        judged = self._judged(job["table"]).limited(job["share"], epochs=self.definition["epochs"])
        changes = PAPER_LOOP | {"policy_start": said["policy_start"], "rl_rate": said["rate"]}
        changes |= {"reward": job["reward"], "reward_options": job["options"]}
        search = judged.search(judged.settings(job["seed"], changes))
        search.run()
        return {"limit": judged.limit} | ending(search)

    def _alone(self, job: Job) -> Row:
        table = prepared({"table": job["table"]}, self.data)
        trained = [table.train(one, seed=job["seed"]) for one in self._architectures(table)]
        return {"losses": [one.loss for one in trained]}

    def _one_shot(self, job: Job) -> Row:
        table = self._sampled(job["title"])
        settings = replace(table.search_settings(seed=job["seed"]), policy_start=NEVER)
        search = Search(table.feasible, table.training, table.validation, settings)
        search.run()
        return {"losses": compute_one_shot_losses(search, self._architectures(table)).tolist()}

    def _architectures(self, table: PreparedTable) -> list[Architecture]:
        """Some of the whole space, the same every time."""
        everything = FeasibleSet(table.space, Budget())
        return everything.sample(self.definition["sampled"]["architectures"], rng=0)

    def summarise(self, rows: list[Row]) -> dict[str, Any]:
        there = list(dict.fromkeys(row["table"] for row in rows if row["part"] == "ranking"))
        late = [_late_regrets(row) for row in rows if row["part"] == "late"]
        summary: dict[str, Any] = {
            "tables": there,
            "waiting": [name for name in self.definition["tables"] if name not in there],
            "ranking": _grouped(rows, "ranking", _RANKED),
            "late": _grouped(late, "late", _LATE),
            "late_paired": _late_paired(late),
        }
        for entry in summary["late"]:
            own = _members(late, "late", entry)
            entry["favourite_infeasible"] = _mean([not row["favourite_feasible"] for row in own])
            entry["interval"] = interval_of([row[_LATE[0]] for row in own])
        summary["sampled"] = self._sampled_summary(rows)
        return summary

    def _sampled_summary(self, rows: list[Row]) -> dict[str, Any] | None:
        alone = np.array([row["losses"] for row in rows if row["part"] == "alone"])
        if not len(alone):
            return None
        said = self.definition["sampled"]
        mean = alone.mean(axis=0)
        every: BoolArray = np.ones(len(mean), np.bool_)
        entries = []
        for one in said["supernets"]:
            own = [r for r in rows if r["part"] == "sampled" and r["title"] == one["title"]]
            found = [_agreements(np.array(row["losses"]), mean, {"all": every}) for row in own]
            entries.append(
                {"title": one["title"], "seeds": len(own)}
                | {name: _mean([each[name] for each in found]) for name in found[0]}
            )
        return {
            "table": said["table"],
            "what": paper_table(said["table"]).what,
            "architectures": len(mean),
            "trainings": len(alone),
            "seeds_pearson": pearson(alone[0], alone[1:].mean(axis=0)) if len(alone) > 1 else None,
            "supernets": entries,
        }

    def report(self, rows: list[Row], summary: Mapping[str, Any]) -> str:
        sampled = self.definition["sampled"]
        run = [row["table"] for row in rows if row["part"] == "sampled"]
        absent = describe_absent([sampled["table"]] if sampled["architectures"] else [], run)
        return report(self.definition, summary, absent)

    def draw(self, rows: list[Row], summary: Mapping[str, Any], out: Path) -> None:
        draw_scatter(self.definition, rows, summary, out)
        draw_late(self.definition, summary, out)


_RANKED = (
    *(f"{name}_{kind}" for name in SETS for kind in ("pearson", "spearman")),
    "seeds_pearson",
    "lowest_regret",
)
_LATE = ("regret_of_first", "test_regret_of_first")
_GROUP = ("table", "share", "limit", "title")


def _late_regrets(row: Row) -> Row:
    """Of what Algorithm 3 makes of a search; nothing is trained alone to choose it."""
    own, chosen = judge(row["table"], row["limit"]), Architecture.parse(row["chosen"])
    return row | dict(
        zip(_LATE, (own.regret(chosen, part) for part in PARTS.values()), strict=True)
    )


def _late_paired(rows: list[Row]) -> list[dict[str, Any]]:
    """Exact rejection against every other reward, on the same tables and seeds."""
    titles = dict.fromkeys(row["title"] for row in rows)
    groups = {title: [row for row in rows if row["title"] == title] for title in titles}
    return [
        {"title": title}
        | {name: compared(by_run(groups[OURS_TITLE], name), by_run(own, name)) for name in _LATE}
        for title, own in groups.items()
        if title != OURS_TITLE
    ]


def _agreements(
    one_shot: FloatArray, alone: FloatArray, sets: Mapping[str, BoolArray]
) -> dict[str, float]:
    finite = np.isfinite(one_shot)
    found = {}
    for name, members in sets.items():
        own = members & finite
        found[f"{name}_pearson"] = pearson(one_shot[own], alone[own])
        found[f"{name}_spearman"] = spearman(one_shot[own], alone[own])
    return found


def _grouped(rows: list[Row], part: str, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """The means over seeds of all rows that differ in nothing else."""
    groups = {tuple(row[key] for key in _GROUP): row for row in rows if row["part"] == part}
    entries = []
    for group in groups:
        entry = dict(zip(_GROUP, group, strict=True))
        own = _members(rows, part, entry)
        entry["seeds"] = len(own)
        entry |= {name: _mean([row[name] for row in own]) for name in names}
        entries.append(entry)
    return entries


def _members(rows: list[Row], part: str, entry: Mapping[str, Any]) -> list[Row]:
    own = [row for row in rows if row["part"] == part]
    return [row for row in own if all(row[key] == entry[key] for key in _GROUP)]


def _mean(values: list[Any]) -> float:
    return float(np.mean(values))


EXPERIMENT = CalibrationExperiment
