"""The report and the figure of the trade-offs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tabnas.paper._figures import (
    GRAY,
    OURS_COLOR,
    THEIRS_COLOR,
    make_panels,
    save_figure,
    set_log_ticks,
)
from tabnas.paper._markdown import records_table
from tabnas.paper.experiments.common import SIGNIFICANCE
from tabnas.paper.experiments.tradeoff._bottlenecks import MIN_CLEAR_RATIO, Tradeoff
from tabnas.space import BOTTLENECK_DEFINITION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_SHOWN = 12
"""Members of a front that the report lists; `summary.json` has all."""


def report(summary: Mapping[str, Any], missing: str) -> str:
    """Return the report; `missing` names the tables that were not run."""
    tradeoffs = summary["tradeoffs"]
    tables = "\n".join(
        "- {title}: {description}; {architectures} architectures, {trainings} each.".format(
            trainings=_count_trainings(tradeoff["trainings_each"]), **tradeoff
        )
        for tradeoff in tradeoffs
    )
    fronts = "\n\n".join(
        f"### {tradeoff['title']}\n\n"
        + records_table(
            _thin_out(tradeoff["pareto"]),
            ("Pareto-optimal", "{architecture}"),
            ("parameters", "{parameters:,}"),
            ("loss", "{loss:.4f}"),
            ("bottleneck ratio", _format_ratio),
        )
        for tradeoff in tradeoffs
    )
    return (
        "Every architecture is trained stand-alone: its loss on validation rows against its number "
        "of parameters. An architecture is Pareto-optimal if no other one is at least as cheap and "
        "as good.\n\n"
        f"{tables}\n\n{missing}\n\n![trade-offs](tradeoff.png)\n\n"
        "## Bottlenecks\n\n"
        "The paper says that almost all Pareto-optimal architectures on Criteo and Volkert have a "
        f"bottleneck: {BOTTLENECK_DEFINITION}. Many architectures have one anyway, so the front is "
        "compared with the rest: *expected* is how many there would be if the front were drawn at "
        f"random among architectures within {100 * summary['cost_tolerance']:.0f} % of its "
        "members' costs; *p* is that of Fisher's exact test against all others; intervals are of "
        f"95 %.\n\n{_counts_table(tradeoffs, 'bottlenecks')}\n\n"
        f"{_describe_counts(tradeoffs, 'bottlenecks')}\n\n"
        "Where the table has far more inputs than the first layer has units, and layers are many, "
        "nearly every architecture has a bottleneck, on the front or off it. So here are only "
        f"the clear ones, which narrow by {MIN_CLEAR_RATIO:g} or more on both sides:\n\n"
        f"{_counts_table(tradeoffs, 'clear_bottlenecks')}\n\n"
        f"{_describe_counts(tradeoffs, 'clear_bottlenecks')}\n\n"
        "Single trainings favour the lucky: a front of them is partly one of noise. And of so many "
        "tests one in twenty is below 0.05 by chance.\n\n"
        f"## The fronts\n\nAt most {MAX_SHOWN} of each; all are in `summary.json`. The *bottleneck "
        "ratio* is how many times wider than its bottleneck the network is on both sides of it."
        f"\n\n{fronts}\n"
    )


def _count_trainings(number: int) -> str:
    return "one training" if number == 1 else f"{number} trainings"


def _format_ratio(point: Mapping[str, Any]) -> str:
    ratio = point["bottleneck_ratio"]
    return f"{ratio:.1f}" if ratio > 1 else ""


def _counts_table(tradeoffs: Sequence[Mapping[str, Any]], key: str) -> str:
    return records_table(
        [{"title": tradeoff["title"], **tradeoff[key]} for tradeoff in tradeoffs],
        ("table", "{title}"),
        ("on the front", "{front}"),
        ("with a bottleneck", "{front_with} ({front_interval[0]:.0%} to {front_interval[1]:.0%})"),
        ("expected", "{expected_at_same_cost:.1f}"),
        ("of the others", lambda counts: f"{_others_share(counts):.0%}"),
        ("p", "{p_value:.2g}"),
    )


def _describe_counts(tradeoffs: Sequence[Mapping[str, Any]], key: str) -> str:
    counts = {tradeoff["title"]: tradeoff[key] for tradeoff in tradeoffs}
    most = [title for title, count in counts.items() if _front_share(count) > 0.5]
    known = [title for title, count in counts.items() if count["p_value"] < SIGNIFICANCE]
    more = [t for t in known if _front_share(counts[t]) > _others_share(counts[t])]
    fewer = [title for title in known if title not in more]
    lines = {
        "Most of the front has one": most,
        "The front has significantly more of them than the rest": more,
        "It has significantly fewer": fewer,
    }
    return "\n".join(
        f"- {line}: {'; '.join(titles) or 'none of them'}." for line, titles in lines.items()
    )


def _front_share(counts: Mapping[str, Any]) -> float:
    return float(counts["front_with"] / counts["front"])


def _others_share(counts: Mapping[str, Any]) -> float:
    return float(counts["others_with"] / counts["others"]) if counts["others"] else 0.0


def _thin_out(front: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return at most `MAX_SHOWN` members of a front, from end to end."""
    if len(front) <= MAX_SHOWN:
        return front
    return [front[k] for k in np.linspace(0, len(front) - 1, MAX_SHOWN).round().astype(int)]


def plot_tradeoffs(tradeoffs: Mapping[str, Tradeoff], path: Path) -> None:
    """Plot loss against parameters, a panel for each trade-off."""
    figure, axes = make_panels(len(tradeoffs), width=4.2, height=3.4)
    for axis, (title, tradeoff) in zip(axes, tradeoffs.items(), strict=False):
        _plot(axis, tradeoff)
        axis.set_title(title, fontsize=10)
    axes[0].legend(fontsize=8, frameon=False)
    save_figure(figure, path)


def _plot(axis: Axes, tradeoff: Tradeoff) -> None:
    for narrow, marker, label in ((True, "o", "bottleneck"), (False, "x", "none")):
        selected = (tradeoff.ratios > 1) == narrow
        axis.scatter(
            tradeoff.costs[selected],
            tradeoff.losses[selected],
            s=11,
            marker=marker,
            lw=0.8,
            c=OURS_COLOR if narrow else GRAY,
            label=label,
        )
    front = tradeoff.front_indices()
    axis.plot(
        tradeoff.costs[front],
        tradeoff.losses[front],
        color=THEIRS_COLOR,
        lw=1.2,
        drawstyle="steps-post",
        label="Pareto front",
    )
    set_log_ticks(axis, "{x:,.0f}")
    axis.set_xlabel("parameters", fontsize=9)
    axis.set_ylabel("validation loss", fontsize=9)
    axis.tick_params(labelsize=8)
