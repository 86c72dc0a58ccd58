"""Loss against parameters: the Pareto front, and whether its architectures have bottlenecks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.errors import InfeasibleError
from tabnas.feasible import FeasibleSet
from tabnas.paper._experiment import Experiment, Job, Row, filter_rows, unique
from tabnas.paper._ground_truth import LAYERS, load_ground_truth
from tabnas.paper._tables import (
    PreparedTable,
    describe_missing_tables,
    find_available_tables,
    get_paper_table,
    prepare_table,
)
from tabnas.paper.experiments.common import filter_by_ground_truth
from tabnas.paper.experiments.tradeoff._bottlenecks import (
    MIN_CLEAR_RATIO,
    Tradeoff,
    count_bottlenecks,
)
from tabnas.paper.experiments.tradeoff._report import plot_tradeoffs, report
from tabnas.space import COSTS, Architecture, Budget, bottleneck_ratio
from tabnas.streams import stream

OVERSAMPLING = 50
"""Samples below a cost for each one wanted, since some are below the cost interval."""


class TradeoffExperiment(Experiment):
    """All architectures of the ground truth, and random ones of the paper's spaces."""

    name = "tradeoff"

    def jobs(self) -> list[Job]:
        sampled = self.definition["sampled"]
        return [
            *(
                {"part": "all", "table": name}
                for name in filter_by_ground_truth(self.definition["all"]["tables"])
            ),
            *(
                {"part": "sampled", "table": name, "interval": interval}
                for name in find_available_tables(sampled["tables"], self.data)
                for interval in range(sampled["intervals"])
            ),
        ]

    def run(self, job: Job) -> list[Row]:
        if job["part"] == "all":
            return _ground_truth_rows(job["table"])
        sampled, name = self.definition["sampled"], job["table"]
        table = prepare_table(name, self.data, {"epochs": self._epochs(name)})
        trainings = sampled["trainings"].get(name, 1)
        return [
            _make_row(
                architecture,
                COSTS["dense_parameters"](table.space, architecture),
                table.space.inputs,
                table.losses(architecture, trainings),
            )
            for architecture in self._sample(table, job["interval"])
        ]

    def _epochs(self, name: str) -> int:
        epochs: int = self.definition["sampled"]["epochs"].get(name, get_paper_table(name).epochs)
        return epochs

    def _sample(self, table: PreparedTable, interval: int) -> list[Architecture]:
        """Return random architectures with a cost in one interval of the range, if any."""
        sampled = self.definition["sampled"]
        low, high = sampled["range"]
        edges = np.geomspace(low, high, sampled["intervals"] + 1) * table.limit
        lower, upper = edges[interval], int(edges[interval + 1])
        try:
            below = FeasibleSet(table.space, Budget(dense_parameters=upper))
        except InfeasibleError:
            return []
        count = sampled["architectures"]
        samples = below.sample(OVERSAMPLING * count, rng=stream(interval, "trade-off"))
        cost = COSTS["dense_parameters"]
        return [
            network for network in dict.fromkeys(samples) if cost(table.space, network) > lower
        ][:count]

    def summarize(self, rows: list[Row]) -> dict[str, Any]:
        return {
            "cost_tolerance": self.definition["cost_tolerance"],
            "tradeoffs": [self._summarize(*group) for group in _group_by_title(rows).items()],
        }

    def _summarize(self, title: str, rows: list[Row]) -> dict[str, Any]:
        """Summarize one front, and bottlenecks on it and off it."""
        points = Tradeoff(rows)
        tolerance = self.definition["cost_tolerance"]
        return {
            "title": title,
            "description": self._describe(rows[0]),
            "architectures": len(rows),
            "trainings_each": len(rows[0]["losses"]),
            "bottlenecks": count_bottlenecks(points, points.ratios > 1, cost_tolerance=tolerance),
            "clear_bottlenecks": count_bottlenecks(
                points, points.ratios >= MIN_CLEAR_RATIO, cost_tolerance=tolerance
            ),
            "pareto": [
                {
                    "architecture": rows[k]["architecture"],
                    "parameters": rows[k]["parameters"],
                    "loss": float(points.losses[k]),
                    "bottleneck_ratio": rows[k]["bottleneck_ratio"],
                }
                for k in points.front_indices()
            ],
        }

    def _describe(self, row: Row) -> str:
        if row["part"] == "all":
            return "the ground truth, trained as `tabnas` trains by default"
        table = get_paper_table(row["table"])
        epochs = self._epochs(row["table"])
        return f"{table.description}; the paper's space of {table.layers} layers, epochs: {epochs}"

    def report(self, rows: list[Row], summary: Mapping[str, Any]) -> str:
        available = unique(filter_rows(rows, part="sampled"), "table")
        names = self.definition["sampled"]["tables"]
        return report(summary, describe_missing_tables(names, available))

    def plot(self, rows: list[Row], summary: Mapping[str, Any], out: Path) -> None:
        groups = _group_by_title(rows).items()
        tradeoffs = {title: Tradeoff(group) for title, group in groups if "layers" not in title}
        plot_tradeoffs(tradeoffs, out / "tradeoff")


def _group_by_title(rows: list[Row]) -> dict[str, list[Row]]:
    """Return the rows of each trade-off by its title, each architecture once.

    The paper's spaces have a fixed number of layers, so architectures of full depth are also a
    separate group.
    """
    groups: dict[str, dict[str, Row]] = {}
    for row in rows:
        titles = [f"{row['table']}, {row['part']}"]
        if row["part"] == "all" and row["depth"] == LAYERS:
            titles.append(f"{row['table']}, {LAYERS} layers")
        for title in titles:
            groups.setdefault(title, {}).setdefault(row["architecture"], row)
    return {title: list(group.values()) for title, group in groups.items()}


def _ground_truth_rows(name: str) -> list[Row]:
    truth = load_ground_truth(name)
    costs, losses = truth.costs["parameters"].tolist(), truth.losses["validation"].tolist()
    return [
        _make_row(architecture, cost, truth.space.inputs, network_losses)
        for architecture, cost, network_losses in zip(
            truth.architectures, costs, losses, strict=True
        )
    ]


def _make_row(architecture: Architecture, cost: float, inputs: int, losses: list[float]) -> Row:
    return {
        "architecture": str(architecture),
        "depth": architecture.depth,
        "parameters": int(cost),
        "bottleneck_ratio": bottleneck_ratio(architecture, inputs),
        "losses": losses,
    }


EXPERIMENT = TradeoffExperiment
