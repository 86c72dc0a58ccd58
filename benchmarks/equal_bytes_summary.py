"""What the losses of `equal_bytes.py` say: means, who is ahead, and what each part is worth."""

from __future__ import annotations

from typing import Any

import numpy as np

METHODS = ("tabnas", "tabnas float32", "equal widths", "LightGBM", "RealMLP", "TabM", "MLP",
           "pruned", "LightGBM file")  # fmt: skip
OURS = ("tabnas", "tabnas float32")
FREE = ("LightGBM", "RealMLP", "TabM")
PARTS = {
    "search": "part_without_search",
    "equal layers": "part_without_equal_layers",
    "widening": "part_without_widening",
    "numeric embeddings": "part_without_embeddings",
    "teacher": "part_without_teacher",
    "averaging": "part_without_averaging",
    "int8": "tabnas_float32",
}
PART_LIMIT, FREE_LIMIT = 20_000, 80_000

Losses = dict[tuple[str, int | None, int], float]
"""The loss of a method by table, limit and seed."""


def summarize(contents: dict[str, Any]) -> dict[str, Any]:
    """Summarize the files of all methods, by the names of the files."""
    losses: dict[str, Losses] = {
        name: {(row["table"], row["limit"], row["seed"]): row["loss"] for row in content["rows"]}
        for name, content in contents.items()
        if name != "time"
    }
    methods = {
        method: losses[key]
        for method in METHODS
        if (key := method.lower().replace(" ", "_")) in losses
    }
    ours = losses["tabnas"]
    tables = list(dict.fromkeys(table for table, _, _ in ours))
    limits = sorted({limit for _, limit, _ in ours if limit is not None})
    parts = {name: losses[key] for name, key in PARTS.items() if key in losses}
    return {
        "tables": tables,
        "methods": list(methods),
        "limits": [summarize_limit(methods, tables, limit) for limit in limits],
        "curves": {table: make_curves(methods, table, limits) for table in tables},
        "free": summarize_free(methods, tables),
        "parts": [summarize_part(name, losses, ours, tables) for name, losses in parts.items()],
    }


def summarize_limit(methods: dict[str, Losses], tables: list[str], limit: int) -> dict[str, Any]:
    """Return the mean losses within a limit, and on how many tables each method is ahead.

    `ours` counts the tables on which the default is ahead of all methods but our own; the better of
    its variants by test loss would not be a fair count.
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
                }
            )
    best = [row["best"] for row in rows]
    return {
        "limit": limit,
        "tables": len(rows),
        "ours": sum(_is_ahead(row["losses"]) for row in rows),
        "ahead": {method: best.count(method) for method in methods if method in best},
        "rows": rows,
    }


def _is_ahead(losses: dict[str, float]) -> bool:
    others = [loss for method, loss in losses.items() if method not in OURS]
    return losses["tabnas"] < min(others, default=float("inf"))


def make_curves(methods: dict[str, Losses], table: str, limits: list[int]) -> dict[str, Any]:
    """Return the points (limit, mean loss) of each method, over seeds that all limits share."""
    seeds = {limit: _by_seed(methods["tabnas"], table, limit).keys() for limit in limits}
    seeds = {limit: known for limit, known in seeds.items() if known}
    common = set.intersection(*map(set, seeds.values()))
    ours = {at: loss for at, loss in methods["tabnas"].items() if at[2] in common}
    means = {
        method: [(limit, mean_loss(losses, table, limit, ours)) for limit in seeds]
        for method, losses in methods.items()
    }
    return {
        method: [(limit, mean[0]) for limit, mean in points if mean is not None]
        for method, points in means.items()
    }


def summarize_free(methods: dict[str, Losses], tables: list[str]) -> dict[str, Any]:
    """Compare tabnas within a limit with others that have none."""
    rows: list[dict[str, Any]] = []
    ahead: dict[str, dict[str, int]] = {}
    for table in tables:
        ours = mean_loss(methods["tabnas"], table, FREE_LIMIT)
        if ours is None:
            continue
        row: dict[str, Any] = {"table": table, "tabnas": ours[0]}
        for method in FREE:
            mean = mean_loss(methods.get(method, {}), table, None, methods["tabnas"])
            if mean is not None:
                row[method] = mean[0]
                counts = ahead.setdefault(method, {"won": 0, "of": 0})
                counts["won"] += ours[0] < mean[0]
                counts["of"] += 1
        rows.append(row)
    return {"limit": FREE_LIMIT, "ahead": ahead, "rows": rows}


def summarize_part(name: str, losses: Losses, ours: Losses, tables: list[str]) -> dict[str, Any]:
    """Return by how many per cent the loss rises without a part, by table and on average."""
    rows = []
    for table in tables:
        changes = [
            100 * (loss / ours[at] - 1)
            for at, loss in losses.items()
            if at[:2] == (table, PART_LIMIT) and at in ours
        ]
        if changes:
            error = float(np.std(changes, ddof=1)) / len(changes) ** 0.5 if changes[1:] else None
            rows.append({"table": table, "change": float(np.mean(changes)), "error": error})
    changes = [row["change"] for row in rows]
    spread = float(np.std(changes, ddof=1)) / len(changes) ** 0.5 if changes[1:] else None
    mean = float(np.mean(changes)) if changes else None
    return {"part": name, "mean": mean, "error": spread, "rows": rows}


def mean_loss(
    losses: Losses, table: str, limit: int | None, ours: Losses | None = None
) -> tuple[float, int] | None:
    """Return the mean loss over seeds, and how many there are.

    If there are fewer seeds than in `ours`, it is the mean of ours plus the mean difference over
    the common seeds, which splits of different difficulty do not change.
    """
    values = _by_seed(losses, table, limit)
    if not values:
        return None
    all_ours = _by_seed(ours or {}, table, FREE_LIMIT if limit is None else limit)
    common = values.keys() & all_ours.keys()
    if not common:
        return float(np.mean(list(values.values()))), len(values)
    difference = np.mean([values[seed] - all_ours[seed] for seed in common])
    return float(np.mean(list(all_ours.values())) + difference), len(common)


def _by_seed(losses: Losses, table: str, limit: int | None) -> dict[int, float]:
    return {seed: loss for (name, at, seed), loss in losses.items() if (name, at) == (table, limit)}
