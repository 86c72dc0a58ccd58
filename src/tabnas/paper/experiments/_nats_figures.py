"""The figures of the NATS-Bench experiment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tabnas.paper._figures import OTHERS, OURS, RULED_OUT, figure, save

LINEAR = 0.05
"""Up to here the axis of gaps is linear, so that it shows 0; beyond, logarithmic."""

TICKS = (0, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)


def draw_gaps(said: Mapping[str, Any], summary: Mapping[str, Any], out: Path) -> None:
    """The mean gap of each strategy after so many looks, for each noise."""
    noises = said["noises"]
    drawn, axes = figure(1, len(noises), size=(3.6 * len(noises) + 2.4, 4.2))
    marks = "osv^D<>Ph*X"
    others = [one["title"] for one in said["strategies"] if one["title"] != "tabnas"]
    for axis, noise in zip(axes[0], noises, strict=True):
        for one in said["strategies"]:
            own = [
                row
                for row in summary["strategies"]
                if row["title"] == one["title"] and row["noise"] == noise
            ]
            ours = one["title"] == "tabnas"
            number = 0 if ours else others.index(one["title"])
            low = [max(row["gap"] - row["interval"], 0) for row in own]
            high = [row["gap"] + row["interval"] for row in own]
            looks = [row["looks"] for row in own]
            color = OURS if ours else OTHERS[number % len(OTHERS)]
            axis.fill_between(looks, low, high, color=color, alpha=0.12, lw=0)
            axis.plot(
                looks,
                [row["gap"] for row in own],
                color=color,
                lw=2.5 if ours else 1.2,
                ls="-" if number < len(OTHERS) else "--",
                marker=marks[number % len(marks)],
                ms=4,
                label=one["title"],
                zorder=3 if ours else 2,
            )
        axis.set_yscale("symlog", linthresh=LINEAR, linscale=0.6)
        axis.set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
        axis.set_ylim(-0.004, TICKS[-1])
        axis.set_title(f"noise {noise:g}" if noise else "no noise", fontsize=10)
        axis.set_xlabel("looks", fontsize=9)
        axis.tick_params(labelsize=8)
    axes[0][0].set_ylabel("points of accuracy below the best feasible", fontsize=9)
    for aim in said["aims"]:
        axis = axes[0][noises.index(aim["noise"])]
        axis.plot(aim["looks"], aim["aim"], "x", color="k", ms=8, mew=2, zorder=4, label="aim")
    named = dict(zip(*reversed(axes[0][0].get_legend_handles_labels()), strict=True))
    drawn.legend(named.values(), named.keys(), loc="outside right upper", fontsize=8)
    save(drawn, out / "gaps")


def draw_tables(said: Mapping[str, Any], summary: Mapping[str, Any], out: Path) -> None:
    """Every setting of the paper's tables: mean error against mean MFLOPs."""
    for file in dict.fromkeys(row["file"] for row in summary["tables"]):
        own = [row for row in summary["tables"] if row["file"] == file]
        drawn, axes = figure(1, 1, size=(6.4, 4.2))
        axis = axes[0][0]
        rates = said["tables"]["rates"]
        for title, picks in dict.fromkeys((row["title"], row["picks"]) for row in own):
            rows = [row for row in own if (row["title"], row["picks"]) == (title, picks)]
            penalty = title.startswith("Abs")
            exact = "exact" in title
            axis.plot(
                [row["mflops"]["mean"] for row in rows],
                [row["error"]["mean"] for row in rows],
                color=OTHERS[0] if penalty else OURS,
                lw=0.6,
                alpha=0.6 if penalty else 1.0,
                marker="^" if penalty else "o" if exact else "s",
                mfc="none" if picks == "most likely" else None,
                ms=5,
                label=title if penalty else f"{title}; {picks}",
            )
        axis.axvline(said["limit"], color=RULED_OUT, lw=1, ls="--")
        axis.set_xlabel("MFLOPs, mean", fontsize=9)
        axis.set_ylabel("test error, mean", fontsize=9)
        axis.tick_params(labelsize=8)
        axis.set_title(f"{file}: RL rates {', '.join(f'{rate:g}' for rate in rates)}", fontsize=10)
        drawn.legend(loc="outside right upper", fontsize=7)
        save(drawn, out / f"tables-{file}")
