"""What the calibration experiment says and draws."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.paper._experiment import Row
from tabnas.paper._figures import OTHERS, OURS, RULED_OUT, THEIRS, figure, save
from tabnas.paper._ground_truth import ground_truth
from tabnas.paper._markdown import markdown_table
from tabnas.paper.experiments import _paired_words as words
from tabnas.search import SearchSettings

SETS = ("all", "full", "feasible", "near")
"""Of architectures, each with its own correlations; the report says what they are."""
OURS_TITLE = "rejection, exact"
WITHOUT_RL = "paper's children, no RL"
"""The SuperNet of the paper's figure, by its title in the definition."""

_RANKING = """\
## One-shot against stand-alone loss

The validation loss of every architecture of the ground truth with the weights of a SuperNet,
against the mean loss of its stand-alone trainings: Pearson's r, and Spearman's rank correlation in
brackets, mean of seeds 0 to {last}. `all` are all architectures but the linear model, which no
SuperNet trains; `full` those with all three layers, as in the paper's spaces no layer may be
missing; `feasible` those within the limit, `near` those of {near:.0%} of it or more. "One
seed", for comparison, is the r of one stand-alone training and the mean of the others, among the
feasible.
`lowest` is the regret of the feasible architecture that the SuperNet says is best, in standard
deviations from seed to seed.

The SuperNets are those of a search with tabnas' settings: with its own children (within a limit
that tightens; the policy has no say in which are trained, so RL changes none of the weights), and
with the paper's (of the whole space, drawn from the policy), without RL and with it. The paper
finds r = 0.96 on Criteo, without RL."""

_BANDS = """\
At full depth, as in the paper's spaces, its SuperNet without RL ranks the architectures of these
tables with r = {low:.2f} to {high:.2f}, where the paper has 0.96. Where layers may be missing it
does worse among the feasible, of which many are shallow: it draws all architectures alike, so few
shallow ones are trained, and their output layers, which no deeper network shares, look worse than
they are (the bands in the figure). The default draws each depth alike, and only what the limit
nearly allows, so it ranks better there, and worse over the whole space, most of which it never
trains. Yet to rank all of the feasible better is not to find the first of them: the lowest one-shot
loss is hardly a better choice with the one than with the other. So a search names several
candidates, and trains them."""

_NOISE = """\
 Two trainings of the same architectures agree by r = {:.2f} only: with so few rows, what an
architecture is worth is lost in the noise, and the paper's claim can be neither confirmed nor
refuted here."""

_LATE = """\
## RL that starts late

The paper's own test of where the blame lies: the SuperNet is trained with the paper's children and
without RL for {start:.0%} of the epochs, then RL joins in with one look a step. As in the paper,
nothing else changes: the warm-up, in which the whole SuperNet is trained at times, is still the
first {warmup:.0%}. The rate of RL is {rate}: at the paper's 0.005 policies stayed undecided in so
few steps, at 0.05 they were soon sure (one seed of each was tried). Up to the start of RL all
rewards of a seed have the same SuperNet, to the bit.
Regret is that of what Algorithm 3 returns, mean of seeds 0 to {last} with its 95 % interval, and on
rows that nothing has seen (`test`); `over` is how often the policy's most likely architecture is
over the limit: Abs would have returned that one. The paper: with Abs, RL still picks a suboptimal
architecture, so RL is to blame and not the SuperNet."""


def report(said: Mapping[str, Any], summary: Mapping[str, Any], absent: str) -> str:
    """Write the page; `absent` names the tables that were not run."""
    parts = [
        _RANKING.format(last=said["ranking"]["seeds"] - 1, near=said["ranking"]["near"]),
        *(_ranking_table(table, summary["ranking"]) for table in summary["tables"]),
        _ranking_words(summary["ranking"]),
        "![scatter](one-shot.png)",
    ]
    if summary["sampled"]:
        parts.append(_sampled_part(summary["sampled"]))
    late = said["late"]
    parts += [
        _LATE.format(
            start=late["policy_start"],
            warmup=SearchSettings.warmup,
            rate=late["rate"],
            last=late["seeds"] - 1,
        ),
        markdown_table(
            ["table", "limit", "reward", "regret", "test", "over"],
            [
                [
                    row["table"],
                    f"{row['limit']:,}",
                    row["title"],
                    f"{row['regret_of_first']:.2f} ± {row['interval']:.2f}",
                    f"{row['test_regret_of_first']:.2f}",
                    f"{row['favourite_infeasible']:.0%}",
                ]
                for row in summary["late"]
            ],
        ),
        _late_words(summary),
        "![late](late.png)",
    ]
    if summary["waiting"]:
        waiting = ", ".join(summary["waiting"])
        parts.append(f"Not here, and so not run: the ground truth of {waiting}.")
    return "\n\n".join([*parts, absent]).strip()


def _sampled_part(facts: Mapping[str, Any]) -> str:
    rows = [
        [one["title"], f"{one['all_pearson']:.2f}", f"{one['all_spearman']:.2f}"]
        for one in facts["supernets"]
    ]
    alone = facts["seeds_pearson"]
    noise = "" if alone is None else _NOISE.format(alone)
    return (
        f"## The paper's own table\n\n{facts['table']} is {facts['what']}. "
        f"{facts['architectures']} architectures of the paper's whole 3-layer space, trained "
        f"{facts['trainings']} times each, against SuperNets of the paper's loop without RL, mean "
        f"of {facts['supernets'][0]['seeds']} seeds.{noise} The paper: r = 0.96.\n\n"
        + markdown_table(["SuperNet trained", "Pearson", "Spearman"], rows)
    )


def _ranking_table(table: str, rows: list[dict[str, Any]]) -> str:
    own = sorted((row for row in rows if row["table"] == table), key=lambda row: row["limit"])
    noise = {row["limit"]: f"{row['seeds_pearson']:.2f}" for row in own}
    cells = [
        [
            f"{row['limit']:,}",
            row["title"],
            *(_both(row, name) for name in SETS),
            f"{row['lowest_regret']:.1f}",
        ]
        for row in own
    ]
    return (
        f"### {table}\n\n{markdown_table(['limit', 'SuperNet', *SETS, 'lowest'], cells)}\n\n"
        f"One seed, by limit: {', '.join(noise.values())}."
    )


def _both(row: Mapping[str, Any], name: str) -> str:
    return f"{row[f'{name}_pearson']:.2f} ({row[f'{name}_spearman']:.2f})"


def _titles(rows: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(row["title"] for row in rows))


def _ranking_words(rows: list[dict[str, Any]]) -> str:
    said = []
    for title in _titles(rows):
        own = [row for row in rows if row["title"] == title]
        every, full, inside, near = (
            np.mean([row[f"{name}_pearson"] for row in own]) for name in SETS
        )
        lowest = np.mean([row["lowest_regret"] for row in own])
        said.append(
            f"- {title}: r = {every:.2f} of all, {full:.2f} at full depth, {inside:.2f} among the "
            "feasible, "
            f"{near:.2f} near the limit, regret {lowest:.1f} of its lowest."
        )
    full = [row["full_pearson"] for row in rows if row["title"] == WITHOUT_RL]
    bands = _BANDS.format(low=min(full), high=max(full))
    return "\n\n".join(["Over all tables and limits:", "\n".join(said), bands])


def _late_words(summary: Mapping[str, Any]) -> str:
    rows, ranking = summary["late"], summary["ranking"]
    means = {
        title: float(np.mean([row["regret_of_first"] for row in rows if row["title"] == title]))
        for title in _titles(rows)
    }
    said = "; ".join(f"{title}: {mean:.2f}" for title, mean in means.items())
    compared = ", ".join(
        f"{words.more(one['regret_of_first'])} from {one['title']}"
        for one in summary["late_paired"]
    )
    shared = {(row["table"], row["limit"]) for row in rows}
    lowest = [
        row["lowest_regret"]
        for row in ranking
        if row["title"] == WITHOUT_RL and (row["table"], row["limit"]) in shared
    ]
    return (
        f"Mean regret over tables and limits: {said}. By pairs of the same table and seed, exact "
        f"rejection differs by {compared}; an interval that holds 0 does not tell which "
        "is better. Abs is judged kindly here: Algorithm 3 draws within the limit for it, too. To "
        "take the architecture of lowest one-shot loss from a SuperNet of the paper's children "
        f"without any RL has a regret of {np.mean(lowest):.2f} under the same limits."
    )


def draw_scatter(
    said: Mapping[str, Any], rows: list[Row], summary: Mapping[str, Any], out: Path
) -> None:
    """One-shot against stand-alone loss for the first seed and the middle limit."""
    shares = said["ranking"]["shares"]
    share = shares[len(shares) // 2]
    titles = [one["title"] for one in said["ranking"]["supernets"]]
    tables = summary["tables"]
    drawn, axes = figure(
        len(tables), len(titles), size=(3.3 * len(titles), 2.9 * len(tables) + 0.3)
    )
    for line, table in zip(axes, tables, strict=True):
        truth = ground_truth(table)
        alone = truth.losses["validation"].mean(axis=1)
        costs = truth.costs["parameters"]
        deep = np.array([bool(one.widths) for one in truth.architectures])
        for axis, title in zip(line, titles, strict=True):
            (row,) = (
                row
                for row in rows
                if row["part"] == "ranking"
                and row["seed"] == 0
                and (row["table"], row["title"], row["share"]) == (table, title, share)
            )
            one_shot = np.array(row["one_shot"])
            inside = deep & (costs <= row["limit"])
            near = inside & (costs >= said["ranking"]["near"] * row["limit"])
            for members, color, label in (
                (deep & ~inside, RULED_OUT, "over the limit"),
                (inside & ~near, OURS, "feasible"),
                (near, THEIRS, "near the limit"),
            ):
                axis.scatter(
                    alone[members],
                    one_shot[members],
                    s=5,
                    color=color,
                    label=label,
                    rasterized=True,
                )
            low, high = alone[deep].min(), alone[deep].max()
            axis.plot([low, high], [low, high], "k:", lw=0.8)
            axis.set_title(
                f"{title}\nr = {row['feasible_pearson']:.2f} of the feasible", fontsize=8
            )
            axis.tick_params(labelsize=7)
        line[0].set_ylabel(f"{table}\none-shot loss", fontsize=8)
    axes[0, 0].legend(fontsize=7, frameon=False, markerscale=2)
    for axis in axes[-1]:
        axis.set_xlabel("stand-alone loss", fontsize=8)
    save(drawn, out / "one-shot")


def draw_late(said: Mapping[str, Any], summary: Mapping[str, Any], out: Path) -> None:
    """Regret by reward, for each table and limit."""
    rows = summary["late"]
    groups = list(dict.fromkeys((row["table"], row["limit"]) for row in rows))
    titles = _titles(rows)
    drawn, axes = figure(1, 1, size=(1.6 * len(groups) + 3, 3.4))
    axis = axes[0, 0]
    width = 0.8 / len(titles)
    others = iter(OTHERS)
    for k, title in enumerate(titles):
        color = OURS if title == OURS_TITLE else next(others)
        own = [row for row in rows if row["title"] == title]
        places = np.arange(len(groups)) + (k - (len(titles) - 1) / 2) * width
        axis.bar(
            places,
            [row["regret_of_first"] for row in own],
            0.9 * width,
            yerr=[row["interval"] for row in own],
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
    start = said["late"]["policy_start"]
    drawn.suptitle(
        f"RL after {start:.0%} of the epochs: regret of what Algorithm 3 returns", fontsize=10
    )
    save(drawn, out / "late")
