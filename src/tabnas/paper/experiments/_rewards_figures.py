"""The figures of the rewards: what was found, and the grid as heat maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tabnas.paper._figures import OTHERS, OURS, RULED_OUT, figure, save
from tabnas.paper.experiments._ticks import log_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GOALS = {
    "near": "ends within 5 % of the limit",
    "feasible_and_matching": "keeps the limit and matches the reference",
}


def draw_found(tables: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Loss against the share of the limit, a picture a table."""
    columns = min(3, len(tables) + 1)
    lines = -(-(len(tables) + 1) // columns)
    drawn, axes = figure(lines, columns, size=(4.3 * columns, 3.4 * lines))
    for axis in axes.ravel()[len(tables) :]:
        axis.set_axis_off()
    colors = (OURS, *OTHERS)
    for axis, own in zip(axes.ravel(), tables, strict=False):
        axis.axvline(1, color=RULED_OUT, lw=1)
        _mark(axis, own["reference"], "the paper's reference", color="k", marker="*", size=11)
        for reward, color in zip(own["rewards"], colors, strict=False):
            for k, one in enumerate(reward["found"]):
                _mark(axis, one, reward["title"] if k == 0 else None, color=color)
        log_ticks(axis, "{x:g}")
        axis.set_title(own["table"], fontsize=10)
        axis.set_xlabel("parameters / limit", fontsize=9)
        axis.set_ylabel("validation loss, trained alone", fontsize=9)
        axis.tick_params(labelsize=8)
    marks, labels = axes.ravel()[0].get_legend_handles_labels()
    axes.ravel()[len(tables)].legend(marks, labels, loc="center", fontsize=9, frameon=False)
    save(drawn, path)


def _mark(
    axis: Axes,
    one: Mapping[str, Any],
    label: str | None,
    *,
    color: str,
    marker: str = "o",
    size: float = 5,
) -> None:
    axis.errorbar(
        one["load"],
        one["loss"],
        yerr=one["loss_std"],
        fmt=marker,
        markersize=size,
        color=color,
        lw=1,
        label=label,
    )


def draw_grid(table: Mapping[str, Any], said: Mapping[str, Any], path: Path) -> None:
    """Heat maps of one table: RL rate down, beta across, a row of maps for each goal."""
    without = [one for one in table["rewards"] if np.shape(one["by_setting"]["near"])[1] == 1]
    with_beta = [one for one in table["rewards"] if one not in without]
    drawn, axes = figure(2, 1 + len(with_beta), size=(3.3 * (1 + len(with_beta)), 10.4))
    for line, (goal, words) in zip(axes, GOALS.items(), strict=True):
        narrow = np.hstack([one["by_setting"][goal] for one in without])
        _heat(line[0], narrow, said["rates"], [one["title"] for one in without])
        line[0].set_ylabel(f"{words}\nRL rate", fontsize=9)
        for axis, one in zip(line[1:], with_beta, strict=True):
            _heat(axis, np.array(one["by_setting"][goal]), said["rates"], said["betas"])
            axis.set_title(one["title"], fontsize=10)
            axis.set_xlabel("beta", fontsize=9)
    image = axes[0, 0].images[0]
    drawn.colorbar(image, ax=axes, location="bottom", shrink=0.4, pad=0.02).set_label(
        "share of runs", fontsize=9
    )
    drawn.suptitle(f"{table['table']}: where runs end, by setting", fontsize=11)
    save(drawn, path)


def _heat(
    axis: Axes, shares: np.ndarray, rates: Sequence[float], columns: Sequence[object]
) -> None:
    axis.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    axis.set_yticks(range(len(rates)), [f"{rate:g}" for rate in rates])
    axis.set_xticks(range(len(columns)), map(str, columns), rotation=90)
    axis.tick_params(length=0, labelsize=7)
