"""What the searches and the grid of the rewards come to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import t as student

from tabnas.paper._experiment import Row
from tabnas.paper._tables import paper_table

REFERENCE = "reference"
NEAR = 0.05
"""The paper's: how far from the limit a search may end."""
LEVEL = 0.05
"""Of the tests that say whether what two rewards found can be told apart."""


def found_by_reward(rows: list[Row], said: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What every reward found on every table."""
    rows = [row for row in rows if row["part"] == "search"]
    return [_table(name, rows, said) for name in dict.fromkeys(row["table"] for row in rows)]


def totals(tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What every reward came to over all tables."""
    found = []
    for title in dict.fromkeys(one["title"] for table in tables for one in table["rewards"]):
        own = {
            table["table"]: one
            for table in tables
            for one in table["rewards"]
            if one["title"] == title
        }
        sums = {
            name: sum(one[name] for one in own.values())
            for name in ("searches", "feasible", "near")
        }
        judged = {name: one for name, one in own.items() if one["loss"] is not None}
        found.append(
            {
                "title": title,
                **sums,
                "over": sums["searches"] - sums["feasible"],
                "tables": len(own),
                "judged": len(judged),
                "lowest": [name for name, one in judged.items() if one["p"] == 1.0],
                "worse": [name for name, one in judged.items() if one["worse"]],
            }
        )
    return found


def _table(name: str, rows: list[Row], said: Mapping[str, Any]) -> dict[str, Any]:
    own = [row for row in rows if row["table"] == name]
    table = paper_table(name)
    epochs = said["epochs"].get(name, {})
    titles = [title for title in dict.fromkeys(row["title"] for row in own) if title != REFERENCE]
    reference = _architecture(next(row for row in own if row["title"] == REFERENCE))
    rewards = [_reward(title, [row for row in own if row["title"] == title]) for title in titles]
    judged = [one for one in rewards if one["loss"] is not None]
    best = min(judged, key=lambda one: float(one["loss"]), default=None)
    for one in judged:
        one["p"] = 1.0 if best is None or one is best else _welch(one, best)
        one["worse"] = one["p"] < LEVEL
    return {
        "table": name,
        "what": table.what,
        "limit": reference["parameters"],
        "search_epochs": epochs.get("search", table.epochs),
        "training_epochs": epochs.get("training", table.epochs),
        "epochs": table.epochs,
        "reference": reference,
        "best": None if best is None else best["title"],
        "rewards": rewards,
    }


def _reward(title: str, own: list[Row]) -> dict[str, Any]:
    found = [_architecture(row) for row in own]
    times: dict[str, int] = {}
    for one in found:
        times[one["architecture"]] = times.get(one["architecture"], 0) + 1
    unique = {one["architecture"]: one for one in found}
    inside = [one["loss"] for one in found if one["feasible"]]
    error, freedom = _error([one for one in unique.values() if one["feasible"]], times, own)
    return {
        "title": title,
        "rate": own[0]["rate"],
        "strength": own[0].get("strength"),
        "searches": len(found),
        "feasible": len(inside),
        "near": sum(one["near"] for one in found),
        "loss": float(np.mean(inside)) if inside else None,  # of those within the limit
        "standard_error": error,
        "freedom": freedom,
        "found": [one | {"times": times[name]} for name, one in unique.items()],
    }


def _error(
    inside: list[dict[str, Any]], times: Mapping[str, int], rows: list[Row]
) -> tuple[float, float]:
    """The standard error of the mean loss of what was found, and its degrees of freedom.

    It is that of the trainings: it speaks of the architectures found, not of other searches. One
    that was found twice was trained with the same seeds, and weighs twice.
    """
    trainings = len(rows[0]["losses"])
    total = sum(times[one["architecture"]] for one in inside)
    parts = [
        (times[one["architecture"]] / total) ** 2 * one["loss_std"] ** 2 / trainings
        for one in inside
    ]
    variance = sum(parts)
    spread = sum(part**2 / (trainings - 1) for part in parts) if trainings > 1 else 0.0
    return variance**0.5, variance**2 / spread if spread > 0 else 0.0


def _welch(one: Mapping[str, Any], best: Mapping[str, Any]) -> float:
    """Two-sided p of two mean losses being the same (Welch); 1 where nothing is known of errors."""
    parts = [(side["standard_error"] ** 2, side["freedom"]) for side in (one, best)]
    if any(freedom == 0 for _, freedom in parts):
        return 1.0
    variance = sum(part for part, _ in parts)
    freedom = variance**2 / sum(part**2 / own for part, own in parts)
    return float(2 * student.sf((one["loss"] - best["loss"]) / variance**0.5, freedom))


def _architecture(row: Row) -> dict[str, Any]:
    return {
        "architecture": row["architecture"],
        "parameters": row["parameters"],
        "load": row["load"],
        "feasible": row["load"] <= 1,
        "near": abs(row["load"] - 1) <= NEAR,
        "bottleneck": row["bottleneck"],
        "loss": float(np.mean(row["losses"])),
        "loss_std": float(np.std(row["losses"], ddof=1)),
        "error": float(np.mean(row["errors"])),
        "error_std": float(np.std(row["errors"], ddof=1)),
    }


def grid_by_reward(rows: list[Row], said: Mapping[str, Any]) -> list[dict[str, Any]]:
    """How often the settings of each reward end where they should, table by table."""
    facts = {row["table"]: row["facts"] for row in rows if row["part"] == "facts"}
    cells = [row for row in rows if row["part"] == "grid"]
    return [
        {
            "table": name,
            **own,
            "rates": len(said["rates"]),
            "betas": len(said["betas"]),
            "steps": said["steps"],
            "rewards": [
                _shares(
                    reward["title"],
                    [
                        row
                        for row in cells
                        if (row["table"], row["title"]) == (name, reward["title"])
                    ],
                    said,
                )
                for reward in said["rewards"]
            ],
        }
        for name, own in facts.items()
    ]


def _shares(title: str, cells: list[Row], said: Mapping[str, Any]) -> dict[str, Any]:
    """Shares of all runs; of the best setting; and by setting, [rates, betas]."""
    goals = ("near", "near_and_matching", "feasible", "feasible_and_matching")
    by_goal = {
        goal: np.array([row[goal] for row in cells]).reshape(len(said["rates"]), -1) / said["seeds"]
        for goal in goals
    }
    return {
        "title": title,
        "settings": len(cells),
        **{goal: float(shares.mean()) for goal, shares in by_goal.items()},
        "usable_settings": float((by_goal["near"] >= 0.5).mean()),
        "best_setting": float(by_goal["feasible_and_matching"].max()),
        "by_setting": {
            goal: by_goal[goal].round(4).tolist() for goal in ("near", "feasible_and_matching")
        },
    }
