"""Figure "calibration": one-shot against stand-alone loss, and RL that starts late."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.feasible import FeasibleSet
from tabnas.paper._experiment import Experiment, Job, Row, filter_rows, group_rows, mean, unique
from tabnas.paper._tables import (
    PreparedTable,
    describe_missing_tables,
    find_available_tables,
    get_paper_table,
    prepare_table,
)
from tabnas.paper.experiments.calibration._report import (
    OURS_TITLE,
    SETS,
    plot_late,
    plot_scatter,
    report,
)
from tabnas.paper.experiments.common import (
    FIRST,
    NEVER,
    PARTS,
    SearchProblem,
    compare_runs,
    describe_end,
    filter_by_ground_truth,
    get_scorer,
    half_interval,
    load_problem,
    pearson,
    spearman,
    values_by_run,
)
from tabnas.search import compute_one_shot_losses
from tabnas.space import Architecture, Budget
from tabnas.types import BoolArray, FloatArray

PAPER_LOOP = {
    "child_sampler": "paper",
    "evaluations_per_step": 1,
    "policy_every": 1,
    "baseline": "average",
}
"""Algorithm 1: a child of the complete space, then one evaluation."""
RANKING_KEYS = (
    *(f"{name}_{kind}" for name in SETS for kind in ("pearson", "spearman")),
    "seeds_pearson",
    "lowest_regret",
)


class CalibrationExperiment(Experiment):
    """SuperNets on tables with a ground truth, and on the paper's own table."""

    name = "calibration"

    def jobs(self) -> list[Job]:
        definition = self.definition
        tables = filter_by_ground_truth(definition["tables"])
        ranking, late, sampled = (definition[part] for part in ("ranking", "late", "sampled"))
        jobs = [
            {"part": "ranking", "table": table, "seed": seed, "share": share, **supernet}
            for table in tables
            for supernet in ranking["supernets"]
            for share in ranking["shares"]
            for seed in range(ranking["seeds"])
        ]
        jobs += [
            {"part": "late", "table": table, "share": share, "seed": seed, **reward}
            for table in tables
            for share in late["shares"]
            for seed in range(late["seeds"])
            for reward in late["rewards"]
        ]
        name = sampled["table"]
        if not sampled["architectures"] or not find_available_tables([name], self.data):
            return jobs
        jobs += [
            {"part": "standalone", "table": name, "seed": seed}
            for seed in range(sampled["trainings"])
        ]
        jobs += [
            {"part": "sampled", "table": name, "title": supernet["title"], "seed": seed}
            for supernet in sampled["supernets"]
            for seed in range(sampled["seeds"])
        ]
        return jobs

    def run(self, job: Job) -> list[Row]:
        parts = {
            "ranking": self._run_ranking,
            "late": self._run_late,
            "standalone": self._run_standalone,
            "sampled": self._run_sampled,
        }
        return [parts[job["part"]](job)]

    def _problem(self, job: Job) -> SearchProblem:
        epochs = self.definition["epochs"]
        return load_problem(job["table"], job["share"], self.data, epochs=epochs)

    def _run_ranking(self, job: Job) -> Row:
        problem = self._problem(job)
        truth = problem.truth
        changes = {"child_sampler": job["child_sampler"]}
        changes |= {} if job["rl"] else {"policy_start": NEVER}
        search = problem.search(problem.settings(job["seed"], changes))
        search.run()
        one_shot = compute_one_shot_losses(search, truth.architectures)
        standalone = truth.losses["validation"]
        costs = truth.costs["parameters"]
        near = self.definition["ranking"]["near"] * problem.limit
        # the linear model shares no weights with the others, and no SuperNet trains it
        deep = np.array([bool(network.widths) for network in truth.architectures])
        full = np.array(
            [len(network.widths) == truth.space.depth for network in truth.architectures]
        )
        inside = deep & (costs <= problem.limit)
        sets = {"all": deep, "full": full, "feasible": inside, "near": inside & (costs >= near)}
        lowest = truth.architectures[int(np.where(inside, one_shot, np.inf).argmin())]
        return {
            "limit": problem.limit,
            **_correlate(one_shot, standalone.mean(axis=1), sets),
            **{f"{name}_count": int(members.sum()) for name, members in sets.items()},
            # how well one more training predicts the mean of the others
            "seeds_pearson": pearson(standalone[inside, 0], standalone[inside, 1:].mean(axis=1)),
            "lowest": str(lowest),
            "lowest_regret": problem.scorer.regret(lowest),
            "one_shot": one_shot.round(4).tolist() if job["seed"] == 0 else None,
        }

    def _run_late(self, job: Job) -> Row:
        late = self.definition["late"]
        problem = self._problem(job)
        changes = PAPER_LOOP | {key: late[key] for key in ("policy_start", "rl_learning_rate")}
        changes |= {"reward": job["reward"], "reward_options": job["options"]}
        search = problem.search(problem.settings(job["seed"], changes))
        search.run()
        return {"limit": problem.limit} | describe_end(search)

    def _run_standalone(self, job: Job) -> Row:
        table = prepare_table(job["table"], self.data)
        architectures = self._sample_architectures(table)
        return {
            "losses": [table.train(network, seed=job["seed"]).loss for network in architectures]
        }

    def _run_sampled(self, job: Job) -> Row:
        (supernet,) = filter_rows(self.definition["sampled"]["supernets"], title=job["title"])
        table = prepare_table(job["table"], self.data, supernet["changes"])
        search = table.search(replace(table.search_settings(seed=job["seed"]), policy_start=NEVER))
        search.run()
        losses = compute_one_shot_losses(search, self._sample_architectures(table))
        return {"losses": losses.tolist()}

    def _sample_architectures(self, table: PreparedTable) -> list[Architecture]:
        """Return random architectures of the space, the same every time."""
        everything = FeasibleSet(table.space, Budget())
        return everything.sample(self.definition["sampled"]["architectures"], rng=0)

    def summarize(self, rows: list[Row]) -> dict[str, Any]:
        ranking = filter_rows(rows, part="ranking")
        late = [_add_regrets(row) for row in filter_rows(rows, part="late")]
        tables = unique(ranking, "table")
        return {
            "tables": tables,
            "missing": [name for name in self.definition["tables"] if name not in tables],
            "ranking": _average_seeds(ranking, RANKING_KEYS),
            "late": [
                entry
                | {
                    "most_likely_infeasible": mean(
                        not row["most_likely_feasible"] for row in group
                    ),
                    "interval": half_interval([row[FIRST[0]] for row in group]),
                }
                for entry, group in zip(
                    _average_seeds(late, FIRST), _group_seeds(late).values(), strict=True
                )
            ],
            "late_paired": _compare_late(late),
            "sampled": self._summarize_sampled(rows),
        }

    def _summarize_sampled(self, rows: list[Row]) -> dict[str, Any] | None:
        standalone = np.array([row["losses"] for row in filter_rows(rows, part="standalone")])
        if not len(standalone):
            return None
        sampled = self.definition["sampled"]
        losses = standalone.mean(axis=0)
        everything: BoolArray = np.ones(len(losses), np.bool_)
        supernets = []
        for title in unique(sampled["supernets"], "title"):
            seeds = filter_rows(rows, part="sampled", title=title)
            correlations = [
                _correlate(np.array(row["losses"]), losses, {"all": everything}) for row in seeds
            ]
            means = {
                name: mean(by_seed[name] for by_seed in correlations) for name in correlations[0]
            }
            supernets.append({"title": title, "seeds": len(seeds)} | means)
        return {
            "table": sampled["table"],
            "description": get_paper_table(sampled["table"]).description,
            "architectures": len(losses),
            "trainings": len(standalone),
            "seeds_pearson": pearson(standalone[0], standalone[1:].mean(axis=0))
            if len(standalone) > 1
            else None,
            "supernets": supernets,
        }

    def report(self, rows: list[Row], summary: Mapping[str, Any]) -> str:
        sampled = self.definition["sampled"]
        available = unique(filter_rows(rows, part="sampled"), "table")
        names = [sampled["table"]] if sampled["architectures"] else []
        return report(self.definition, summary, describe_missing_tables(names, available))

    def plot(self, rows: list[Row], summary: Mapping[str, Any], out: Path) -> None:
        plot_scatter(self.definition, rows, summary, out)
        plot_late(self.definition, summary, out)


def _add_regrets(row: Row) -> Row:
    """Add the regrets of what Algorithm 3 selects, for which nothing is trained stand-alone."""
    scorer, selected = get_scorer(row["table"], row["limit"]), Architecture.parse(row["selected"])
    regrets = (scorer.regret(selected, part) for part in PARTS.values())
    return row | dict(zip(FIRST, regrets, strict=True))


def _compare_late(rows: list[Row]) -> list[dict[str, Any]]:
    """Compare exact rejection with every other reward, on the same tables and seeds."""
    groups = group_rows(rows, "title")
    ours = groups.pop(OURS_TITLE)
    return [
        {"title": title}
        | {
            name: compare_runs(values_by_run(ours, name), values_by_run(group, name))
            for name in FIRST
        }
        for title, group in groups.items()
    ]


def _correlate(
    one_shot: FloatArray, standalone: FloatArray, sets: Mapping[str, BoolArray]
) -> dict[str, float]:
    correlations = {}
    for name, members in sets.items():
        x, y = (losses[members & np.isfinite(one_shot)] for losses in (one_shot, standalone))
        correlations[f"{name}_pearson"] = pearson(x, y)
        correlations[f"{name}_spearman"] = spearman(x, y)
    return correlations


def _group_seeds(rows: list[Row]) -> dict[Any, list[Row]]:
    return group_rows(rows, "table", "share", "limit", "title")


def _average_seeds(rows: list[Row], names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the means over seeds of all rows that differ in nothing else."""
    return [
        dict(zip(("table", "share", "limit", "title"), key, strict=True))
        | {"seeds": len(group)}
        | {name: mean(row[name] for row in group) for name in names}
        for key, group in _group_seeds(rows).items()
    ]


EXPERIMENT = CalibrationExperiment
