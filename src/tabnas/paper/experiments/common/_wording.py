"""Texts, table columns and a figure that all reports on regrets share.

Records are entries of a summary that hold regrets, `NAME`, and their comparisons with a base,
`NAME_difference`, for the validation rows and the test rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.paper._figures import GRAY, OURS_COLOR, THEIRS_COLOR, make_figure, save_figure
from tabnas.paper._markdown import Column
from tabnas.paper.experiments.common._regrets import RETURNED
from tabnas.paper.experiments.common._statistics import SIGNIFICANCE

Record = Mapping[str, Any]

REGRET_TEXT = (
    "*Regret*: how much higher the loss is than that of the best architecture within the limit, in "
    "standard deviations of a single training over seeds; 2 is within the noise of another seed. "
    "What is returned was selected by one training of each candidate on the validation rows, and "
    "is evaluated by the two trainings of the ground truth that had no part in the selection, so "
    "its regret may be negative. *Test*: the same on rows that no search and no selection has seen."
)
STATISTICS_TEXT = (
    "Runs of a table and limit with the same seed modulo three share the trainings that select and "
    "evaluate, so each such group is one observation; intervals are 95 % intervals by Student's t, "
    "p is of the same test, and *p, Holm* is corrected for the number of rows of its table. A "
    f"difference is significant if that is below {SIGNIFICANCE}. The defaults were chosen on these "
    "tables."
)


def format_mean(summary: Record) -> str:
    """Return mean and interval, `0.31 ± 0.12`."""
    interval = summary["interval"]
    return f"{summary['mean']:.2f}" + ("" if interval is None else f" ± {interval:.2f}")


def format_difference(comparison: Record) -> str:
    """Return difference and interval, `+0.31 (+0.12 to +0.50)`."""
    return "{difference:+.2f} ({low:+.2f} to {high:+.2f})".format_map(comparison)


def format_p(p: float) -> str:
    """Return a p-value with three digits."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def regret_columns(names: Sequence[str] = RETURNED) -> list[Column]:
    """Return the columns of the regrets on validation and test rows."""

    def regret(name: str, record: Record) -> str:
        return format_mean(record[name])

    headings = ("regret", "test")
    return [(h, partial(regret, name)) for h, name in zip(headings, names, strict=True)]


def difference_columns(names: Sequence[str] = RETURNED) -> list[Column]:
    """Return the columns of the differences to the base, which are empty for the base itself."""

    def difference(key: str, record: Record) -> str:
        return format_difference(record[key]) if "p_holm" in record[key] else ""

    def p_holm(key: str, record: Record) -> str:
        return format_p(record[key]["p_holm"]) if "p_holm" in record[key] else ""

    columns: list[Column] = []
    for heading, name in zip(("difference", "difference, test"), names, strict=True):
        key = f"{name}_difference"
        columns += [(heading, partial(difference, key)), ("p, Holm", partial(p_holm, key))]
    return columns


def table_columns(tables: Iterable[str]) -> list[Column]:
    """Return a column for each table, with the difference to the base there."""
    return [(table, f"{{{RETURNED[0]}_difference[tables][{table}]:+.2f}}") for table in tables]


def describe_verdicts(
    records: Sequence[Record],
    title: Callable[[Record], str],
    names: Sequence[str] = RETURNED,
) -> str:
    """Say which records differ significantly from the base, on validation and on test rows."""
    paragraphs = []
    for rows, name in zip(("Validation rows", "Test rows"), names, strict=True):
        key = f"{name}_difference"
        comparisons = {title(record): record[key] for record in records if key in record}
        paragraphs.append(f"{rows}: {describe_verdict(comparisons)}")
    return "\n\n".join(paragraphs)


def describe_verdict(comparisons: Mapping[str, Record]) -> str:
    """Say which of the comparisons are significant after Holm's correction."""
    kinds: dict[str, list[str]] = {"Worse": [], "Better": [], "No significant difference": []}
    for name, comparison in comparisons.items():
        if comparison["p_holm"] >= SIGNIFICANCE:
            kinds["No significant difference"].append(name)
        else:
            kinds["Worse" if comparison["difference"] > 0 else "Better"].append(name)
    return " ".join(f"{kind}: {'; '.join(names) or 'none'}." for kind, names in kinds.items())


def plot_regrets(
    records: Sequence[Record],
    labels: Sequence[str],
    path: Path,
    *,
    row_height: float,
    extra: tuple[str, Sequence[int], str] | None = None,
    xlim: tuple[float, float | None] = (0, None),
    xlabel: str,
    title: str = "",
) -> None:
    """Plot the mean regrets of what is returned, a line for each record.

    `extra` is a third regret: its name, the records that have it, and its label.
    """
    figure, axes = make_figure(1, 1, size=(9.0, row_height * len(records) + 1.2))
    axis, everyone = axes[0, 0], range(len(records))
    offset = 0.2 if extra else 0.14
    series: list[tuple[str, Sequence[int], str, str, str, float]] = [
        (RETURNED[0], everyone, OURS_COLOR, "o", "validation rows", -offset),
        (RETURNED[1], everyone, THEIRS_COLOR, "o", "test rows", 0.0 if extra else offset),
    ]
    if extra:
        series.append((*extra[:2], GRAY, "D", extra[2], offset))
    for name, which, color, marker, label, shift in series:
        axis.errorbar(
            [records[k][name]["mean"] for k in which],
            np.array(which) + shift,
            xerr=[records[k][name]["interval"] for k in which],
            fmt=marker,
            ms=5,
            color=color,
            label=label,
        )
        axis.axvline(records[0][name]["mean"], color=color, lw=0.8, ls=":")
    axis.set_yticks(everyone, labels, fontsize=8)
    axis.invert_yaxis()
    axis.set_xlim(*xlim)
    axis.grid(axis="x", color=GRAY, alpha=0.3)
    axis.set_xlabel(xlabel)
    axis.set_title(title, fontsize=10)
    axis.legend(fontsize=8)
    save_figure(figure, path)
