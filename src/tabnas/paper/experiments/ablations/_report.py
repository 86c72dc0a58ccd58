"""The report and the figures of the ablations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.paper._figures import OTHER_COLORS, OURS_COLOR, make_figure, save_figure
from tabnas.paper._markdown import Column, records_table
from tabnas.paper.experiments.common import FIRST
from tabnas.paper.experiments.common._wording import (
    REGRET_TEXT,
    STATISTICS_TEXT,
    describe_verdicts,
    difference_columns,
    plot_regrets,
    regret_columns,
    table_columns,
)

UNCHANGED = "unchanged"
ABOUT_P_FEASIBLE = ("", "P(V)", "infeasible children", "gradient through P(V)")
"""Questions whose answer shows in P(V) over time."""

NOTES = """## P(V) over time

![P(V) over time](p-feasible.png)

The paper's loop here takes the default's number of weight steps, some thousands, where the \
paper's takes millions; at its RL learning rate of 0.005 the policy would hardly move in so few, \
so it is 0.05. Layers are optional in these spaces, unlike in the paper's.

Without a gradient through P(V) the paper sees P(V) fall to 0: the feasible architectures that are \
sampled do worse than the moving average. That is possible only if the average contains infeasible \
architectures too; as Algorithm 2 is printed, it contains only feasible ones, and half of those \
are above it. Both forms are in the table."""


def report(titles: Mapping[str, str], summary: Mapping[str, Any]) -> str:
    """Return the report: a section for each base, and one on P(V)."""
    parts = [_report_base(base, title, summary[base]) for base, title in titles.items()]
    return (
        "Real searches on tables of which every architecture was trained stand-alone. "
        f"{REGRET_TEXT} *Difference*: to the unchanged search, run by run. {STATISTICS_TEXT} "
        "*Evaluations*: of the quality of an architecture. *Time*: of a core, relative to the "
        "unchanged search. *P(V)*: the probability of feasible architectures under the policy at "
        "the end.\n\n" + "\n\n".join(parts) + f"\n\n{NOTES}\n"
    )


def _report_base(base: str, title: str, summary: Mapping[str, Any]) -> str:
    shares = ", ".join(f"{share:.0%}" for share in summary["shares_within_limit"])
    variants = summary["variants"]
    seconds = variants[0]["seconds"]
    by_paper = any(variant["paper"] for variant in variants)
    paper: list[Column] = [("the paper says", "{paper}")] if by_paper else []
    name: Column = ("changed", _name)
    returned = records_table(variants, name, *regret_columns(), *difference_columns(), *paper)
    by_table = records_table(
        variants[1:], ("changed, difference to the base", _name), *table_columns(summary["tables"])
    )
    first = records_table(
        [variant for variant in variants if FIRST[0] in variant],
        ("selection", "{title}"),
        *regret_columns(FIRST),
        *difference_columns(FIRST),
    )
    cost = records_table(
        variants,
        name,
        ("evaluations", "{evaluations:,.0f}"),
        ("time", lambda variant: f"{variant['seconds'] / seconds:.1f}"),
        ("P(V)", lambda variant: f"{variant['p_feasible'][-1]:.2f}"),
    )
    return (
        f"## {title}\n\n"
        f"Tables: {', '.join(summary['tables'])}. Limits that {shares} of the architectures meet. "
        f"{summary['seeds']} seeds each.\n\nWhat a run returns, the best of three candidates that "
        f"are trained once each:\n\n{returned}\n\n{describe_verdicts(variants[1:], _name)}\n\n"
        f"By table, validation rows:\n\n{by_table}\n\n"
        f"Only the first candidate, by the rule that selects it:\n\n{first}\n\n"
        f"The cost of the searches:\n\n{cost}\n\n"
        f"![regret of each variant]({base}.png)"
    )


def _name(variant: Mapping[str, Any]) -> str:
    return ": ".join(filter(None, (variant["question"], variant["title"])))


def plot_ablations(titles: Mapping[str, str], summary: Mapping[str, Any], out: Path) -> None:
    """Plot the regrets of each base, and P(V) over time in the paper's loop."""
    for base, title in titles.items():
        variants = summary[base]["variants"]
        plot_regrets(
            variants,
            [_name(variant) for variant in variants],
            out / base,
            row_height=0.38,
            xlabel="mean regret of what is returned, standard deviations; 95 % interval",
            title=f"{title}, one thing changed",
        )
    _plot_p_feasible(summary["paper"]["variants"], out / "p-feasible")


def _plot_p_feasible(variants: list[dict[str, Any]], path: Path) -> None:
    figure, axes = make_figure(1, 1, size=(10.0, 4.2))
    axis = axes[0, 0]
    variants = [variant for variant in variants if variant["question"] in ABOUT_P_FEASIBLE]
    for k, variant in enumerate(variants):
        color = OURS_COLOR if k == 0 else OTHER_COLORS[(k - 1) % len(OTHER_COLORS)]
        progress = np.linspace(0, 1, len(variant["p_feasible"]))
        width = 2.0 if k == 0 else 1.2
        axis.plot(progress, variant["p_feasible"], color=color, lw=width, label=_name(variant))
    axis.set_xlabel("share of the search")
    axis.set_ylabel("P(V), mean of all runs")
    axis.set_ylim(0, 1.02)
    axis.set_title("P(V) in the paper's loop", fontsize=10)
    figure.legend(loc="outside right center", fontsize=7)
    save_figure(figure, path)
