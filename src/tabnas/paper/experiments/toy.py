"""Figure 1: where the policy goes on a toy, by reward; and what the RL rate does to it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tabnas.paper._experiment import Experiment, Job, Row
from tabnas.paper._figures import RULED_OUT, figure, save
from tabnas.paper._markdown import markdown_table
from tabnas.paper.experiments._toy_problem import Toy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ORDERS = {"first": True, "after the update": False}


class ToyExperiment(Experiment):
    """Nine architectures, known losses, hundreds of seeds a setting."""

    name = "toy"

    def __init__(self, definition: Mapping[str, Any], data: Path | None = None) -> None:
        super().__init__(definition, data)
        self.toy = Toy(definition, seeds=definition["seeds"])

    def jobs(self) -> list[Job]:
        said = self.definition
        figure_1 = [{"part": "figure 1", **row} for row in said["figure"]]
        by_rate = [
            {"part": "rate", **reward, "adam": {"rate": rate, "epsilon": epsilon}}
            for reward in said["by_rate"]["rewards"]
            for epsilon in said["by_rate"]["epsilons"]
            for rate in said["by_rate"]["rates"]
        ]
        by_order = [
            {"part": "average", **reward, "average": order}
            for reward in said["by_rate"]["rewards"]
            for order in ORDERS
        ]
        return [*figure_1, *by_rate, *by_order]

    def run(self, job: Job) -> list[Row]:
        row = self.toy.run(
            job["reward"],
            job.get("options"),
            adam=job.get("adam"),
            update_baseline_first=ORDERS[job.get("average", "first")],
            shown=tuple(self.definition["shown"]) if job["part"] == "figure 1" else (),
        )
        return [row]

    def summarise(self, rows: list[Row]) -> dict[str, Any]:
        def shares(part: str) -> list[dict[str, Any]]:
            own = [row for row in rows if row["part"] == part]
            kept = ("title", "adam", "average")
            return [
                {key: row[key] for key in kept if key in row} | self.toy.shares(row) for row in own
            ]

        return {
            "seeds": self.toy.seeds,
            "steps": self.definition["steps"],
            "optimum": self.toy.optimum,
            "feasible": self.toy.feasible.count(),
            "figure_1": shares("figure 1"),
            "by_rate": shares("rate"),
            "by_average": shares("average"),
        }

    def report(self, rows: list[Row], summary: Mapping[str, Any]) -> str:
        optimum = summary["optimum"]
        figure_1 = markdown_table(
            ["reward", f"ends on {optimum}", "ends infeasible", "P(V) in the end"],
            [
                [
                    row["title"],
                    f"{row['success']:.1%}",
                    f"{row['infeasible']:.1%}",
                    f"{row['p_feasible_mean']:.3f}",
                ]
                for row in summary["figure_1"]
            ],
        )
        by_rate = markdown_table(
            ["reward", "Adam's epsilon", "RL rate", f"ends on {optimum}"],
            [
                [row["title"], row["adam"]["epsilon"], row["adam"]["rate"], f"{row['success']:.1%}"]
                for row in summary["by_rate"]
            ],
        )
        by_average = markdown_table(
            ["reward", "the current reward enters the average", f"ends on {optimum}"],
            [
                [row["title"], row["average"], f"{row['success']:.1%}"]
                for row in summary["by_average"]
            ],
        )
        return (
            f"{summary['seeds']} runs a row, {summary['steps']} steps each. {optimum} is the best "
            f"of the {summary['feasible']} architectures within the limit.\n\n{figure_1}\n\n"
            f"![heat maps](figure-1.png)\n\n## By RL rate\n\n{by_rate}\n\n"
            f"## By the order of the moving average\n\n{by_average}\n"
        )

    def draw(self, rows: list[Row], summary: Mapping[str, Any], out: Path) -> None:
        shown = [row for row in rows if row["part"] == "figure 1"]
        steps = self.definition["shown"]
        size = (2.3 * (len(steps) + 1), 2.3 * len(shown))
        drawn, axes = figure(len(shown), len(steps) + 1, size=size)
        load = self.toy.feasible.cost_ratio(self.toy.every)
        costs = (load * self.toy.feasible.budget.limits[0].upper).round()
        facts = [
            f"{int(cost)}\nloss {loss:g}"
            for cost, loss in zip(costs, self.toy.losses.ravel(), strict=True)
        ]
        for line, row in zip(axes, shown, strict=True):
            _cells(self.toy, line[0], np.zeros(len(facts)), facts)
            line[0].set_ylabel(f"{row['title']}\nfirst layer", fontsize=9)
            for axis, step in zip(line[1:], steps, strict=True):
                heat = np.array(row["heat"][str(step)])
                _cells(self.toy, axis, heat, [f"{value:.0%}" for value in heat])
        for axis, title in zip(axes[0], ["parameters, loss", *steps], strict=True):
            axis.set_title(title if isinstance(title, str) else f"step {title}", fontsize=9)
        for axis in axes[-1]:
            axis.set_xlabel("second layer", fontsize=9)
        drawn.suptitle(
            f"Probability of each architecture, mean of {self.toy.seeds} runs; "
            "hatched: over the limit; bold: the optimum",
            fontsize=10,
        )
        save(drawn, out / "figure-1")


def _cells(toy: Toy, axis: Axes, values: np.ndarray, texts: list[str]) -> None:
    from matplotlib.patches import Rectangle

    side = len(toy.losses)
    axis.imshow(values.reshape(side, side), cmap="Blues", vmin=0, vmax=1)
    for k, (i, j) in enumerate(toy.every):
        color = "w" if values[k] > 0.6 else "k"
        axis.text(j, i, texts[k], ha="center", va="center", fontsize=8, color=color)
        if not toy.inside[k]:
            cell = Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, hatch="//", lw=0)
            cell.set_edgecolor(RULED_OUT)
            axis.add_patch(cell)
        if toy.name(k) == toy.optimum:
            axis.add_patch(Rectangle((j - 0.48, i - 0.48), 0.96, 0.96, fill=False, lw=2.5))
    axis.set_xticks(range(side), map(str, toy.space.candidates[1]))
    axis.set_yticks(range(side), map(str, toy.space.candidates[0]))
    axis.tick_params(length=0, labelsize=8)


EXPERIMENT = ToyExperiment
