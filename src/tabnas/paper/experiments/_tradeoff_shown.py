"""Trade-offs for people: the report and the figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tabnas.paper._figures import OURS, RULED_OUT, THEIRS, figure, save
from tabnas.paper._markdown import markdown_table
from tabnas.paper.experiments._pareto import EVIDENT, Tradeoff
from tabnas.paper.experiments._ticks import log_ticks
from tabnas.space import BOTTLENECK_DEFINITION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIGNIFICANT = 0.05
SHOWN = 12
"""Members of a front that the report lists; `summary.json` has all."""


def tradeoff_report(summary: Mapping[str, Any], absent: str) -> str:
    """What is compared, what is seen on each table, and the fronts."""
    tables = summary["tradeoffs"]
    kept = "\n".join(
        f"- {own['title']}: {own['what']}; {own['architectures']} architectures, "
        f"{_times(own['trainings_each'])} each."
        for own in tables
    )
    fronts = "\n\n".join(
        f"### {own['title']}\n\n"
        + markdown_table(
            ["Pareto-optimal", "parameters", "loss", "narrows by"],
            [
                [
                    one["architecture"],
                    f"{one['parameters']:,}",
                    f"{one['loss']:.4f}",
                    f"{one['narrowing']:.1f}" if one["narrowing"] > 1 else "",
                ]
                for one in _some(own["pareto"])
            ],
        )
        for own in tables
    )
    return (
        "Every architecture trained alone, its loss on validation rows against its number of "
        "parameters. An architecture is Pareto-optimal if no other one seen costs no more and is "
        "no worse.\n\n"
        f"{kept}\n\n{absent}\n\n![trade-offs](tradeoff.png)\n\n"
        "## Bottlenecks\n\n"
        "The paper says that almost all Pareto-optimal architectures on Criteo and Volkert have a "
        f"bottleneck: {BOTTLENECK_DEFINITION}. Many architectures have one anyway, so the front is "
        "compared with the rest: *expected* is how many there would be if the front were drawn at "
        f"random among architectures within {100 * summary['same_cost']:.0f} % of its members' "
        "costs; *p* is that of Fisher's exact test against all others; intervals are of 95 %.\n\n"
        f"{_counted(tables, 'bottlenecks')}\n\n{_said(tables, 'bottlenecks')}\n\n"
        "Where the table has far more inputs than the first layer has units, and layers are many, "
        "nearly every architecture has a bottleneck, on the front or off it. So here are "
        f"the evident ones alone, which narrow by {EVIDENT:g} or more on both sides:\n\n"
        f"{_counted(tables, 'evident')}\n\n{_said(tables, 'evident')}\n\n"
        "Single trainings favour the lucky: a front of them is partly one of noise. And of so many "
        "tests one in twenty is below 0.05 by chance.\n\n"
        f"## The fronts\n\nAt most {SHOWN} of each; all are in `summary.json`. *Narrows by*: how "
        f"many times wider than its bottleneck the network is on both sides of it.\n\n{fronts}\n"
    )


def _counted(tradeoffs: Sequence[Mapping[str, Any]], which: str) -> str:
    return markdown_table(
        ["table", "on the front", "of which with", "expected", "of the others", "p"],
        [
            [
                own["title"],
                own[which]["front"],
                f"{own[which]['front_with']} ({_share(own[which]['front_interval'])})",
                f"{own[which]['expected_at_the_same_cost']:.1f}",
                f"{_others_share(own[which]):.0%}",
                f"{own[which]['p_value']:.2g}",
            ]
            for own in tradeoffs
        ],
    )


def _said(tradeoffs: Sequence[Mapping[str, Any]], which: str) -> str:
    """What the counts come to, in words."""
    mostly = [own for own in tradeoffs if _front_share(own[which]) > 0.5]
    known = [own for own in tradeoffs if own[which]["p_value"] < SIGNIFICANT]
    more = [own for own in known if _front_share(own[which]) > _others_share(own[which])]
    fewer = [own for own in known if own not in more]
    return (
        f"- Most of the front has one: {_listed(mostly)}.\n"
        f"- The front has significantly more of them than the rest: {_listed(more)}.\n"
        f"- It has significantly fewer: {_listed(fewer)}."
    )


def _front_share(counts: Mapping[str, Any]) -> float:
    return float(counts["front_with"] / counts["front"])


def _others_share(counts: Mapping[str, Any]) -> float:
    return float(counts["others_with"] / counts["others"]) if counts["others"] else 0.0


def _listed(tables: Sequence[Mapping[str, Any]]) -> str:
    return "; ".join(own["title"] for own in tables) or "none of them"


def _times(number: int) -> str:
    return "one training" if number == 1 else f"{number} trainings"


def _share(interval: Sequence[float]) -> str:
    low, high = interval
    return f"{low:.0%} to {high:.0%}"


def _some(front: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Not more than are shown, from end to end."""
    if len(front) <= SHOWN:
        return front
    return [front[k] for k in np.linspace(0, len(front) - 1, SHOWN).round().astype(int)]


def draw_tradeoffs(tradeoffs: Mapping[str, Tradeoff], path: Path) -> None:
    """One picture each, three in a row."""
    columns = min(3, len(tradeoffs))
    lines = -(-len(tradeoffs) // columns)
    drawn, axes = figure(lines, columns, size=(4.2 * columns, 3.4 * lines))
    for axis in axes.ravel()[len(tradeoffs) :]:
        axis.set_axis_off()
    for axis, (title, points) in zip(axes.ravel(), tradeoffs.items(), strict=False):
        _draw(axis, points)
        axis.set_title(title, fontsize=10)
    axes[0, 0].legend(fontsize=8, frameon=False)
    save(drawn, path)


def _draw(axis: Axes, points: Tradeoff) -> None:
    for narrow, marker, label in ((True, "o", "bottleneck"), (False, "x", "none")):
        own = (points.narrowing > 1) == narrow
        color = OURS if narrow else RULED_OUT
        axis.scatter(
            points.costs[own], points.losses[own], s=11, marker=marker, lw=0.8, c=color, label=label
        )
    front = points.along_the_front()
    axis.plot(
        points.costs[front],
        points.losses[front],
        color=THEIRS,
        lw=1.2,
        drawstyle="steps-post",
        label="Pareto front",
    )
    log_ticks(axis, "{x:,.0f}")
    axis.set_xlabel("parameters", fontsize=9)
    axis.set_ylabel("validation loss", fontsize=9)
    axis.tick_params(labelsize=8)
