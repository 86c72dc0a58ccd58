"""What the losses of `equal_bytes.py` say: means, who is ahead, and what each part is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log
from typing import Any

import numpy as np
from fresh_tables import FRESH_TABLES
from scipy.stats import t as student_t
from tables import TABLES

METHODS = ("tabnas", "tabnas float32", "plain network", "plain int8", "LightGBM", "RealMLP",
           "RealMLP int8", "TabM", "MLP", "pruned", "LightGBM file")  # fmt: skip
OURS = ("tabnas", "tabnas float32")
ROUNDED = ("plain int8", "RealMLP int8")
"""Rounded as tabnas rounds its networks. RealMLP's package does not: they are compared apart."""
OTHERS = tuple(method for method in METHODS if method not in (*OURS, *ROUNDED))
FREE = ("LightGBM", "RealMLP")
PARTS = {
    "search": "part_without_search",
    "equal layers": "part_without_equal_layers",
    "widening": "part_without_widening",
    "numeric embeddings": "part_without_embeddings",
    "teacher": "part_without_teacher",
    "averaging": "part_without_averaging",
    "knots by target": "part_without_target_knots",
    "longer training": "part_without_longer_training",
    "int8": "tabnas_float32",
}
SEEDS = range(5, 10)
"""The defaults of tabnas were chosen with the help of test losses on the splits of seeds 0 to 4."""

PART_LIMIT, FREE_LIMIT = 20_000, 80_000

Losses = dict[tuple[str, int | None, int], float]
"""The loss of a method by table, limit and seed."""


def summarize(contents: dict[str, Any]) -> dict[str, Any]:
    """Summarize the files of all methods, by the names of the files."""
    losses = {
        name: read_losses(content["rows"]) for name, content in contents.items() if name != "time"
    }
    methods = {method: losses[key] for method in METHODS if (key := name_file(method)) in losses}
    ours = methods["tabnas"]
    tables = [name for name in TABLES if any(table == name for table, _, _ in ours)]
    limits = sorted({limit for _, limit, _ in ours if limit is not None})
    return {
        "tables": tables,
        "methods": list(methods),
        "limits": [summarize_limit(methods, tables, limit) for limit in limits],
        "curves": {table: make_curves(methods, table, limits) for table in tables},
        "fresh": summarize_limit(methods, list(FRESH_TABLES), PART_LIMIT),
        "free": summarize_free(methods, tables),
        "parts": summarize_parts(losses, tables),
    }


def name_file(method: str) -> str:
    """Return the name of the file of a method's results, without its ending."""
    return method.lower().replace(": ", "_").replace(" ", "_")


def read_losses(rows: Sequence[dict[str, Any]]) -> Losses:
    """Return the losses on the splits by whose test rows no default was chosen."""
    return {
        (row["table"], row["limit"], row["seed"]): row["loss"]
        for row in rows
        if row["seed"] in SEEDS
    }


def summarize_limit(methods: dict[str, Losses], tables: list[str], limit: int) -> dict[str, Any]:
    """Return the mean losses within a limit, and on how many tables each method is ahead.

    `ours` counts the tables on which the default is ahead of `OTHERS`; counting the better of it
    and *tabnas float32* by test loss would not be fair. `float32_ours` counts those on which
    *tabnas float32* is ahead of the same methods, `rounded_ours` those on which the default is
    ahead of all of `ROUNDED`, and `rounded` those on which it is ahead of each of them.
    """
    rows: list[dict[str, Any]] = []
    for table in tables:
        means = {
            method: mean
            for method, losses in methods.items()
            if (mean := mean_loss(losses, table, limit, methods["tabnas"])) is not None
        }
        if "tabnas" in means:
            values = {method: value for method, (value, _) in means.items()}
            rows.append(
                {
                    "table": table,
                    "best": min(values, key=values.__getitem__),
                    "losses": values,
                    "seeds": {method: seeds for method, (_, seeds) in means.items()},
                    "lead": find_lead(methods, values, table, limit, "tabnas"),
                    "float32_lead": find_lead(methods, values, table, limit, "tabnas float32"),
                    "rounded_lead": find_lead(methods, values, table, limit, "tabnas", ROUNDED),
                }
            )
    best = [row["best"] for row in rows]
    leads, float32_leads, rounded_leads = (
        [row[key] for row in rows if row[key] is not None]
        for key in ("lead", "float32_lead", "rounded_lead")
    )
    return {
        "limit": limit,
        "tables": len(rows),
        "ours": sum(lead["change"] > 0 for lead in leads),
        "clearly_ahead": sum(_is_clear(lead, 1) for lead in leads),
        "clearly_behind": sum(_is_clear(lead, -1) for lead in leads),
        "float32_ours": sum(lead["change"] > 0 for lead in float32_leads),
        "float32_tables": len(float32_leads),
        "rounded_ours": sum(lead["change"] > 0 for lead in rounded_leads),
        "rounded_tables": len(rounded_leads),
        "rounded": {
            method: counts
            for method in ROUNDED
            if (counts := count_leads(methods, method, tables, limit))["of"]
        },
        "ahead": {method: best.count(method) for method in methods if method in best},
        "rows": rows,
    }


def count_leads(
    methods: dict[str, Losses], other: str, tables: list[str], limit: int
) -> dict[str, int]:
    """Return on how many of the tables where another method was measured tabnas is ahead of it."""
    changes = [
        average_change(ours, theirs)["change"]
        for table in tables
        if (ours := _by_seed(methods["tabnas"], table, limit))
        and (theirs := _by_seed(methods.get(other, {}), table, limit)).keys() & ours.keys()
    ]
    return {"won": sum(change > 0 for change in changes), "of": len(changes)}


def find_lead(
    methods: dict[str, Losses],
    means: dict[str, float],
    table: str,
    limit: int,
    ours: str,
    others: Sequence[str] = OTHERS,
) -> dict[str, Any] | None:
    """Return by how many per cent the best of `others` is worse than one of ours."""
    measured = {method: mean for method, mean in means.items() if method in others}
    if not measured or ours not in means:
        return None
    best = min(measured, key=measured.__getitem__)
    by_seed = (_by_seed(methods[method], table, limit) for method in (ours, best))
    return {"over": best} | average_change(*by_seed)


def average_change(before: Mapping[Any, float], after: Mapping[Any, float]) -> dict[str, Any]:
    """Return the mean change of a loss in per cent, over common seeds, and its standard error.

    It is that of the geometric mean of the ratios: the direction of the comparison does not matter.
    """
    common = sorted(before.keys() & after.keys())
    logarithms = [log(after[seed] / before[seed]) for seed in common]
    ratio, error = exp(np.mean(logarithms)), _standard_error(logarithms)
    return {
        "change": 100 * (ratio - 1),
        "error": None if error is None else 100 * ratio * error,
        "seeds": len(common),
    }


def _is_clear(lead: dict[str, Any], sign: int) -> bool:
    """Return whether a lead, or with sign -1 a lag, is significant at 95 %: by a t-test."""
    if lead["error"] is None:
        return False
    quantile = float(student_t.ppf(0.975, lead["seeds"] - 1))
    return sign * lead["change"] > quantile * lead["error"]


def _standard_error(values: list[float]) -> float | None:
    """Return the standard error of the mean; None of a single value."""
    return float(np.std(values, ddof=1)) / len(values) ** 0.5 if values[1:] else None


def make_curves(methods: dict[str, Losses], table: str, limits: list[int]) -> dict[str, Any]:
    """Return the points (limit, mean loss) of each method, as if all had the same seeds.

    The limit is None for a method without one, whose loss is that of `summarize_free`.
    """
    at = dict.fromkeys(limits, PART_LIMIT) | {None: FREE_LIMIT}
    ours = {limit: _by_seed(methods["tabnas"], table, limit) for limit in at.values()}
    return {
        method: [
            (limit, mean[0])
            for limit, reference in at.items()
            if (mean := paired_mean(_by_seed(losses, table, limit), ours[reference])) is not None
        ]
        for method, losses in methods.items()
    }


def summarize_free(methods: dict[str, Losses], tables: list[str]) -> dict[str, Any]:
    """Compare tabnas within a limit with others that have none."""
    rows: list[dict[str, Any]] = []
    ahead: dict[str, dict[str, int]] = {}
    for table in tables:
        ours = _by_seed(methods["tabnas"], table, FREE_LIMIT)
        if not ours:
            continue
        row: dict[str, Any] = {"table": table, "tabnas": float(np.mean(list(ours.values())))}
        for method in FREE:
            mean = mean_loss(methods.get(method, {}), table, None, methods["tabnas"])
            if mean is not None:
                row[method] = mean[0]
                lead = average_change(ours, _by_seed(methods[method], table, None))
                row[f"lead over {method}"] = lead
                counts = ahead.setdefault(method, {"won": 0, "clearly": 0, "of": 0})
                counts["won"] += lead["change"] > 0
                counts["clearly"] += _is_clear(lead, 1)
                counts["of"] += 1
        rows.append(row)
    return {"limit": FREE_LIMIT, "ahead": ahead, "rows": rows}


def summarize_parts(losses: dict[str, Losses], tables: list[str]) -> list[dict[str, Any]]:
    """Return what each part that was measured is worth."""
    parts = {name: losses[key] for name, key in PARTS.items() if losses.get(key)}
    ours = losses.get("tabnas", {})
    summaries = [summarize_part(name, values, ours, tables) for name, values in parts.items()]
    return [summary for summary in summaries if summary["rows"]]


def summarize_part(name: str, losses: Losses, ours: Losses, tables: list[str]) -> dict[str, Any]:
    """Return by how many per cent the loss rises without a part, by table and over tables."""
    rows = []
    for table in tables:
        without, default = (_by_seed(each, table, PART_LIMIT) for each in (losses, ours))
        if without.keys() & default.keys():
            rows.append({"table": table} | average_change(default, without))
    changes = [row["change"] for row in rows]
    return {
        "part": name,
        "mean": float(np.mean(changes)) if changes else None,
        "error": _standard_error(changes),
        "median": float(np.median(changes)) if changes else None,
        "rows": rows,
    }


def mean_loss(
    losses: Losses, table: str, limit: int | None, ours: Losses
) -> tuple[float, int] | None:
    """Return the mean loss over the seeds of `ours`, and how many seeds there are; see below."""
    at = FREE_LIMIT if limit is None else limit
    return paired_mean(_by_seed(losses, table, limit), _by_seed(ours, table, at))


def paired_mean(
    values: Mapping[int, float], reference: Mapping[int, float]
) -> tuple[float, int] | None:
    """Return the mean of values by seed, and how many there are; None if no seed is common.

    If there are fewer seeds than in the reference, it is the mean of the reference plus the mean
    difference over common seeds, which splits of different difficulty do not change.
    """
    common = values.keys() & reference.keys()
    if not common:
        return None
    difference = np.mean([values[seed] - reference[seed] for seed in common])
    return float(np.mean(list(reference.values())) + difference), len(common)


def _by_seed(losses: Losses, table: str, limit: int | None) -> dict[int, float]:
    return {seed: loss for (name, at, seed), loss in losses.items() if (name, at) == (table, limit)}
