"""NATS-Bench's size space: the paper's two tables, and how near strategies come to the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from tabnas.paper._experiment import Experiment, Job, Row, filter_rows, mean
from tabnas.paper._table_files import find_file
from tabnas.paper.experiments.common import half_interval
from tabnas.paper.experiments.nats._figures import plot_gaps, plot_tables
from tabnas.paper.experiments.nats._policies import run_policies
from tabnas.paper.experiments.nats._report import OURS, report
from tabnas.paper.experiments.nats._space import NatsFile, NatsSpace
from tabnas.strategies import STRATEGIES, PolicyGradient, Strategy, optimize
from tabnas.streams import stream
from tabnas.types import FloatArray, IntArray


class NatsExperiment(Experiment):
    """Accuracies and the best network are known, so hundreds of searches are affordable."""

    name = "nats"

    def __init__(self, definition: Mapping[str, Any], data: Path | None = None) -> None:
        super().__init__(definition, data)
        self.files = {file["name"]: NatsFile(**file) for file in definition["files"]}
        self.space = cache(self._read)

    def _read(self, name: str) -> NatsSpace:
        return self.files[name].read(self.data, self.definition["limit"])

    def jobs(self) -> list[Job]:
        per_job = self.definition["seeds_per_job"]
        searches = [
            {"part": part, "title": strategy["title"], "noise": noise, "first": first}
            for part in ("strategies", "variants")
            for strategy in self.definition[part]
            for noise in self._noises(part)
            for first in range(0, self._seeds(part, strategy), per_job)
        ]
        available = [name for name, file in self.files.items() if find_file(file.file, self.data)]
        return [*searches, *(job for name in available for job in self._table_jobs(name))]

    def _table_jobs(self, name: str) -> list[Job]:
        tables = self.definition["tables"]
        samples = tables["samples"]
        rewards: list[Job] = [
            {
                "title": f"rejection, N = {samples}",
                "reward": "rejection_monte_carlo",
                "options": {"samples": samples},
            },
            {"title": "rejection, exact", "reward": "rejection", "options": {}},
            *(
                {"title": f"Abs, beta = {beta:g}", "reward": "abs", "options": {"beta": beta}}
                for beta in tables["betas"]
            ),
        ]
        return [
            {"part": "tables", "file": name, "rl_learning_rate": rate, **reward}
            for reward in rewards
            for rate in tables["rl_learning_rates"]
        ]

    def _noises(self, part: str) -> list[float]:
        """Return the noises of a part; variants have only those of the aims."""
        aims = {aim["noise"] for aim in self.definition["aims"]}
        noises = self.definition["noises"]
        return [noise for noise in noises if part == "strategies" or noise in aims]

    def _seeds(self, part: str, strategy: Mapping[str, Any]) -> int:
        return int(self.definition["seeds"][strategy.get("seeds", part)])

    def run(self, job: Job) -> list[Row]:
        if job["part"] == "tables":
            return self._run_policies(job)
        (strategy,) = filter_rows(self.definition[job["part"]], title=job["title"])
        last = job["first"] + self.definition["seeds_per_job"]
        return [
            row
            for seed in range(job["first"], min(last, self._seeds(job["part"], strategy)))
            for row in self._search(strategy, job["noise"], seed)
        ]

    def _run_policies(self, job: Job) -> list[Row]:
        nats = self.space(job["file"])
        return [
            {
                "selection": selection,
                "mflops": nats.mflops(ends).round(3).tolist(),
                "error": (1 - nats.accuracy(ends) / 100).round(5).tolist(),
                "share_over": float(1 - nats.feasible.contains(ends).mean()),
            }
            for selection, ends in run_policies(nats, job, self.definition["tables"]).items()
        ]

    def _search(self, definition: Mapping[str, Any], noise: float, seed: int) -> list[Row]:
        """Return what one search with a strategy recommends, by number of evaluations."""
        nats = self.space(self.definition["compared_on"])
        start = process_time()
        stream_name = definition.get("stream", definition["title"])
        strategy = STRATEGIES[definition.get("strategy", "guided")](
            nats.feasible, rng=stream(seed, stream_name), **dict(definition.get("options", {}))
        )
        noises = stream(seed, f"noise of {stream_name}")

        def quality(choices: IntArray) -> FloatArray:
            exact = nats.quality(choices)
            return exact + noise / 100 * noises.normal(size=exact.shape)

        rows = []
        for evaluations in self.definition["evaluations"]:
            optimize(strategy, quality, evaluations)
            [network] = strategy.recommend()
            choices = np.array(nats.space.choices(network))
            # the answer of a penalty itself is the most likely of all architectures
            is_penalty = definition.get("penalty", False)
            answer = _find_most_likely_of_all(strategy) if is_penalty else choices
            rows.append(
                {
                    "seed": seed,
                    "evaluations": evaluations,
                    "found": str(network),
                    "gap": round(float(nats.gap(choices)), 4),
                    "over": not nats.feasible.contains(answer),
                    "seconds": process_time() - start,
                }
            )
        return rows

    def summarize(self, rows: list[Row]) -> dict[str, Any]:
        nats = self.space(self.definition["compared_on"])
        choices = np.array(nats.space.choices(nats.best))
        gaps = {
            part: [
                _summarize_gaps(
                    filter_rows(rows, part=part),
                    title=strategy["title"],
                    noise=noise,
                    evaluations=evaluations,
                )
                for strategy in self.definition[part]
                for noise in self._noises(part)
                for evaluations in self.definition["evaluations"]
            ]
            for part in ("strategies", "variants")
        }
        return {
            "feasible": nats.feasible.count(),
            "best": {"architecture": str(nats.best), "accuracy": float(nats.accuracy(choices))},
            "targets": [_check_aim(aim, gaps["strategies"]) for aim in self.definition["aims"]],
            **gaps,
            "tables": [_summarize_policies(row) for row in filter_rows(rows, part="tables")],
        }

    def report(self, rows: list[Row], summary: Mapping[str, Any]) -> str:
        return report(self.definition, summary)

    def plot(self, rows: list[Row], summary: Mapping[str, Any], out: Path) -> None:
        plot_gaps(self.definition, summary, out)
        plot_tables(self.definition, summary, out)


def _find_most_likely_of_all(strategy: Strategy) -> IntArray:
    assert isinstance(strategy, PolicyGradient), "only policies have a most likely architecture"
    return np.asarray(strategy.controller.policy.log_p.argmax(axis=-1))


def _check_aim(aim: Mapping[str, Any], gaps: Sequence[dict[str, Any]]) -> dict[str, Any]:
    [ours] = filter_rows(gaps, title=OURS, evaluations=aim["evaluations"], noise=aim["noise"])
    values = {key: ours[key] for key in ("gap", "interval", "seeds", "over")}
    return {**aim, **values, "met": ours["gap"] <= aim["aim"]}


def _summarize_gaps(rows: list[Row], **setting: Any) -> dict[str, Any]:
    """Summarize all seeds of one setting."""
    rows = filter_rows(rows, **setting)
    gaps = np.array([row["gap"] for row in rows])
    return {
        **setting,
        "seeds": len(rows),
        "gap": float(gaps.mean()),
        "interval": half_interval(gaps),
        "over": mean(row["over"] for row in rows),
        "best_found": float((gaps == 0).mean()),
        "seconds": float(np.median([row["seconds"] for row in rows])),
    }


def _summarize_policies(row: Row) -> dict[str, Any]:
    keys = ("file", "title", "rl_learning_rate", "selection", "share_over")
    return {key: row[key] for key in keys} | {
        name: {
            "mean": float(np.mean(row[name])),
            "std": float(np.std(row[name])),
            "median": float(np.median(row[name])),
        }
        for name in ("mflops", "error")
    }


EXPERIMENT = NatsExperiment
