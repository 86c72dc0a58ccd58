"""Summaries of the searches and of the grid of the rewards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import t as student

from tabnas.paper._experiment import Row, filter_rows, group_rows, mean
from tabnas.paper._tables import get_paper_table
from tabnas.paper.experiments.common import SIGNIFICANCE

REFERENCE = "reference"
NEAR = 0.05
"""How far from the limit a search may end, relative to it, as in the paper."""


def summarize_searches(rows: list[Row], epochs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Summarize what every reward found on every table; `epochs` are those of the definition."""
    tables = group_rows(rows, "table")
    return [_summarize_table(name, rows, epochs.get(name, {})) for name, rows in tables.items()]


def summarize_totals(tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Summarize what every reward found over all tables."""
    entries = [
        {"table": table["table"]} | reward for table in tables for reward in table["rewards"]
    ]
    totals = []
    for title, group in group_rows(entries, "title").items():
        sums = {
            name: sum(entry[name] for entry in group) for name in ("searches", "feasible", "near")
        }
        compared = [entry for entry in group if entry["loss"] is not None]
        totals.append(
            {
                "title": title,
                **sums,
                "over": sums["searches"] - sums["feasible"],
                "tables": len(group),
                "compared": len(compared),
                "lowest": [entry["table"] for entry in compared if entry["p"] == 1.0],
                "worse": [entry["table"] for entry in compared if entry["worse"]],
            }
        )
    return totals


def _summarize_table(name: str, rows: list[Row], epochs: Mapping[str, int]) -> dict[str, Any]:
    table = get_paper_table(name)
    groups = group_rows(rows, "title")
    reference = _summarize_architecture(groups.pop(REFERENCE)[0])
    rewards = [_summarize_reward(title, group) for title, group in groups.items()]
    compared = [entry for entry in rewards if entry["loss"] is not None]
    best = min(compared, key=lambda entry: float(entry["loss"]), default=None)
    for entry in compared:
        entry["p"] = 1.0 if best is None or entry is best else _welch_test(entry, best)
        entry["worse"] = entry["p"] < SIGNIFICANCE
    return {
        "table": name,
        "description": table.description,
        "limit": reference["parameters"],
        "search_epochs": epochs.get("search", table.epochs),
        "training_epochs": epochs.get("training", table.epochs),
        "epochs": table.epochs,
        "reference": reference,
        "best": None if best is None else best["title"],
        "rewards": rewards,
    }


def _summarize_reward(title: str, rows: list[Row]) -> dict[str, Any]:
    networks = [_summarize_architecture(row) for row in rows]
    times = Counter(network["architecture"] for network in networks)
    distinct = {network["architecture"]: network for network in networks}
    inside = [network["loss"] for network in networks if network["feasible"]]
    error, dof = _standard_error(
        [network for network in distinct.values() if network["feasible"]],
        times,
        len(rows[0]["losses"]),
    )
    return {
        "title": title,
        "rl_learning_rate": rows[0]["rl_learning_rate"],
        "option_value": rows[0].get("option_value"),
        "searches": len(networks),
        "feasible": len(inside),
        "near": sum(network["near"] for network in networks),
        "loss": mean(inside) if inside else None,  # of those within the limit
        "standard_error": error,
        "dof": dof,
        "found": [network | {"times": times[name]} for name, network in distinct.items()],
    }


def _standard_error(
    inside: list[dict[str, Any]], times: Mapping[str, int], trainings: int
) -> tuple[float, float]:
    """Return the standard error of the mean loss of what was found, and its degrees of freedom.

    It is the error of the trainings: it is about the architectures found, not about other searches.
    An architecture that was found twice was trained with the same seeds, and has twice the weight.
    """
    total = sum(times[network["architecture"]] for network in inside)
    parts = [
        (times[network["architecture"]] / total) ** 2 * network["loss_std"] ** 2 / trainings
        for network in inside
    ]
    variance = sum(parts)
    spread = sum(part**2 / (trainings - 1) for part in parts) if trainings > 1 else 0.0
    return variance**0.5, variance**2 / spread if spread > 0 else 0.0


def _welch_test(entry: Mapping[str, Any], best: Mapping[str, Any]) -> float:
    """Return the two-sided p-value of equal mean losses; 1 if a standard error is unknown."""
    parts = [(side["standard_error"] ** 2, side["dof"]) for side in (entry, best)]
    if any(dof == 0 for _, dof in parts):
        return 1.0
    variance = sum(part for part, _ in parts)
    dof = variance**2 / sum(part**2 / degrees for part, degrees in parts)
    return float(2 * student.sf((entry["loss"] - best["loss"]) / variance**0.5, dof))


def _summarize_architecture(row: Row) -> dict[str, Any]:
    return {
        "architecture": row["architecture"],
        "parameters": row["parameters"],
        "cost_ratio": row["cost_ratio"],
        "feasible": row["cost_ratio"] <= 1,
        "near": abs(row["cost_ratio"] - 1) <= NEAR,
        "bottleneck": row["bottleneck"],
        "loss": mean(row["losses"]),
        "loss_std": float(np.std(row["losses"], ddof=1)),
        "error": mean(row["errors"]),
        "error_std": float(np.std(row["errors"], ddof=1)),
    }


def summarize_grid(rows: list[Row], definition: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Summarize how often the settings of each reward end near the limit, by table."""
    return [
        {
            "table": row["table"],
            **row["problem"],
            "rl_learning_rates": len(definition["rl_learning_rates"]),
            "betas": len(definition["betas"]),
            "steps": definition["steps"],
            "rewards": [
                {"title": reward["title"]}
                | _summarize_cells(
                    filter_rows(rows, part="grid", table=row["table"], title=reward["title"]),
                    definition,
                )
                for reward in definition["rewards"]
            ],
        }
        for row in filter_rows(rows, part="problem")
    ]


def _summarize_cells(cells: list[Row], definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return shares of all runs, of the best setting, and by setting, [rates, betas]."""
    goals = ("near", "near_and_matching", "feasible", "feasible_and_matching")
    rates, seeds = len(definition["rl_learning_rates"]), definition["seeds"]
    shares = {
        goal: np.array([row[goal] for row in cells]).reshape(rates, -1) / seeds for goal in goals
    }
    return {
        "settings": len(cells),
        **{goal: float(share.mean()) for goal, share in shares.items()},
        "usable_settings": float((shares["near"] >= 0.5).mean()),
        "best_setting": float(shares["feasible_and_matching"].max()),
        "by_setting": {
            goal: shares[goal].round(4).tolist() for goal in ("near", "feasible_and_matching")
        },
    }
