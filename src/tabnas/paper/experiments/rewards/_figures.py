"""The figures of the rewards: what was found, and the grid as heat maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tabnas.paper._figures import (
    GRAY,
    OTHER_COLORS,
    OURS_COLOR,
    make_figure,
    make_panels,
    save_figure,
    set_log_ticks,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GOALS = {
    "near": "ends within 5 % of the limit",
    "feasible_and_matching": "within the limit, and matches the reference",
}


def plot_found(tables: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Plot loss against the cost ratio, a panel for each table."""
    figure, axes = make_panels(len(tables) + 1, width=4.3, height=3.4, hidden=1)
    for axis, table in zip(axes, tables, strict=False):
        axis.axvline(1, color=GRAY, lw=1)
        _plot_point(axis, table["reference"], "the paper's reference", "k", marker="*", size=11)
        for reward, color in zip(table["rewards"], (OURS_COLOR, *OTHER_COLORS), strict=False):
            for k, network in enumerate(reward["found"]):
                _plot_point(axis, network, reward["title"] if k == 0 else None, color)
        set_log_ticks(axis, "{x:g}")
        axis.set_title(table["table"], fontsize=10)
        axis.set_xlabel("parameters / limit", fontsize=9)
        axis.set_ylabel("validation loss, stand-alone", fontsize=9)
        axis.tick_params(labelsize=8)
    handles, labels = axes[0].get_legend_handles_labels()
    axes[len(tables)].legend(handles, labels, loc="center", fontsize=9, frameon=False)
    save_figure(figure, path)


def _plot_point(
    axis: Axes,
    network: Mapping[str, Any],
    label: str | None,
    color: str,
    *,
    marker: str = "o",
    size: float = 5,
) -> None:
    axis.errorbar(
        network["cost_ratio"],
        network["loss"],
        yerr=network["loss_std"],
        fmt=marker,
        markersize=size,
        color=color,
        lw=1,
        label=label,
    )


def plot_grid(table: Mapping[str, Any], definition: Mapping[str, Any], path: Path) -> None:
    """Plot heat maps of a table by RL learning rate and beta, a row of maps for each goal."""
    rates = definition["rl_learning_rates"]
    without = [
        reward for reward in table["rewards"] if np.shape(reward["by_setting"]["near"])[1] == 1
    ]
    with_beta = [reward for reward in table["rewards"] if reward not in without]
    figure, axes = make_figure(2, 1 + len(with_beta), size=(3.3 * (1 + len(with_beta)), 10.4))
    for line, (goal, description) in zip(axes, GOALS.items(), strict=True):
        shares = np.hstack([reward["by_setting"][goal] for reward in without])
        _plot_heat_map(line[0], shares, rates, [reward["title"] for reward in without])
        line[0].set_ylabel(f"{description}\nRL learning rate", fontsize=9)
        for axis, reward in zip(line[1:], with_beta, strict=True):
            _plot_heat_map(axis, np.array(reward["by_setting"][goal]), rates, definition["betas"])
            axis.set_title(reward["title"], fontsize=10)
            axis.set_xlabel("beta", fontsize=9)
    image = axes[0, 0].images[0]
    figure.colorbar(image, ax=axes, location="bottom", shrink=0.4, pad=0.02).set_label(
        "share of runs", fontsize=9
    )
    figure.suptitle(f"{table['table']}: where runs end, by setting", fontsize=11)
    save_figure(figure, path)


def _plot_heat_map(
    axis: Axes, shares: np.ndarray, rates: Sequence[float], columns: Sequence[object]
) -> None:
    axis.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    axis.set_yticks(range(len(rates)), [f"{rate:g}" for rate in rates])
    axis.set_xticks(range(len(columns)), map(str, columns), rotation=90)
    axis.tick_params(length=0, labelsize=7)
