"""The figures of the NATS-Bench experiment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tabnas.paper._experiment import filter_rows, group_rows, unique
from tabnas.paper._figures import GRAY, OTHER_COLORS, OURS_COLOR, make_figure, save_figure
from tabnas.paper.experiments.nats._report import OURS

LINEAR_UP_TO = 0.05
"""Up to here the axis of gaps is linear, so that it shows 0; beyond, logarithmic."""
TICKS = (0, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)
MARKERS = "osv^D<>Ph*X"


def plot_gaps(definition: Mapping[str, Any], summary: Mapping[str, Any], out: Path) -> None:
    """Plot the mean gap of each strategy against the number of evaluations, for each noise."""
    noises = definition["noises"]
    figure, axes = make_figure(1, len(noises), size=(3.6 * len(noises) + 2.4, 4.2))
    others = [title for title in unique(summary["strategies"], "title") if title != OURS]
    for axis, noise in zip(axes[0], noises, strict=True):
        groups = group_rows(filter_rows(summary["strategies"], noise=noise), "title")
        for title, rows in groups.items():
            is_ours = title == OURS
            number = 0 if is_ours else others.index(title)
            low = [max(row["gap"] - row["interval"], 0) for row in rows]
            high = [row["gap"] + row["interval"] for row in rows]
            evaluations = [row["evaluations"] for row in rows]
            color = OURS_COLOR if is_ours else OTHER_COLORS[number % len(OTHER_COLORS)]
            axis.fill_between(evaluations, low, high, color=color, alpha=0.12, lw=0)
            axis.plot(
                evaluations,
                [row["gap"] for row in rows],
                color=color,
                lw=2.5 if is_ours else 1.2,
                ls="-" if number < len(OTHER_COLORS) else "--",
                marker=MARKERS[number % len(MARKERS)],
                ms=4,
                label=title,
                zorder=3 if is_ours else 2,
            )
        axis.set_yscale("symlog", linthresh=LINEAR_UP_TO, linscale=0.6)
        axis.set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
        axis.set_ylim(-0.004, TICKS[-1])
        axis.set_title(f"noise {noise:g}" if noise else "no noise", fontsize=10)
        axis.set_xlabel("evaluations", fontsize=9)
        axis.tick_params(labelsize=8)
    axes[0][0].set_ylabel("points of accuracy below the best feasible", fontsize=9)
    for aim in definition["aims"]:
        axis = axes[0][noises.index(aim["noise"])]
        style = {"color": "k", "ms": 8, "mew": 2, "zorder": 4, "label": "aim"}
        axis.plot(aim["evaluations"], aim["aim"], "x", **style)
    handles = dict(zip(*reversed(axes[0][0].get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside right upper", fontsize=8)
    save_figure(figure, out / "gaps")


def plot_tables(definition: Mapping[str, Any], summary: Mapping[str, Any], out: Path) -> None:
    """Plot mean error against mean MFLOPs for every setting of the paper's tables."""
    rates = ", ".join(f"{rate:g}" for rate in definition["tables"]["rl_learning_rates"])
    for file, file_rows in group_rows(summary["tables"], "file").items():
        figure, axes = make_figure(1, 1, size=(6.4, 4.2))
        axis = axes[0][0]
        for (title, selection), rows in group_rows(file_rows, "title", "selection").items():
            is_penalty = title.startswith("Abs")
            axis.plot(
                [row["mflops"]["mean"] for row in rows],
                [row["error"]["mean"] for row in rows],
                color=OTHER_COLORS[0] if is_penalty else OURS_COLOR,
                lw=0.6,
                alpha=0.6 if is_penalty else 1.0,
                marker="^" if is_penalty else "o" if "exact" in title else "s",
                mfc="none" if selection == "most likely" else None,
                ms=5,
                label=title if is_penalty else f"{title}; {selection}",
            )
        axis.axvline(definition["limit"], color=GRAY, lw=1, ls="--")
        axis.set_xlabel("MFLOPs, mean", fontsize=9)
        axis.set_ylabel("test error, mean", fontsize=9)
        axis.tick_params(labelsize=8)
        axis.set_title(f"{file}: RL learning rates {rates}", fontsize=10)
        figure.legend(loc="outside right upper", fontsize=7)
        save_figure(figure, out / f"tables-{file}")
