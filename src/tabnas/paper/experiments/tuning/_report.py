"""The report and the figures of the tuning experiment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tabnas.paper._experiment import Row, filter_rows
from tabnas.paper._figures import (
    GRAY,
    OTHER_COLORS,
    OURS_COLOR,
    THEIRS_COLOR,
    make_figure,
    save_figure,
)
from tabnas.paper._markdown import Column, records_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EXACT = "exact"
"""In place of N, where P(V) is exact."""
COLLAPSED = 0.01
"""Below this P(V), hardly any policy step has a feasible sample to learn from."""

_SEARCHES = """\
## Searches

The paper's loop with Monte Carlo rejection on real tables, and with the exact P(V), where y is
sampled from the policy in both, so that only P(V) differs. `after` and `min` are the true P(V) at
the end (mean over seeds) and its minimum. A policy step is one whose y is feasible, including its
evaluation on a validation batch, in microseconds of a core. The loss is that of the architecture
that Algorithm 3 selects, trained stand-alone, mean ± standard deviation over seeds of the search.
`over` is how often the policy's most likely architecture is over the limit. In the paper, on the
complete Criteo, P(V) falls to 0 with N = 256 and the search fails; with 2,048 and 5,120 it rises
and the search succeeds."""

_FELL = "It fell below 0.01 with N = {}, as in the paper."
_NEVER_FELL = """\
It came near 0 with no N, unlike in the paper. The paper says that its gradient explodes as
the estimate nears 0; ours is a difference of frequencies, at most 1, and a step without a feasible
sample is skipped. That may be the reason, and so may the number of policy steps, far below the
paper's: this experiment does not distinguish the two."""

_CAVEATS = """\
So few searches can show whether P(V) collapses and how long a policy step takes. They cannot show
that one N finds better architectures than another: with two searches a row, or one, that may be
chance. Times are of a core that was shared with other work, which makes all of them longer; compare
them with one another."""


def report(definition: Mapping[str, Any], summary: Mapping[str, Any], missing: str) -> str:
    """Return the report; `missing` names the tables that were not run."""
    toy = summary["toy"]
    exact = {"feasible": "exact, y sampled from V", "policy": "exact, y sampled from the policy"}
    columns: list[Column] = [
        (f"ends on {toy['optimum']}", "{success:.1%}"),
        (
            "its probability",
            "{optimum_probability_mean:.2f} ± {optimum_probability_std:.2f}",
        ),
        ("ends infeasible", "{infeasible:.1%}"),
    ]
    parts = [
        "## The toy problem\n\n"
        f"{toy['seeds']} runs a row, {toy['steps']} steps each; the probability of the optimum is "
        "mean ± standard deviation over runs. The paper: beta has a narrow window, too small and "
        "the search ends infeasible, too large and it ends on a suboptimal architecture; N is "
        "easier to tune, the larger the better.",
        records_table(toy["by_beta"], ("beta of Abs", "{beta}"), *columns),
        records_table(
            [*toy["by_samples"], *toy["exact"]],
            ("N of rejection", lambda row: row.get("samples") or exact[row["sample_from"]]),
            *columns,
        ),
        _describe_toy(toy),
        "![toy](toy.png)",
        _SEARCHES,
    ]
    tables = {table["title"]: table for table in definition["tables"]}
    for title, result in summary["tables"].items():
        table = tables[title]
        searches = "one search" if table["seeds"] == 1 else f"{table['seeds']} searches"
        selected = (
            f"- {row['samples']}: {', '.join(row['selected'])}" for row in result["by_samples"]
        )
        parts += [
            f"### {title}\n\n{title} is {result['description']}. Limit: {result['limit']:,} "
            f"parameters. The paper's reference has a loss of {result['reference_loss']:.4f} here.",
            f"Searches of {result['epochs']} epochs (the paper's: {table['paper_epochs']}), RL "
            f"learning rate {table['rl_learning_rate']} (the paper's: 0.005), {searches} a row.",
            records_table(
                result["by_samples"],
                ("N", _format_samples),
                ("P(V) before", "{p_feasible_before:.3f}"),
                ("after", lambda row: f"{np.mean(row['p_feasible_after']):.3f}"),
                ("min", "{p_feasible_min:.3f}"),
                ("policy step", "{step_microseconds:,.0f} µs"),
                ("loss", _format_loss),
                ("over", lambda row: f"{1 - row['most_likely_feasible']:.0%}"),
            ),
            _describe_searches(result["by_samples"]),
            "What Algorithm 3 selected, by N:\n\n" + "\n".join(selected),
        ]
    if summary["tables"]:
        parts += [_CAVEATS, "![searches](searches.png)"]
    return "\n\n".join([*parts, missing]).strip()


def _format_samples(row: Mapping[str, Any]) -> str:
    samples: str = row["samples"]
    return samples if samples == EXACT else f"{int(samples):,}"


def _format_loss(row: Mapping[str, Any]) -> str:
    several = len(row["selected"]) > 1
    return f"{row['loss']:.4f}" + (f" ± {row['loss_std']:.4f}" if several else "")


def _describe_toy(toy: Mapping[str, Any]) -> str:
    best = max(toy["by_beta"], key=lambda row: row["success"])
    shares = [row["success"] for row in toy["by_samples"]]
    half = len(shares) // 2
    few, many = float(np.mean(shares[:half])), float(np.mean(shares[-half:]))
    error = 0.5 / (half * toy["seeds"]) ** 0.5  # of each mean, at most
    success = {row["sample_from"]: row["success"] for row in toy["exact"]}
    return (
        f"Abs: no beta does well. The best is {best['beta']} with {best['success']:.1%}, where "
        f"{best['infeasible']:.1%} end infeasible. Rejection is never infeasible. The smaller half "
        f"of the N succeeds in {few:.1%}, the larger half in {many:.1%}, a difference of "
        f"{(many - few) / (2**0.5 * error):.1f} standard errors; the exact P(V) in "
        f"{success['policy']:.1%}, and in {success['feasible']:.1%} with y sampled from V, so that "
        "no step is wasted."
    )


def _describe_searches(rows: list[dict[str, Any]]) -> str:
    rose = [
        row["samples"]
        for row in rows
        if float(np.mean(row["p_feasible_after"])) > row["p_feasible_before"]
    ]
    collapsed = [row["samples"] for row in rows if row["p_feasible_min"] < COLLAPSED]
    times = {row["samples"]: row["step_microseconds"] for row in rows}
    largest = rows[-2]["samples"]
    fell = _FELL.format(", ".join(collapsed)) if collapsed else _NEVER_FELL
    return (
        f"P(V) ended higher than it began with N = {', '.join(rose) or 'none'}. {fell} A policy "
        f"step with N = {largest} takes {times[largest] / times[EXACT]:.1f} times as long as an "
        "exact one."
    )


def plot_toy(toy: Mapping[str, Any], out: Path) -> None:
    """Plot success against beta and against N, with the exact P(V) beside it."""
    figure, axes = make_figure(1, 2, size=(9, 3.6))
    left, right = axes[0]
    label = f"ends on {toy['optimum']}"
    betas = [-row["beta"] for row in toy["by_beta"]]
    _plot_success(left, betas, toy["by_beta"], THEIRS_COLOR, label)
    infeasible = [row["infeasible"] for row in toy["by_beta"]]
    left.plot(betas, infeasible, ":", color=GRAY, label="ends infeasible")
    left.set(xlabel="|beta|", title="Abs")
    samples = [int(row["samples"]) for row in toy["by_samples"]]
    _plot_success(right, samples, toy["by_samples"], OURS_COLOR, label)
    for row, style in zip(toy["exact"], ("--", ":"), strict=True):
        where = "V" if row["sample_from"] == "feasible" else "the policy"
        label = f"exact, y sampled from {where}"
        right.axhline(row["success"], color=OURS_COLOR, ls=style, label=label)
    right.set(xlabel="Monte Carlo samples N", title="Rejection")
    for axis, place in ((left, "center left"), (right, "lower right")):
        axis.set(ylim=(-0.03, 1.03), ylabel="share of runs", xscale="log")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8, frameon=False, loc=place)
    save_figure(figure, out / "toy")


def _plot_success(
    axis: Axes, x: list[float] | list[int], rows: list[dict[str, Any]], color: str, label: str
) -> None:
    """Plot the share of runs that end on the optimum; shaded, its probability, mean ± std."""
    axis.plot(x, [row["success"] for row in rows], "o-", color=color, label=label)
    mean = np.array([row["optimum_probability_mean"] for row in rows])
    std = np.array([row["optimum_probability_std"] for row in rows])
    axis.plot(x, mean, "-", color=color, lw=0.8, alpha=0.6)
    low, high = np.clip(mean - std, 0, 1), np.clip(mean + std, 0, 1)
    axis.fill_between(x, low, high, color=color, alpha=0.15, lw=0, label="its probability, ± std")


def plot_searches(rows: list[Row], summary: Mapping[str, Any], out: Path) -> None:
    """Plot P(V) over the search, the time of a policy step and the loss, for each table."""
    tables = summary["tables"]
    figure, axes = make_figure(len(tables), 3, size=(11, 3.2 * len(tables)))
    samples = [row["samples"] for row in next(iter(tables.values()))["by_samples"]]
    colors = dict(zip(samples, (*OTHER_COLORS[: len(samples) - 1], OURS_COLOR), strict=True))
    positions = list(range(len(samples)))
    for line, (title, result) in zip(axes, tables.items(), strict=True):
        for row in filter_rows(rows, part="search", table=title):
            _plot_p_feasible(line[0], row, colors[row["samples"]])
        line[0].set(ylabel=f"{title}\nP(V)", ylim=(0, None), xlabel="share of the search")
        line[0].legend(fontsize=7, frameon=False, title="N", title_fontsize=7)
        times = [row["step_microseconds"] for row in result["by_samples"]]
        line[1].bar(positions, times, color=list(colors.values()))
        line[1].set(ylabel="policy step, µs of a core", xlabel="N")
        losses = [row["loss"] for row in result["by_samples"]]
        spread = [row["loss_std"] for row in result["by_samples"]]
        line[2].errorbar(positions, losses, spread, fmt="o", color=OURS_COLOR, capsize=3)
        line[2].axhline(result["reference_loss"], color="k", ls=":", lw=1, label="reference")
        line[2].set(ylabel="loss of what was selected", xlabel="N")
        line[2].legend(fontsize=7, frameon=False)
        for axis in line[1:]:
            axis.set_xticks(positions, samples)
        for axis in line:
            axis.tick_params(labelsize=8)
            axis.grid(axis="y", alpha=0.3)
            axis.set_axisbelow(True)
    save_figure(figure, out / "searches")


def _plot_p_feasible(axis: Axes, row: Row, color: str) -> None:
    """Plot the true P(V) as a line, and its estimates as dots."""
    label = row["samples"] if row["seed"] == 0 else None
    axis.plot(row["progress"], row["p_feasible"], color=color, lw=1.2, label=label)
    if row["p_estimated"][0] is not None:
        axis.plot(row["progress"], row["p_estimated"], ".", color=color, ms=2, alpha=0.6)
