"""Figure 1: the policy on a toy problem, by reward and by RL learning rate."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tabnas.paper._experiment import Experiment, Job, Row, filter_rows
from tabnas.paper._figures import GRAY, make_figure, save_figure
from tabnas.paper._markdown import records_table
from tabnas.paper.experiments.toy._problem import Toy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

UPDATE_BASELINE_FIRST = {"before the update": True, "after the update": False}


class ToyExperiment(Experiment):
    """Nine architectures with known losses, and hundreds of seeds for each setting."""

    name = "toy"

    def __init__(self, definition: Mapping[str, Any], data: Path | None = None) -> None:
        super().__init__(definition, data)
        self.toy = Toy(definition, seeds=definition["seeds"])

    def jobs(self) -> list[Job]:
        grid = self.definition["by_learning_rate"]
        figure_1 = [{"part": "figure 1", **reward} for reward in self.definition["figure"]]
        by_learning_rate = [
            {"part": "learning rate", **reward, "adam": {"learning_rate": rate, "epsilon": epsilon}}
            for reward in grid["rewards"]
            for epsilon in grid["epsilons"]
            for rate in grid["learning_rates"]
        ]
        by_order = [
            {"part": "baseline", **reward, "baseline_update": order}
            for reward in grid["rewards"]
            for order in UPDATE_BASELINE_FIRST
        ]
        return [*figure_1, *by_learning_rate, *by_order]

    def run(self, job: Job) -> list[Row]:
        is_figure = job["part"] == "figure 1"
        row = self.toy.run(
            job["reward"],
            job.get("options"),
            adam=job.get("adam"),
            update_baseline_first=UPDATE_BASELINE_FIRST[
                job.get("baseline_update", "before the update")
            ],
            snapshots=tuple(self.definition["snapshots"]) if is_figure else (),
        )
        return [row]

    def summarize(self, rows: list[Row]) -> dict[str, Any]:
        def summarize_part(part: str) -> list[dict[str, Any]]:
            keys = ("title", "adam", "baseline_update")
            return [
                {key: row[key] for key in keys if key in row} | self.toy.summarize(row)
                for row in filter_rows(rows, part=part)
            ]

        return {
            "seeds": self.toy.seeds,
            "steps": self.definition["steps"],
            "optimum": self.toy.optimum,
            "feasible": self.toy.feasible.count(),
            "figure_1": summarize_part("figure 1"),
            "by_learning_rate": summarize_part("learning rate"),
            "by_baseline_update": summarize_part("baseline"),
        }

    def report(self, rows: list[Row], summary: Mapping[str, Any]) -> str:
        success = (f"ends on {summary['optimum']}", "{success:.1%}")
        figure_1 = records_table(
            summary["figure_1"],
            ("reward", "{title}"),
            success,
            ("ends infeasible", "{infeasible:.1%}"),
            ("P(V) at the end", "{p_feasible_mean:.3f}"),
        )
        by_learning_rate = records_table(
            summary["by_learning_rate"],
            ("reward", "{title}"),
            ("Adam's epsilon", "{adam[epsilon]}"),
            ("RL learning rate", "{adam[learning_rate]}"),
            success,
        )
        by_baseline_update = records_table(
            summary["by_baseline_update"],
            ("reward", "{title}"),
            ("the current reward enters the baseline", "{baseline_update}"),
            success,
        )
        return (
            f"{summary['seeds']} runs a row, {summary['steps']} steps each. {summary['optimum']} "
            f"is the best of the {summary['feasible']} architectures within the limit.\n\n"
            f"{figure_1}\n\n![heat maps](figure-1.png)\n\n"
            f"## By RL learning rate\n\n{by_learning_rate}\n\n"
            f"## By the order of the baseline\n\n{by_baseline_update}\n"
        )

    def plot(self, rows: list[Row], summary: Mapping[str, Any], out: Path) -> None:
        rows = filter_rows(rows, part="figure 1")
        steps = self.definition["snapshots"]
        size = (2.3 * (len(steps) + 1), 2.3 * len(rows))
        figure, axes = make_figure(len(rows), len(steps) + 1, size=size)
        ratios = self.toy.feasible.cost_ratio(self.toy.choices)
        costs = (ratios * self.toy.feasible.budget.limits[0].upper).round()
        texts = [
            f"{int(cost)}\nloss {loss:g}"
            for cost, loss in zip(costs, self.toy.losses.ravel(), strict=True)
        ]
        for line, row in zip(axes, rows, strict=True):
            _plot_cells(self.toy, line[0], np.zeros(len(texts)), texts)
            line[0].set_ylabel(f"{row['title']}\nfirst layer", fontsize=9)
            for axis, step in zip(line[1:], steps, strict=True):
                heat = np.array(row["heat"][str(step)])
                _plot_cells(self.toy, axis, heat, [f"{value:.0%}" for value in heat])
        titles = ["parameters, loss", *(f"step {step}" for step in steps)]
        for axis, title in zip(axes[0], titles, strict=True):
            axis.set_title(title, fontsize=9)
        for axis in axes[-1]:
            axis.set_xlabel("second layer", fontsize=9)
        figure.suptitle(
            f"Probability of each architecture, mean of {self.toy.seeds} runs; "
            "hatched: over the limit; bold: the optimum",
            fontsize=10,
        )
        save_figure(figure, out / "figure-1")


def _plot_cells(toy: Toy, axis: Axes, values: np.ndarray, texts: list[str]) -> None:
    from matplotlib.patches import Rectangle

    side = len(toy.losses)
    axis.imshow(values.reshape(side, side), cmap="Blues", vmin=0, vmax=1)
    for k, (i, j) in enumerate(toy.choices):
        color = "w" if values[k] > 0.6 else "k"
        axis.text(j, i, texts[k], ha="center", va="center", fontsize=8, color=color)
        if not toy.inside[k]:
            cell = Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, hatch="//", lw=0)
            cell.set_edgecolor(GRAY)
            axis.add_patch(cell)
        if toy.names[k] == toy.optimum:
            axis.add_patch(Rectangle((j - 0.48, i - 0.48), 0.96, 0.96, fill=False, lw=2.5))
    axis.set_xticks(range(side), map(str, toy.space.widths[1]))
    axis.set_yticks(range(side), map(str, toy.space.widths[0]))
    axis.tick_params(length=0, labelsize=8)


EXPERIMENT = ToyExperiment
