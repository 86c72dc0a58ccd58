"""What the ablations say, for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.paper._figures import OTHERS, OURS, RULED_OUT, THEIRS, figure, save
from tabnas.paper._markdown import markdown_table
from tabnas.paper.experiments import _paired_words as words

UNCHANGED = "as it is"
FIRST = ("regret_of_first", "test_regret_of_first")
RETURNED = ("regret_of_returned", "test_regret_of_returned")
ABOUT_P_FEASIBLE = ("", "P(V)", "infeasible children", "gradient through P(V)")
"""Questions whose answer shows in P(V) over time."""

NOTES = """## P(V) over time

![P(V) over time](p-feasible.png)

The paper's loop here takes the default's number of weight steps, some thousands, where the \
paper's takes millions; at its RL rate of 0.005 the policy would hardly move in so few, so it \
is 0.05. Layers are optional in these spaces, unlike in the paper's.

Without a gradient through P(V) the paper sees P(V) fall to 0: the feasible architectures that are \
drawn do worse than the moving average. That can be so only if the average knows infeasible \
architectures too; as Algorithm 2 is printed, it knows feasible ones alone, and half of those are \
above it. Both forms are in the table."""


def ablations_text(titles: Mapping[str, str], summary: Mapping[str, Any]) -> str:
    """A section for each base, and one on P(V)."""
    parts = [_base_text(base, title, summary[base]) for base, title in titles.items()]
    return (
        "Real searches on tables of which every architecture was trained alone. "
        f"{words.JUDGED} *More*: the difference to the search as it is, run by run. {words.HOW} "
        "*Looks*: how many times the quality of an architecture was asked for. *Time*: that of a "
        "core, next to the search as it is. *P(V)*: how much of the policy lies within the limit "
        "in the end.\n\n" + "\n\n".join(parts) + f"\n\n{NOTES}\n"
    )


def draw_ablations(titles: Mapping[str, str], summary: Mapping[str, Any], out: Path) -> None:
    """A figure of regrets for each base, and P(V) over time in the paper's loop."""
    for base, title in titles.items():
        _draw_regrets(title, summary[base]["variants"], out / base)
    _draw_p_feasible(summary["paper"]["variants"], out / "p-feasible")


def _base_text(base: str, title: str, said: Mapping[str, Any]) -> str:
    shares = ", ".join(f"{share:.0%}" for share in said["limits_kept_by"])
    variants = said["variants"]
    by_paper = any(one["paper"] for one in variants)
    returned = markdown_table(
        [
            *("changed", "regret", "test", "more", "p, Holm", "more, test", "p, Holm"),
            *(["the paper says"] if by_paper else []),
        ],
        [
            [_named(one), *_regret_cells(one, RETURNED)] + ([one["paper"]] if by_paper else [])
            for one in variants
        ],
    )
    verdicts = "\n\n".join(
        f"{rows}: {words.verdict({_named(one): one[f'{name}_more'] for one in variants[1:]})}"
        for rows, name in zip(("Validation rows", "Test rows"), RETURNED, strict=True)
    )
    by_table = markdown_table(
        ["changed, more than as it is", *said["tables"]],
        [
            [_named(one), *words.by_table(one[f"{RETURNED[0]}_more"], said["tables"])]
            for one in variants[1:]
        ],
    )
    first = markdown_table(
        ["selection", "regret", "test", "more", "p, Holm", "more, test", "p, Holm"],
        [[one["title"], *_regret_cells(one, FIRST)] for one in variants if FIRST[0] in one],
    )
    took = markdown_table(
        ["changed", "looks", "time", "P(V)"],
        [
            [
                _named(one),
                f"{one['looks']:,.0f}",
                f"{one['seconds'] / variants[0]['seconds']:.1f}",
                f"{one['p_feasible'][-1]:.2f}",
            ]
            for one in variants
        ],
    )
    return (
        f"## {title}\n\n"
        f"Tables: {', '.join(said['tables'])}. Limits that {shares} of the architectures keep. "
        f"{said['seeds']} seeds each.\n\nWhat a run returns, the best of three candidates "
        f"that are trained once each:\n\n{returned}\n\n{verdicts}\n\n"
        f"By table, validation rows:\n\n{by_table}\n\n"
        f"The first candidate alone, by the rule that selects it:\n\n{first}\n\n"
        f"What the searches took:\n\n{took}\n\n"
        f"![regret of each variant]({base}.png)"
    )


def _named(one: Mapping[str, Any]) -> str:
    return ": ".join(filter(None, (one["question"], one["title"])))


def _regret_cells(one: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Means with intervals, then the differences to the base with their p; the base has none."""
    cells = [words.mean(one[name]) for name in names]
    for name in names:
        more = one[f"{name}_more"]
        same = one["title"] == UNCHANGED
        cells += ["", ""] if same else [words.more(more), words.probability(more["p_holm"])]
    return cells


def _draw_regrets(title: str, variants: list[dict[str, Any]], path: Path) -> None:
    drawn, axes = figure(1, 1, size=(9.0, 0.38 * len(variants) + 1.2))
    axis, places = axes[0, 0], np.arange(len(variants))
    for name, color, label, shift in (
        (RETURNED[0], OURS, "validation rows", -0.14),
        (RETURNED[1], THEIRS, "test rows", 0.14),
    ):
        values = [one[name]["mean"] for one in variants]
        spread = [one[name]["interval"] for one in variants]
        axis.errorbar(values, places + shift, xerr=spread, fmt="o", color=color, label=label)
        axis.axvline(values[0], color=color, lw=0.8, ls=":")
    axis.set_yticks(places, [_named(one) for one in variants], fontsize=8)
    axis.invert_yaxis()
    axis.set_xlim(left=0)
    axis.grid(axis="x", color=RULED_OUT, alpha=0.3)
    axis.set_xlabel("mean regret of what is returned, standard deviations; 95 % interval")
    axis.set_title(f"{title}, one thing changed", fontsize=10)
    axis.legend(fontsize=8)
    save(drawn, path)


def _draw_p_feasible(variants: list[dict[str, Any]], path: Path) -> None:
    drawn, axes = figure(1, 1, size=(10.0, 4.2))
    axis = axes[0, 0]
    shown = [one for one in variants if one["question"] in ABOUT_P_FEASIBLE]
    for k, one in enumerate(shown):
        color = OURS if k == 0 else OTHERS[(k - 1) % len(OTHERS)]
        progress = np.linspace(0, 1, len(one["p_feasible"]))
        width = 2.0 if k == 0 else 1.2
        axis.plot(progress, one["p_feasible"], color=color, lw=width, label=_named(one))
    axis.set_xlabel("share of the search that is over")
    axis.set_ylabel("P(V), mean of all runs")
    axis.set_ylim(0, 1.02)
    axis.set_title("How much of the policy lies within the limit: the paper's loop", fontsize=10)
    drawn.legend(loc="outside right center", fontsize=7)
    save(drawn, path)
