"""Loss against parameters: what the Pareto front looks like, and whether bottlenecks make it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.errors import InfeasibleError
from tabnas.feasible import FeasibleSet
from tabnas.paper._experiment import Experiment, Job, Row
from tabnas.paper._ground_truth import LAYERS, ground_truth
from tabnas.paper._tables import PreparedTable, paper_table
from tabnas.paper.experiments._pareto import EVIDENT, Tradeoff, bottlenecks
from tabnas.paper.experiments._there import (
    describe_absent,
    tables_with_files,
    tables_with_ground_truth,
)
from tabnas.paper.experiments._tradeoff_shown import draw_tradeoffs, tradeoff_report
from tabnas.space import COSTS, Architecture, Budget, bottleneck_ratio
from tabnas.streams import stream

DRAWS = 50
"""For every architecture that is wanted: of those below a cost some are below its step, too."""


class TradeoffExperiment(Experiment):
    """All architectures of the ground truth, and random ones of the paper's spaces."""

    name = "tradeoff"

    def __init__(self, definition: Mapping[str, Any], data: Path | None = None) -> None:
        super().__init__(definition, data)
        self._prepared: dict[str, PreparedTable] = {}

    def jobs(self) -> list[Job]:
        said = self.definition
        every: list[Job] = [
            {"part": "all", "table": name} for name in tables_with_ground_truth(said["all"])
        ]
        sampled: list[Job] = [
            {"part": "sampled", "table": name, "step": step}
            for name in tables_with_files(said["sampled"]["tables"], self.data)
            for step in range(said["sampled"]["steps"])
        ]
        return [*every, *sampled]

    def run(self, job: Job) -> list[Row]:
        if job["part"] == "all":
            return _everything(job["table"])
        said, name = self.definition["sampled"], job["table"]
        if name not in self._prepared:
            epochs = said["epochs"].get(name, 0)
            self._prepared[name] = paper_table(name).prepare(self.data, epochs=epochs)
        table = self._prepared[name]
        return [
            _row(
                one,
                COSTS["dense_parameters"](table.space, one),
                table.space.inputs,
                [
                    table.train(one, seed=seed).loss
                    for seed in range(said["trainings"].get(name, 1))
                ],
            )
            for one in self._draw(table, job["step"])
        ]

    def _draw(self, table: PreparedTable, step: int) -> list[Architecture]:
        """Random ones whose cost is in one step of the range, if there are any."""
        said = self.definition["sampled"]
        low, high = said["range"]
        edges = np.geomspace(low, high, said["steps"] + 1) * table.limit
        least, most = edges[step], int(edges[step + 1])
        try:
            below = FeasibleSet(table.space, Budget(dense_parameters=most))
        except InfeasibleError:
            return []
        wanted = said["architectures"]
        drawn = below.sample(DRAWS * wanted, rng=stream(step, "trade-off"))
        cost = COSTS["dense_parameters"]
        return [one for one in dict.fromkeys(drawn) if cost(table.space, one) > least][:wanted]

    def summarise(self, rows: list[Row]) -> dict[str, Any]:
        return {
            "same_cost": self.definition["same_cost"],
            "tradeoffs": [self._summary(title, own) for title, own in _groups(rows).items()],
        }

    def _summary(self, title: str, own: list[Row]) -> dict[str, Any]:
        """One front, and bottlenecks on it and off it."""
        points = Tradeoff(own)
        near = self.definition["same_cost"]
        return {
            "title": title,
            "what": self._what(own[0]),
            "architectures": len(own),
            "trainings_each": len(own[0]["losses"]),
            "bottlenecks": bottlenecks(points, points.narrowing > 1, same_cost=near).facts(),
            "evident": bottlenecks(points, points.narrowing >= EVIDENT, same_cost=near).facts(),
            "pareto": [
                {
                    "architecture": own[k]["architecture"],
                    "parameters": own[k]["parameters"],
                    "loss": float(points.losses[k]),
                    "narrowing": own[k]["narrowing"],
                }
                for k in points.along_the_front()
            ],
        }

    def _what(self, row: Row) -> str:
        """The table in words."""
        if row["part"] == "all":
            return "the ground truth, trained as `tabnas` trains by default"
        table, said = paper_table(row["table"]), self.definition["sampled"]
        epochs = said["epochs"].get(row["table"], table.epochs)
        return f"{table.what}; the paper's space of {table.layers} layers, epochs: {epochs}"

    def report(self, rows: list[Row], summary: Mapping[str, Any]) -> str:
        run = {row["table"] for row in rows if row["part"] == "sampled"}
        return tradeoff_report(summary, describe_absent(self.definition["sampled"]["tables"], run))

    def draw(self, rows: list[Row], summary: Mapping[str, Any], out: Path) -> None:
        shown = {title: own for title, own in _groups(rows).items() if "layers" not in title}
        points = {title: Tradeoff(own) for title, own in shown.items()}
        draw_tradeoffs(points, out / "tradeoff")


def _groups(rows: list[Row]) -> dict[str, list[Row]]:
    """The rows that make one trade-off, by its title, each architecture once.

    The paper's spaces have a fixed number of layers, so the deepest of all architectures are also
    taken by themselves.
    """
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        titles = [f"{row['table']}, {row['part']}"]
        if row["part"] == "all" and row["depth"] == LAYERS:
            titles.append(f"{row['table']}, {LAYERS} layers")
        for title in titles:
            found.setdefault(title, {}).setdefault(row["architecture"], row)
    return {title: list(own.values()) for title, own in found.items()}


def _everything(name: str) -> list[Row]:
    truth = ground_truth(name)
    losses = truth.losses["validation"]
    return [
        _row(one, cost, truth.space.inputs, own)
        for one, cost, own in zip(
            truth.architectures, truth.costs["parameters"].tolist(), losses.tolist(), strict=True
        )
    ]


def _row(architecture: Architecture, cost: float, inputs: int, losses: list[float]) -> Row:
    return {
        "architecture": str(architecture),
        "depth": architecture.depth,
        "parameters": int(cost),
        "narrowing": bottleneck_ratio(architecture, inputs),
        "losses": losses,
    }


EXPERIMENT = TradeoffExperiment
