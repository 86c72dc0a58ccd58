"""What the baselines say, for people."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.paper._figures import OTHERS, OURS, RULED_OUT, figure, save
from tabnas.paper._markdown import markdown_table
from tabnas.paper.experiments._judged import CANDIDATES
from tabnas.paper.experiments._paired import mean_text, more_text, p_text, verdict_text
from tabnas.paper.experiments._ticks import log_ticks

REGRETS = ("regret", "regret_of_three")
ALONE = "trained alone"


def baselines_text(summary: Mapping[str, Any]) -> str:
    """What the methods return, first of three and alone, and what they looked at."""
    shares = ", ".join(f"{share:.0%}" for share in summary["limits_kept_by"])
    return (
        "Every method chooses from the same SuperNet, trained as the default search trains it. "
        "Each may send as many validation rows through it as the default search does, its "
        "selection included; *small* looks at an architecture take a batch of rows drawn anew, "
        "large ones 2,048 rows, the same for all. Beside them: random search without a "
        "SuperNet, which trains architectures alone and keeps the best.\n\n"
        f"Tables: {', '.join(summary['tables'])}, of which every architecture was trained "
        f"alone. Limits that {shares} of the architectures keep. {summary['seeds']} seeds "
        "each.\n\n*Regret*: how much worse than the best within the limit, in standard "
        "deviations from seed to seed; its mean and 95 % interval, and how often it is at most "
        "2. *More*: the difference to the default search, run by run, with its 95 % interval "
        "from a bootstrap over seeds, and p from Wilcoxon's signed-rank test. *Cost*: time of "
        "a core, the SuperNet's training included, in trainings of one architecture at the "
        "limit.\n\n## What a run returns\n\nThe best of three candidates, by one training "
        f"each, and they are counted with:\n\n{_regret_table(summary, 'regret_of_three')}\n\n"
        f"{_verdicts(summary, 'regret_of_three')}\n\n"
        f"## The first candidate alone\n\n{_regret_table(summary, 'regret')}\n\n"
        f"{_verdicts(summary, 'regret')}\n\n"
        f"![regret and cost](regret.png)\n\n{_looks_text(summary)}"
    )


def criteo_text(said: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    """The paper's table, and its methods in the order of what they found."""
    lines = [
        [
            one["title"] if k == 0 else "",
            found,
            f"{one['parameters'][k]:,}",
            f"{one['losses'][k]:.4f} ± {one['deviations'][k]:.4f}",
            f"{one['more'][k]:+.4f}",
        ]
        for one in summary["criteo"]
        for k, found in enumerate(one["found"])
    ]
    within = np.mean([value for one in summary["criteo"] for value in one["deviations"]])
    between = np.std([value for one in summary["criteo"] for value in one["losses"]])
    ranked = markdown_table(
        ["method", "more than the reference", "children"],
        [
            [
                one["title"],
                f"{one['more_mean']:+.4f} ± {one['more_between']:.4f}",
                f"{one['children']:.0f}",
            ]
            for one in sorted(summary["criteo"], key=lambda one: one["more_mean"])
        ],
    )
    return (
        "## The paper's table\n\nA sample of Criteo, 8,184 rows where the paper has 45.8 "
        "million, in the paper's space of five layers under the limit of 48-240-24-256-8. "
        f"Searches of a method: {said['repeats']}. What each finds is trained alone "
        f"{said['trainings']} times; *more* is its loss less the reference's of the same "
        "seeds.\n\n"
        + markdown_table(["method", "found", "parameters", "loss", "more"], lines)
        + "\n\nThe paper finds RL, interleaved or not, steadily among the best, and two thirds "
        "of what BO and evolution find worse, often well below the limit. Here, best first, "
        "with the deviation between searches, and how many children were looked at on all "
        f"validation rows, or as many rows in batches:\n\n{ranked}\n\n"
        "With Monte Carlo most draws are over the limit, and need no look: those rows cost less, "
        "and learn from less. "
        f"From seed to seed the loss of one architecture varies by {within:.4f}, from architecture "
        f"to architecture the mean loss by {between:.4f}: differences not well above the first are "
        "chance, and the comparison on tables with ground truth is the sharper one."
    )


def draw_baselines(summary: Mapping[str, Any], path: Path) -> None:
    """Mean regret against cost, one mark a method."""
    drawn, axes = figure(1, 2, size=(11.0, 4.6))
    titles = ("what a run returns", "the first candidate alone")
    for axis, name, title in zip(axes[0], reversed(REGRETS), titles, strict=True):
        alone = [one for one in summary["methods"] if one["title"].startswith(ALONE)]
        axis.plot(
            [one["cost"] for one in alone],
            [one[name]["mean"] for one in alone],
            "o-",
            color=RULED_OUT,
            label="random, trained alone",
        )
        others = [one for one in summary["methods"] if one not in alone]
        for k, one in enumerate(others):
            axis.errorbar(
                _cost(one, name),
                one[name]["mean"],
                yerr=one[name]["interval"],
                fmt="*" if k == 0 else "os"[(k - 1) // len(OTHERS)],
                ms=13 if k == 0 else 6,
                color=OURS if k == 0 else OTHERS[(k - 1) % len(OTHERS)],
                label=one["title"],
            )
        log_ticks(axis, "{x:g}")
        axis.set_ylim(bottom=0)
        axis.set_xlabel("cost in trainings of one architecture")
        axis.set_ylabel("mean regret, standard deviations; 95 % interval")
        axis.set_title(title, fontsize=10)
        axis.grid(color=RULED_OUT, alpha=0.3)
    drawn.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right center", fontsize=8)
    save(drawn, path)


def _cost(one: Mapping[str, Any], name: str) -> float:
    """In trainings; candidates that are tried are trained, too."""
    tried = name == "regret_of_three" and not one["title"].startswith(ALONE)
    return float(one["cost"]) + CANDIDATES * tried


def _regret_table(summary: Mapping[str, Any], name: str) -> str:
    lines = []
    for k, one in enumerate(summary["methods"]):
        more = one[f"{name}_more"]
        compared_with = [more_text(more), p_text(more["p"])] if k else ["", ""]
        cost = f"{_cost(one, name):.1f}"
        lines.append([one["title"], mean_text(one[name]), *compared_with, cost])
    return markdown_table(["method", "regret", "more", "p", "cost"], lines)


def _verdicts(summary: Mapping[str, Any], name: str) -> str:
    others = summary["methods"][1:]
    return verdict_text({one["title"]: one[f"{name}_more"] for one in others})


def _looks_text(summary: Mapping[str, Any]) -> str:
    lines = [
        [one["title"], f"{one['looks']:,.0f}", f"{one['passes']:,.0f}"]
        for one in summary["methods"]
        if not one["title"].startswith(ALONE)
    ]
    stuck = [f"{one['title']} {one['stuck']} times" for one in summary["methods"] if one["stuck"]]
    words = f" Stuck before all looks were used: {', '.join(stuck)}." if stuck else ""
    return f"What was looked at, on average:{words}\n\n" + markdown_table(
        ["method", "looks", "validation rows"], lines
    )
