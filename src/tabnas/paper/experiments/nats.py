"""NATS-Bench's size space: the paper's two tables, and strategies by how near to the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from tabnas.paper._experiment import Experiment, Job, Row
from tabnas.paper._table_files import find_file
from tabnas.paper.experiments._nats_figures import draw_gaps, draw_tables
from tabnas.paper.experiments._nats_report import report
from tabnas.paper.experiments._nats_space import NatsFile, NatsSpace
from tabnas.paper.experiments._nats_tables import policies_end_on
from tabnas.paper.experiments._paired import interval_of
from tabnas.strategies import STRATEGIES, PolicyGradient, Strategy, optimize
from tabnas.streams import stream
from tabnas.types import FloatArray, IntArray

OURS = "tabnas"


class NatsExperiment(Experiment):
    """Accuracies are known, so hundreds of searches are affordable, and the best is known too."""

    name = "nats"

    def __init__(self, definition: Mapping[str, Any], data: Path | None = None) -> None:
        super().__init__(definition, data)
        self.files = {one["name"]: NatsFile(**one) for one in definition["files"]}
        self.space = cache(self._read)

    def _read(self, name: str) -> NatsSpace:
        return self.files[name].read(self.data, self.definition["limit"])

    # --- what is done -----------------------------------------------------------------------------

    def jobs(self) -> list[Job]:
        compared = [
            {"part": part, "title": one["title"], "noise": noise, "first": first}
            for part in ("strategies", "tried")
            for one in self.definition[part]
            for noise in self._noises(part)
            for first in range(0, self._seeds(part, one), self.definition["at_once"])
        ]
        there = [name for name, one in self.files.items() if find_file(one.file, self.data)]
        return [*compared, *(job for name in there for job in self._table_jobs(name))]

    def _table_jobs(self, name: str) -> list[Job]:
        said = self.definition["tables"]
        samples = said["samples"]
        kinds: list[Job] = [
            {
                "title": f"rejection, N = {samples}",
                "reward": "rejection_monte_carlo",
                "options": {"samples": samples},
            },
            {"title": "rejection, exact", "reward": "rejection", "options": {}},
            *(
                {"title": f"Abs, beta = {beta:g}", "reward": "abs", "options": {"beta": beta}}
                for beta in said["betas"]
            ),
        ]
        return [
            {"part": "tables", "file": name, "rate": rate, **kind}
            for kind in kinds
            for rate in said["rates"]
        ]

    def _noises(self, part: str) -> list[float]:
        """What is tried is tried with the noises that the aims are about."""
        aims = {aim["noise"] for aim in self.definition["aims"]}
        return [one for one in self.definition["noises"] if part == "strategies" or one in aims]

    def _seeds(self, part: str, one: Mapping[str, Any]) -> int:
        return int(self.definition["seeds"][one.get("seeds", part)])

    def run(self, job: Job) -> list[Row]:
        if job["part"] == "tables":
            return self._ended(job)
        one = next(one for one in self.definition[job["part"]] if one["title"] == job["title"])
        last = min(job["first"] + self.definition["at_once"], self._seeds(job["part"], one))
        return [
            row
            for seed in range(job["first"], last)
            for row in self._searched(one, job["noise"], seed)
        ]

    def _ended(self, job: Job) -> list[Row]:
        nats = self.space(job["file"])
        ends = policies_end_on(nats, job, self.definition["tables"])
        return [
            {
                "picks": picks,
                "mflops": nats.mflops(found).round(3).tolist(),
                "error": (1 - nats.accuracy(found) / 100).round(5).tolist(),
                "share_over": float(1 - nats.feasible.contains(found).mean()),
            }
            for picks, found in ends.items()
        ]

    def _searched(self, one: Mapping[str, Any], noise: float, seed: int) -> list[Row]:
        """What one strategy recommends in one search, after so many looks each."""
        nats = self.space(self.definition["compared_on"])
        began = process_time()
        kind = STRATEGIES[one.get("strategy", "guided")]
        strategy = kind(
            nats.feasible, rng=stream(seed, one["title"]), **dict(one.get("options", {}))
        )
        noises = stream(seed, f"noise of {one['title']}")

        def quality(choices: IntArray) -> FloatArray:
            exact = nats.quality(choices)
            return exact + noise / 100 * noises.normal(size=exact.shape)

        rows = []
        for looks in self.definition["looks"]:
            optimize(strategy, quality, looks)
            [found] = strategy.recommend()
            choices = np.array(nats.space.choices(found))
            # a penalty's own answer is the most likely of all architectures, within V or not
            own = _likeliest_of_all(strategy) if one.get("raw", False) else choices
            rows.append(
                {
                    "seed": seed,
                    "looks": looks,
                    "found": str(found),
                    "gap": round(float(nats.gap(choices)), 4),
                    "over": not nats.feasible.contains(own),
                    "seconds": process_time() - began,
                }
            )
        return rows

    # --- what it says -----------------------------------------------------------------------------

    def summarise(self, rows: list[Row]) -> dict[str, Any]:
        nats = self.space(self.definition["compared_on"])
        choices = np.array(nats.space.choices(nats.best))
        compared = {
            part: [
                _gaps(rows, part, one["title"], noise, looks)
                for one in self.definition[part]
                for noise in self._noises(part)
                for looks in self.definition["looks"]
            ]
            for part in ("strategies", "tried")
        }
        return {
            "feasible": nats.feasible.count(),
            "best": {"architecture": str(nats.best), "accuracy": float(nats.accuracy(choices))},
            "targets": [
                self._target(aim, compared["strategies"]) for aim in self.definition["aims"]
            ],
            **compared,
            "tables": [_table_row(row) for row in rows if row["part"] == "tables"],
        }

    def _target(self, aim: Mapping[str, Any], gaps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        asked = {"title": OURS, "looks": aim["looks"], "noise": aim["noise"]}
        found = next(one for one in gaps if asked.items() <= one.items())
        kept = {key: found[key] for key in ("gap", "interval", "seeds", "over")}
        return {**aim, **kept, "met": found["gap"] <= aim["aim"]}

    def report(self, rows: list[Row], summary: Mapping[str, Any]) -> str:
        return report(self.definition, summary)

    def draw(self, rows: list[Row], summary: Mapping[str, Any], out: Path) -> None:
        draw_gaps(self.definition, summary, out)
        draw_tables(self.definition, summary, out)


def _likeliest_of_all(strategy: Strategy) -> IntArray:
    assert isinstance(strategy, PolicyGradient), "only policies have a most likely architecture"
    return np.asarray(strategy.controller.policy.log_p.argmax(axis=-1))


def _gaps(rows: list[Row], part: str, title: str, noise: float, looks: int) -> dict[str, Any]:
    """All seeds of one strategy together, after so many looks."""
    named = {"part": part, "title": title, "noise": noise, "looks": looks}
    own = [row for row in rows if named.items() <= row.items()]
    gaps = np.array([row["gap"] for row in own])
    return {
        "title": title,
        "noise": noise,
        "looks": looks,
        "seeds": len(own),
        "gap": float(gaps.mean()),
        "interval": interval_of(gaps),
        "over": float(np.mean([row["over"] for row in own])),
        "best_found": float((gaps == 0).mean()),
        "seconds": float(np.median([row["seconds"] for row in own])),
    }


def _table_row(row: Row) -> dict[str, Any]:
    mflops, error = np.array(row["mflops"]), np.array(row["error"])
    return {
        **{key: row[key] for key in ("file", "title", "rate", "picks", "share_over")},
        "mflops": {
            "mean": float(mflops.mean()),
            "std": float(mflops.std()),
            "median": float(np.median(mflops)),
        },
        "error": {
            "mean": float(error.mean()),
            "std": float(error.std()),
            "median": float(np.median(error)),
        },
    }


EXPERIMENT = NatsExperiment
