"""What the tuning experiment says and draws."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tabnas.paper._experiment import Row
from tabnas.paper._figures import OTHERS, OURS, RULED_OUT, THEIRS, figure, save
from tabnas.paper._markdown import markdown_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EXACT = "exact"
"""In place of N, where P(V) is computed."""
LOST = 0.01  # a P(V) below it leaves hardly a step to learn from

_SEARCHES = """\
## Searches

The paper's loop with Monte Carlo rejection on real tables, and with the exact P(V), y drawn from
the policy in both, so that nothing differs but P(V). `after` and `least` are the true P(V) in the
end (mean over seeds) and at its lowest; a policy step is one whose y is feasible, with the look at
a validation batch, in microseconds of a core; loss is that of the architecture which Algorithm 3
returns, trained alone, mean ± standard deviation over seeds of the search; `over` is how often the
policy's most likely architecture is over the limit. The paper, on the complete Criteo: with N = 256
P(V) falls to 0 and the search fails, with 2,048 and 5,120 it rises and the search succeeds."""

_FELL = "It fell below 0.01 with N = {}, as in the paper."
_NEVER_FELL = """\
It came near 0 with no N, unlike in the paper. There the gradient is said to explode as the estimate
nears 0; ours is a difference of frequencies, at most 1, and a step without a feasible sample is
skipped. That may be why, and so may the number of policy steps, far below the paper's: this
experiment does not tell the two apart."""

_CAVEATS = """\
So few searches can show whether P(V) collapses and what a policy step takes. They cannot show that
one N finds better architectures than another: with two searches a row, or one, that may be chance.
Times are of a core that was shared with other work, which makes all of them longer; compare them
with one another."""


def report(said: Mapping[str, Any], summary: Mapping[str, Any], absent: str) -> str:
    """Write the page; `absent` names the tables that were not run."""
    toy = summary["toy"]
    head = [f"ends on {toy['optimum']}", "its probability", "ends infeasible"]
    first = [*toy["by_samples"], *toy["exact"]]
    drawn = {"feasible": "exact, y drawn within V", "policy": "exact, y drawn from the policy"}
    parts = [
        "## The toy\n\n"
        f"{toy['seeds']} runs a row, {toy['steps']} steps each; of its probability, mean ± "
        "standard deviation over runs. The paper: beta has a narrow window, too small and the "
        "search ends infeasible, too large and it ends on a suboptimal architecture; with N, "
        "the larger the better, and easier to tune.",
        markdown_table(
            ["beta of Abs", *head], [[row["beta"], *_cells(row)] for row in toy["by_beta"]]
        ),
        markdown_table(
            ["N of rejection", *head],
            [[row.get("samples") or drawn[row["draw"]], *_cells(row)] for row in first],
        ),
        _toy_words(toy),
        "![toy](toy.png)",
        _SEARCHES,
    ]
    tables = {table["title"]: table for table in said["tables"]}
    for title in summary["tables"]:
        table = tables[title]
        facts = summary["tables"][title]
        parts += [
            f"### {title}\n\n{title} is {facts['what']}. Limit: {facts['limit']:,} parameters. The "
            f"paper's reference has a loss of {facts['reference_loss']:.4f} here.",
            f"Searches of {facts['epochs']} epochs (the paper's: {table['paper_epochs']}), RL rate "
            f"{table['rl_rate']} (the paper's: 0.005), {_seeds(table['seeds'])}.",
            markdown_table(
                ["N", "P(V) before", "after", "least", "policy step", "loss", "over"],
                [_search_cells(row) for row in facts["by_samples"]],
            ),
            _search_words(facts["by_samples"]),
            "What Algorithm 3 returned, by N:\n\n" + _found(facts["by_samples"]),
        ]
    if summary["tables"]:
        parts += [_CAVEATS, "![searches](searches.png)"]
    return "\n\n".join([*parts, absent]).strip()


def draw_toy(toy: Mapping[str, Any], out: Path) -> None:
    """Success against beta and against N, with the exact policy beside it."""
    drawn, axes = figure(1, 2, size=(9, 3.6))
    left, right = axes[0]
    betas = [-row["beta"] for row in toy["by_beta"]]
    _curve(left, betas, toy["by_beta"], THEIRS, f"ends on {toy['optimum']}")
    infeasible = [row["infeasible"] for row in toy["by_beta"]]
    left.plot(betas, infeasible, ":", color=RULED_OUT, label="ends infeasible")
    left.set(xlabel="|beta|", title="Abs")
    samples = [int(row["samples"]) for row in toy["by_samples"]]
    _curve(right, samples, toy["by_samples"], OURS, f"ends on {toy['optimum']}")
    for row, style in zip(toy["exact"], ("--", ":"), strict=True):
        where = "within V" if row["draw"] == "feasible" else "from the policy"
        label = f"exact, y drawn {where}"
        right.axhline(row["success"], color=OURS, ls=style, label=label)
    right.set(xlabel="Monte Carlo samples N", title="Rejection")
    for axis in (left, right):
        axis.set(ylim=(-0.03, 1.03), ylabel="share of runs", xscale="log")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8, frameon=False, loc="center left" if axis is left else "lower right")
    save(drawn, out / "toy")


def draw_searches(rows: list[Row], summary: Mapping[str, Any], out: Path) -> None:
    """P(V) over the search, the time of a policy step and what was found, for each table."""
    titles = list(summary["tables"])
    drawn, axes = figure(len(titles), 3, size=(11, 3.2 * len(titles)))
    every = [row["samples"] for row in summary["tables"][titles[0]]["by_samples"]]
    colours = dict(zip(every, (*OTHERS[: len(every) - 1], OURS), strict=True))
    for line, title in zip(axes, titles, strict=True):
        for row in rows:
            if row["part"] == "search" and row["table"] == title:
                _paths(line[0], row, colours[row["samples"]])
        line[0].set(ylabel=f"{title}\nP(V)", ylim=(0, None), xlabel="share of the search")
        line[0].legend(fontsize=7, frameon=False, title="N", title_fontsize=7)
        facts = summary["tables"][title]
        places = range(len(every))
        times = [row["step_microseconds"] for row in facts["by_samples"]]
        line[1].bar(places, times, color=[colours[name] for name in every])
        line[1].set(ylabel="policy step, µs of a core", xlabel="N")
        losses = [row["loss"] for row in facts["by_samples"]]
        spread = [row["loss_std"] for row in facts["by_samples"]]
        line[2].errorbar(places, losses, spread, fmt="o", color=OURS, capsize=3)
        line[2].axhline(facts["reference_loss"], color="k", ls=":", lw=1, label="reference")
        line[2].set(ylabel="loss of what was found", xlabel="N")
        line[2].legend(fontsize=7, frameon=False)
        for axis in line[1:]:
            axis.set_xticks(list(places), every)
        for axis in line:
            axis.tick_params(labelsize=8)
            axis.grid(axis="y", alpha=0.3)
            axis.set_axisbelow(True)
    save(drawn, out / "searches")


def _cells(row: Mapping[str, Any]) -> list[str]:
    mean, std = row["optimum_probability_mean"], row["optimum_probability_std"]
    return [f"{row['success']:.1%}", f"{mean:.2f} ± {std:.2f}", f"{row['infeasible']:.1%}"]


def _seeds(count: int) -> str:
    return "one search a row" if count == 1 else f"{count} searches a row"


def _search_cells(row: Mapping[str, Any]) -> list[object]:
    samples = row["samples"]
    return [
        samples if samples == EXACT else f"{int(samples):,}",
        f"{row['p_feasible_before']:.3f}",
        f"{np.mean(row['p_feasible_after']):.3f}",
        f"{row['p_feasible_least']:.3f}",
        f"{row['step_microseconds']:,.0f} µs",
        f"{row['loss']:.4f}" + (f" ± {row['loss_std']:.4f}" if len(row["chosen"]) > 1 else ""),
        f"{1 - row['favourite_feasible']:.0%}",
    ]


def _found(rows: list[dict[str, Any]]) -> str:
    return "\n".join(f"- {row['samples']}: {', '.join(row['chosen'])}" for row in rows)


def _toy_words(toy: Mapping[str, Any]) -> str:
    best = max(toy["by_beta"], key=lambda row: row["success"])
    shares = [row["success"] for row in toy["by_samples"]]
    half = len(shares) // 2
    few, many = float(np.mean(shares[:half])), float(np.mean(shares[-half:]))
    error = 0.5 / (half * toy["seeds"]) ** 0.5  # of each mean, at most
    within, rejecting = (
        next(row["success"] for row in toy["exact"] if row["draw"] == draw)
        for draw in ("feasible", "policy")
    )
    return (
        f"Abs: no beta does well. The best is {best['beta']} with {best['success']:.1%}, where "
        f"{best['infeasible']:.1%} end infeasible. Rejection is never infeasible. The smaller half "
        f"of the N succeeds in {few:.1%}, the larger half in {many:.1%}, a difference of "
        f"{(many - few) / (2**0.5 * error):.1f} standard errors; the exact P(V) in "
        f"{rejecting:.1%}, and in {within:.1%} with y drawn within V, so that no step is wasted."
    )


def _search_words(rows: list[dict[str, Any]]) -> str:
    rose = [
        row["samples"]
        for row in rows
        if float(np.mean(row["p_feasible_after"])) > row["p_feasible_before"]
    ]
    lost = [row["samples"] for row in rows if row["p_feasible_least"] < LOST]
    times = {row["samples"]: row["step_microseconds"] for row in rows}
    largest = rows[-2]["samples"]
    fell = _FELL.format(", ".join(lost)) if lost else _NEVER_FELL
    slower = times[largest] / times[EXACT]
    return (
        f"P(V) ended higher than it began with N = {', '.join(rose) or 'none'}. {fell} A policy "
        f"step with N = {largest} takes {slower:.1f} times as long as an exact one."
    )


def _curve(
    axis: Axes, x: list[float] | list[int], rows: list[dict[str, Any]], color: str, label: str
) -> None:
    """The share of runs that end on the optimum; shaded, the probability it has, mean ± std."""
    axis.plot(x, [row["success"] for row in rows], "o-", color=color, label=label)
    mean = np.array([row["optimum_probability_mean"] for row in rows])
    std = np.array([row["optimum_probability_std"] for row in rows])
    axis.plot(x, mean, "-", color=color, lw=0.8, alpha=0.6)
    low, high = np.clip(mean - std, 0, 1), np.clip(mean + std, 0, 1)
    axis.fill_between(x, low, high, color=color, alpha=0.15, lw=0, label="its probability, ± std")


def _paths(axis: Axes, row: Row, color: str) -> None:
    """True P(V) as a line, Monte Carlo's as dots."""
    label = row["samples"] if row["seed"] == 0 else None
    axis.plot(row["progress"], row["p_feasible"], color=color, lw=1.2, label=label)
    if row["p_estimated"][0] is not None:
        axis.plot(row["progress"], row["p_estimated"], ".", color=color, ms=2, alpha=0.6)
