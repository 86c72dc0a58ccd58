"""The report and the figure of the baselines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.paper._markdown import Column, markdown_table, records_table
from tabnas.paper.experiments.common import FIRST, N_CANDIDATES, RETURNED
from tabnas.paper.experiments.common._wording import (
    REGRET_TEXT,
    STATISTICS_TEXT,
    describe_verdicts,
    difference_columns,
    format_mean,
    plot_regrets,
    regret_columns,
    table_columns,
)

RANDOM = "trained alone"
"""The title of random search without a SuperNet."""
METHOD: Column = ("method", "{title}")


def report(summary: Mapping[str, Any]) -> str:
    """Return the report on the tables with a ground truth."""
    shares = ", ".join(f"{share:.0%}" for share in summary["shares_within_limit"])
    others = summary["methods"][1:]
    return (
        "Every method selects from the same SuperNet, trained as the default search trains it. "
        "Each may evaluate as many validation rows as the default search does, its selection "
        "included. An evaluation uses a new batch of rows, or with *fixed rows* 2,048 rows, the "
        "same for all. *RL* as a strategy evaluates one architecture at a time, with a moving "
        "average as baseline, and recommends its most likely ones; *RL, then our selection* has "
        "the default's policy steps of several evaluations on the same rows, and its selection "
        "rule. Beside them: random search without a SuperNet, which trains architectures "
        "stand-alone and keeps the best.\n\n"
        f"Tables: {', '.join(summary['tables'])}, of which every architecture was trained "
        f"stand-alone. Limits that {shares} of the architectures meet, {min(summary['feasible'])} "
        f"or more of them. {summary['seeds']} seeds each.\n\n{REGRET_TEXT} *Difference*: to the "
        "default search, run by run. *Cost*: processor time, the SuperNet's training included, in "
        f"trainings of one architecture at the limit. {STATISTICS_TEXT}\n\n"
        "## What a run returns\n\nThe best of three candidates, by one training each, which the "
        f"cost includes:\n\n{_returned_table(summary)}\n\n"
        f"{describe_verdicts(others, _title)}\n\n"
        f"By table, validation rows:\n\n{_by_table(summary)}\n\n"
        "## By the same rule\n\nThe default search takes two of its three candidates among "
        "architectures of 85 % of the limit or more; the others recommend what they think best. "
        "Here all select by that rule among what they have evaluated:\n\n"
        f"{_rule_table(summary)}\n\n"
        f"## Only the first candidate\n\n{_first_table(summary)}\n\n"
        f"{describe_verdicts(others, _title, FIRST)}\n\n"
        f"![regret and cost](regret.png)\n\n{_describe_evaluations(summary)}"
    )


def _title(method: Mapping[str, Any]) -> str:
    return str(method["title"])


def _is_random(method: Mapping[str, Any]) -> bool:
    return _title(method).startswith(RANDOM)


def _total_cost(method: Mapping[str, Any]) -> float:
    """Return the cost in trainings, with those of the candidates."""
    return float(method["cost"]) + (0 if _is_random(method) else N_CANDIDATES)


def _returned_table(summary: Mapping[str, Any]) -> str:
    return records_table(
        summary["methods"],
        METHOD,
        *regret_columns(),
        *difference_columns(),
        ("cost", lambda method: f"{_total_cost(method):.1f}"),
    )


def _first_table(summary: Mapping[str, Any]) -> str:
    return records_table(
        [method for method in summary["methods"] if FIRST[0] in method],
        METHOD,
        *regret_columns(FIRST),
        *difference_columns(FIRST)[:2],
        ("cost", "{cost:.1f}"),
    )


def _rule_table(summary: Mapping[str, Any]) -> str:
    return records_table(
        [method for method in summary["methods"] if not _is_random(method)],
        METHOD,
        ("its own candidates", lambda method: format_mean(method[RETURNED[0]])),
        ("by our rule", lambda method: format_mean(method["by_rule"])),
        ("test", lambda method: format_mean(method["test_by_rule"])),
    )


def _by_table(summary: Mapping[str, Any]) -> str:
    heading = ("method, difference to the default", "{title}")
    return records_table(summary["methods"][1:], heading, *table_columns(summary["tables"]))


def _describe_evaluations(summary: Mapping[str, Any]) -> str:
    stuck = [
        "{title} {stuck} times".format_map(method)
        for method in summary["methods"]
        if method["stuck"]
    ]
    note = f" Stuck before all evaluations were used: {', '.join(stuck)}." if stuck else ""
    return f"Evaluations, on average:{note}\n\n" + records_table(
        [method for method in summary["methods"] if not _is_random(method)],
        METHOD,
        ("evaluations", "{evaluations:,.0f}"),
        ("validation rows", "{rows_evaluated:,.0f}"),
    )


def report_criteo(definition: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    """Return the report on the paper's table, with its methods from best to worst."""
    methods = summary["criteo"]
    rows = [
        [
            method["title"] if k == 0 else "",
            network,
            f"{method['parameters'][k]:,}",
            f"{method['losses'][k]:.4f} ± {method['losses_std'][k]:.4f}",
            f"{method['differences'][k]:+.4f}",
        ]
        for method in methods
        for k, network in enumerate(method["found"])
    ]
    within = np.mean([value for method in methods for value in method["losses_std"]])
    between = np.std([value for method in methods for value in method["losses"]])
    ranked = records_table(
        sorted(methods, key=lambda method: method["difference_mean"]),
        METHOD,
        ("difference to the reference", "{difference_mean:+.4f} ± {difference_std:.4f}"),
        ("evaluations", "{evaluations:.0f}"),
    )
    return (
        "## The paper's table\n\nA sample of Criteo, 8,184 rows where the paper has 45.8 "
        "million, in the paper's space of five layers under the limit of 48-240-24-256-8. "
        f"Searches of a method: {definition['repeats']}. What each finds is trained stand-alone "
        f"{definition['trainings']} times; *difference* is its loss less the reference's of the "
        "same seeds.\n\n"
        + markdown_table(["method", "found", "parameters", "loss", "difference"], rows)
        + "\n\nThe paper finds RL, interleaved or not, steadily among the best, and two thirds "
        "of what BO and evolution find worse, often well below the limit. Here, best first, with "
        "the standard deviation between searches, and the number of evaluations on all validation "
        f"rows, or as many rows in batches:\n\n{ranked}\n\n"
        "With Monte Carlo most samples are over the limit and are not evaluated: those rows cost "
        f"less, and learn from less. Over seeds the loss of one architecture varies by "
        f"{within:.4f}, over architectures the mean loss by {between:.4f}: differences not well "
        "above the first are chance, and the comparison on tables with ground truth is the more "
        "precise one."
    )


def plot_baselines(summary: Mapping[str, Any], path: Path) -> None:
    """Plot the mean regrets of each method, with its cost in the label."""
    methods = summary["methods"]
    with_rule = [k for k, method in enumerate(methods) if not _is_random(method)]
    largest = max(methods[k][RETURNED[0]]["mean"] for k in with_rule)
    plot_regrets(
        methods,
        [f"{method['title']}; cost {_total_cost(method):.1f}" for method in methods],
        path,
        row_height=0.42,
        extra=("by_rule", with_rule, "validation rows, candidates by our rule"),
        xlim=(0, 1.4 * largest),
        xlabel="mean regret of what is returned; 95 % interval; few random trainings are beyond",
    )
