"""The report and the figures of the calibration experiment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.paper._experiment import Row, filter_rows, mean, unique
from tabnas.paper._figures import (
    GRAY,
    OTHER_COLORS,
    OURS_COLOR,
    THEIRS_COLOR,
    make_figure,
    save_figure,
)
from tabnas.paper._ground_truth import load_ground_truth
from tabnas.paper._markdown import Column, records_table
from tabnas.paper.experiments.common._wording import format_difference
from tabnas.search import SearchSettings

SETS = ("all", "full", "feasible", "near")
"""Sets of architectures, each with its own correlations; the report defines them."""
OURS_TITLE = "rejection, exact"
WITHOUT_RL = "paper's children, no RL"
"""The title of the SuperNet of the paper's figure."""

_RANKING = """\
## One-shot against stand-alone loss

The validation loss of every architecture of the ground truth with the weights of a SuperNet,
against the mean loss of its stand-alone trainings: Pearson's r, and Spearman's rank correlation in
brackets, mean of seeds 0 to {last}. `all` are all architectures but the linear model, which no
SuperNet trains; `full` those with all three layers, since in the paper's spaces no layer may be
absent; `feasible` those within the limit, `near` those of {near:.0%} of it or more. "One seed", for
comparison, is the r of one stand-alone training and the mean of the others, among the feasible.
`lowest` is the regret of the feasible architecture with the lowest one-shot loss, in standard
deviations over seeds.

The SuperNets are those of a search with the settings of tabnas: with its own children (within a
limit that tightens; the policy has no influence on which are trained, so RL changes none of the
weights), and with the paper's (of the complete space, sampled from the policy), without RL and with
it. The paper finds r = 0.96 on Criteo, without RL."""

_BANDS = """\
At full depth, as in the paper's spaces, its SuperNet without RL ranks the architectures of these
tables with r = {low:.2f} to {high:.2f}, where the paper has 0.96. Where layers may be absent it
does worse among the feasible, of which many are shallow: it samples all architectures uniformly, so
few shallow ones are trained, and their output layers, which no deeper network shares, seem worse
than they are (the bands in the figure). The default samples each depth equally often, and only
architectures that are within or close to the limit, so it ranks better there, and worse over the
complete space, most of which it never trains. Yet ranking all feasible architectures better does
not mean finding the first of them: the lowest one-shot loss is hardly a better choice with one than
with the other. So a search proposes several candidates, and a run trains them."""

_NOISE = """\
 Two trainings of the same architectures correlate with r = {:.2f} only: with so few rows, the
differences between architectures are lost in the noise, and the paper's claim can be neither
confirmed nor refuted here."""

_LATE = """\
## RL that starts late

The paper's own test of whether the SuperNet or RL is at fault: the SuperNet is trained with the
paper's children and without RL for {start:.0%} of the epochs, then RL starts with one evaluation a
step. As in the paper, nothing else changes: the warm-up, in which the complete SuperNet is trained
at times, is still the first {warmup:.0%}. The RL learning rate is {rate}: at the paper's 0.005
policies stayed undecided in so few steps, at 0.05 they decided early (one seed of each was tried).
Up to the start of RL all rewards of a seed have the same SuperNet, bit for bit.
Regret is that of what Algorithm 3 selects, mean of seeds 0 to {last} with its 95 % interval, and on
rows that nothing has seen (`test`); `over` is how often the policy's most likely architecture is
over the limit: Abs would have returned that one. The paper: with Abs, RL still selects a suboptimal
architecture, so RL is at fault and not the SuperNet."""


def report(definition: Mapping[str, Any], summary: Mapping[str, Any], missing: str) -> str:
    """Return the report; `missing` names the tables that were not run."""
    ranking, late = definition["ranking"], definition["late"]
    parts = [
        _RANKING.format(last=ranking["seeds"] - 1, near=ranking["near"]),
        *(_ranking_table(table, summary["ranking"]) for table in summary["tables"]),
        _describe_ranking(summary["ranking"]),
        "![scatter](one-shot.png)",
    ]
    if summary["sampled"]:
        parts.append(_describe_sampled(summary["sampled"]))
    parts += [
        _LATE.format(
            start=late["policy_start"],
            warmup=SearchSettings.warmup,
            rate=late["rl_learning_rate"],
            last=late["seeds"] - 1,
        ),
        records_table(
            summary["late"],
            ("table", "{table}"),
            ("limit", "{limit:,}"),
            ("reward", "{title}"),
            ("regret", "{regret_of_first:.2f} ± {interval:.2f}"),
            ("test", "{test_regret_of_first:.2f}"),
            ("over", "{most_likely_infeasible:.0%}"),
        ),
        _describe_late(summary),
        "![late](late.png)",
    ]
    if summary["missing"]:
        names = ", ".join(summary["missing"])
        parts.append(f"Not run, since it does not come with tabnas: the ground truth of {names}.")
    return "\n\n".join([*parts, missing]).strip()


def _describe_sampled(sampled: Mapping[str, Any]) -> str:
    noise = "" if sampled["seeds_pearson"] is None else _NOISE.format(sampled["seeds_pearson"])
    return (
        f"## The paper's own table\n\n{sampled['table']} is {sampled['description']}. "
        f"{sampled['architectures']} architectures of the paper's 3-layer space, trained "
        f"{sampled['trainings']} times each, against SuperNets of the paper's loop without RL, "
        f"mean of {sampled['supernets'][0]['seeds']} seeds.{noise} The paper: r = 0.96.\n\n"
        + records_table(
            sampled["supernets"],
            ("SuperNet trained", "{title}"),
            ("Pearson", "{all_pearson:.2f}"),
            ("Spearman", "{all_spearman:.2f}"),
        )
    )


def _ranking_table(table: str, rows: list[dict[str, Any]]) -> str:
    rows = sorted(filter_rows(rows, table=table), key=lambda row: row["limit"])
    noise = {row["limit"]: f"{row['seeds_pearson']:.2f}" for row in rows}
    columns: list[Column] = [
        (name, f"{{{name}_pearson:.2f}} ({{{name}_spearman:.2f}})") for name in SETS
    ]
    cells = records_table(
        rows,
        ("limit", "{limit:,}"),
        ("SuperNet", "{title}"),
        *columns,
        ("lowest", "{lowest_regret:.1f}"),
    )
    return f"### {table}\n\n{cells}\n\nOne seed, by limit: {', '.join(noise.values())}."


def _describe_ranking(rows: list[dict[str, Any]]) -> str:
    lines = []
    for title in unique(rows, "title"):
        group = filter_rows(rows, title=title)
        everything, full, inside, near = (
            mean(row[f"{name}_pearson"] for row in group) for name in SETS
        )
        lowest = mean(row["lowest_regret"] for row in group)
        lines.append(
            f"- {title}: r = {everything:.2f} of all, {full:.2f} at full depth, {inside:.2f} among "
            f"the feasible, {near:.2f} near the limit, regret {lowest:.1f} of its lowest."
        )
    full_depth = [row["full_pearson"] for row in filter_rows(rows, title=WITHOUT_RL)]
    bands = _BANDS.format(low=min(full_depth), high=max(full_depth))
    return "\n\n".join(["Over all tables and limits:", "\n".join(lines), bands])


def _describe_late(summary: Mapping[str, Any]) -> str:
    rows = summary["late"]
    means = "; ".join(
        f"{title}: {mean(row['regret_of_first'] for row in filter_rows(rows, title=title)):.2f}"
        for title in unique(rows, "title")
    )
    differences = ", ".join(
        f"{format_difference(pair['regret_of_first'])} from {pair['title']}"
        for pair in summary["late_paired"]
    )
    limits = {(row["table"], row["limit"]) for row in rows}
    lowest = mean(
        row["lowest_regret"]
        for row in filter_rows(summary["ranking"], title=WITHOUT_RL)
        if (row["table"], row["limit"]) in limits
    )
    return (
        f"Mean regret over tables and limits: {means}. In pairs of the same table and seed, exact "
        f"rejection differs by {differences}; an interval that contains 0 does not tell which is "
        "better. This comparison is kind to Abs: Algorithm 3 samples within the limit for it, too. "
        "The architecture of lowest one-shot loss from a SuperNet of the paper's children without "
        f"any RL has a regret of {lowest:.2f} under the same limits."
    )


def plot_scatter(
    definition: Mapping[str, Any], rows: list[Row], summary: Mapping[str, Any], out: Path
) -> None:
    """Plot one-shot against stand-alone loss for the first seed and the middle limit."""
    shares = definition["ranking"]["shares"]
    share = shares[len(shares) // 2]
    titles = unique(definition["ranking"]["supernets"], "title")
    tables = summary["tables"]
    figure, axes = make_figure(
        len(tables), len(titles), size=(3.3 * len(titles), 2.9 * len(tables) + 0.3)
    )
    for line, table in zip(axes, tables, strict=True):
        truth = load_ground_truth(table)
        standalone = truth.losses["validation"].mean(axis=1)
        costs = truth.costs["parameters"]
        deep = np.array([bool(network.widths) for network in truth.architectures])
        for axis, title in zip(line, titles, strict=True):
            (row,) = filter_rows(
                rows, part="ranking", seed=0, table=table, title=title, share=share
            )
            one_shot = np.array(row["one_shot"])
            inside = deep & (costs <= row["limit"])
            near = inside & (costs >= definition["ranking"]["near"] * row["limit"])
            for members, color, label in (
                (deep & ~inside, GRAY, "over the limit"),
                (inside & ~near, OURS_COLOR, "feasible"),
                (near, THEIRS_COLOR, "near the limit"),
            ):
                axis.scatter(
                    standalone[members],
                    one_shot[members],
                    s=5,
                    color=color,
                    label=label,
                    rasterized=True,
                )
            low, high = standalone[deep].min(), standalone[deep].max()
            axis.plot([low, high], [low, high], "k:", lw=0.8)
            axis.set_title(
                f"{title}\nr = {row['feasible_pearson']:.2f} of the feasible", fontsize=8
            )
            axis.tick_params(labelsize=7)
        line[0].set_ylabel(f"{table}\none-shot loss", fontsize=8)
    axes[0, 0].legend(fontsize=7, frameon=False, markerscale=2)
    for axis in axes[-1]:
        axis.set_xlabel("stand-alone loss", fontsize=8)
    save_figure(figure, out / "one-shot")


def plot_late(definition: Mapping[str, Any], summary: Mapping[str, Any], out: Path) -> None:
    """Plot regret by reward, for each table and limit."""
    rows = summary["late"]
    groups = list(dict.fromkeys((row["table"], row["limit"]) for row in rows))
    titles = unique(rows, "title")
    figure, axes = make_figure(1, 1, size=(1.6 * len(groups) + 3, 3.4))
    axis = axes[0, 0]
    width = 0.8 / len(titles)
    others = iter(OTHER_COLORS)
    for k, title in enumerate(titles):
        color = OURS_COLOR if title == OURS_TITLE else next(others)
        group = filter_rows(rows, title=title)
        positions = np.arange(len(groups)) + (k - (len(titles) - 1) / 2) * width
        axis.bar(
            positions,
            [row["regret_of_first"] for row in group],
            0.9 * width,
            yerr=[row["interval"] for row in group],
            color=color,
            label=title,
            error_kw={"lw": 0.8},
        )
    axis.set_xticks(range(len(groups)), [f"{table}\n{limit:,}" for table, limit in groups])
    axis.set(ylabel="regret, standard deviations")
    axis.tick_params(labelsize=8)
    axis.grid(axis="y", alpha=0.3)
    axis.set_axisbelow(True)
    axis.legend(fontsize=7, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    start = definition["late"]["policy_start"]
    figure.suptitle(
        f"RL after {start:.0%} of the epochs: regret of what Algorithm 3 selects", fontsize=10
    )
    save_figure(figure, out / "late")
