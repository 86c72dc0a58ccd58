"""What the baselines say, for people."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.paper._figures import OURS, RULED_OUT, THEIRS, figure, save
from tabnas.paper._markdown import markdown_table
from tabnas.paper.experiments import _paired_words as words
from tabnas.paper.experiments._judged import CANDIDATES

FIRST, RETURNED = "regret_of_first", "regret_of_returned"
ALONE = "trained alone"


def baselines_text(summary: Mapping[str, Any]) -> str:
    """What the methods return, first of three and alone, and what they looked at."""
    shares = ", ".join(f"{share:.0%}" for share in summary["limits_kept_by"])
    return (
        "Every method chooses from the same SuperNet, trained as the default search trains it. "
        "Each may send as many validation rows through it as the default search does, its "
        "selection included; *small* looks at an architecture take a batch of rows drawn anew, "
        "large ones 2,048 rows, the same for all. *RL* as a strategy looks at one architecture at "
        "a time, next to a moving average, and names its most likely ones; *RL, then our "
        "selection* has the default's policy steps of several looks at the same rows, and its rule "
        "for candidates. Beside them: random search without a SuperNet, which trains architectures "
        "alone and keeps the best.\n\n"
        f"Tables: {', '.join(summary['tables'])}, of which every architecture was trained "
        f"alone. Limits that {shares} of the architectures keep, {min(summary['members'])} or more "
        f"of them. {summary['seeds']} seeds each.\n\n{words.JUDGED} *More*: the difference to the "
        "default search, run by run. *Cost*: time of a core, the SuperNet's training included, in "
        f"trainings of one architecture at the limit. {words.HOW}\n\n"
        "## What a run returns\n\nThe best of three candidates, by one training each, and they are "
        f"counted with:\n\n{_returned_table(summary)}\n\n{_verdicts(summary, RETURNED)}\n\n"
        "By table, validation rows:\n\n" + _by_table(summary) + "\n\n"
        "## By the same rule\n\nThe default search takes two of its three candidates among "
        "architectures of 85 % of the limit or more; the others name what they think best. Here "
        f"all choose by that rule among what they looked at:\n\n{_rule_table(summary)}\n\n"
        f"## The first candidate alone\n\n{_first_table(summary)}\n\n"
        f"{_verdicts(summary, FIRST)}\n\n"
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
    """Mean regrets of each method, with what it costs in its name."""
    methods = summary["methods"]
    drawn, axes = figure(1, 1, size=(9.0, 0.42 * len(methods) + 1.2))
    axis, places = axes[0, 0], np.arange(len(methods))
    marks = (
        (RETURNED, OURS, "o", "validation rows", -0.2),
        (f"test_{RETURNED}", THEIRS, "o", "test rows", 0.0),
        ("by_rule", RULED_OUT, "D", "validation rows, candidates by our rule", 0.2),
    )
    for name, color, mark, label, shift in marks:
        shown = [k for k, one in enumerate(methods) if name != "by_rule" or not _alone(one)]
        axis.errorbar(
            [methods[k][name]["mean"] for k in shown],
            places[shown] + shift,
            xerr=[methods[k][name]["interval"] for k in shown],
            fmt=mark,
            ms=5,
            color=color,
            label=label,
        )
        axis.axvline(methods[0][name]["mean"], color=color, lw=0.8, ls=":")
    named = [f"{one['title']}; cost {_cost(one, RETURNED):.1f}" for one in methods]
    axis.set_yticks(places, named, fontsize=8)
    axis.invert_yaxis()
    axis.set_xlim(0, 1.4 * max(one[RETURNED]["mean"] for one in methods if not _alone(one)))
    axis.grid(axis="x", color=RULED_OUT, alpha=0.3)
    axis.set_xlabel(
        "mean regret of what is returned; 95 % interval; a few trainings alone are beyond"
    )
    axis.legend(fontsize=8, loc="lower left")
    save(drawn, path)


def _alone(one: Mapping[str, Any]) -> bool:
    return str(one["title"]).startswith(ALONE)


def _cost(one: Mapping[str, Any], name: str) -> float:
    """In trainings; candidates that are tried are trained, too."""
    tried = name.endswith(RETURNED) and not _alone(one)
    return float(one["cost"]) + CANDIDATES * tried


def _returned_table(summary: Mapping[str, Any]) -> str:
    lines = [
        [
            one["title"],
            words.mean(one[RETURNED]),
            words.mean(one[f"test_{RETURNED}"]),
            *_differences(one, RETURNED, first=k == 0),
            *_differences(one, f"test_{RETURNED}", first=k == 0),
            f"{_cost(one, RETURNED):.1f}",
        ]
        for k, one in enumerate(summary["methods"])
    ]
    head = ["method", "regret", "test", "more", "p, Holm", "more, test", "p, Holm", "cost"]
    return markdown_table(head, lines)


def _first_table(summary: Mapping[str, Any]) -> str:
    lines = [
        [
            one["title"],
            words.mean(one[FIRST]),
            words.mean(one[f"test_{FIRST}"]),
            *_differences(one, FIRST, first=k == 0),
            f"{_cost(one, FIRST):.1f}",
        ]
        for k, one in enumerate(summary["methods"])
        if FIRST in one
    ]
    return markdown_table(["method", "regret", "test", "more", "p, Holm", "cost"], lines)


def _rule_table(summary: Mapping[str, Any]) -> str:
    lines = [
        [
            one["title"],
            words.mean(one[RETURNED]),
            words.mean(one["by_rule"]),
            words.mean(one["test_by_rule"]),
        ]
        for one in summary["methods"]
        if not _alone(one)
    ]
    return markdown_table(["method", "its own candidates", "by our rule", "test"], lines)


def _by_table(summary: Mapping[str, Any]) -> str:
    lines = [
        [one["title"], *words.by_table(one[f"{RETURNED}_more"], summary["tables"])]
        for one in summary["methods"][1:]
    ]
    return markdown_table(["method, more than the default", *summary["tables"]], lines)


def _differences(one: Mapping[str, Any], name: str, *, first: bool) -> list[str]:
    """To the default search; it has none to itself."""
    more = one[f"{name}_more"]
    return ["", ""] if first else [words.more(more), words.probability(more["p_holm"])]


def _verdicts(summary: Mapping[str, Any], name: str) -> str:
    said = []
    for rows, prefix in (("Validation rows", ""), ("Test rows", "test_")):
        key = f"{prefix}{name}_more"
        others = {one["title"]: one[key] for one in summary["methods"][1:] if key in one}
        said.append(f"{rows}: {words.verdict(others)}")
    return "\n\n".join(said)


def _looks_text(summary: Mapping[str, Any]) -> str:
    lines = [
        [one["title"], f"{one['looks']:,.0f}", f"{one['passes']:,.0f}"]
        for one in summary["methods"]
        if not _alone(one)
    ]
    stuck = [f"{one['title']} {one['stuck']} times" for one in summary["methods"] if one["stuck"]]
    told = f" Stuck before all looks were used: {', '.join(stuck)}." if stuck else ""
    return f"What was looked at, on average:{told}\n\n" + markdown_table(
        ["method", "looks", "validation rows"], lines
    )
