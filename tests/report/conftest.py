from __future__ import annotations

import math
from copy import deepcopy
from typing import Any

import numpy as np

from tabnas.report import render_card, render_report, render_tradeoff
from tabnas.results import decode_history, decode_result, decode_tradeoff

WIDTHS = [[8, 16, 32], [0, 8, 16], [0, 8, 16]]


def make_report(result: Any = None, history: Any = None, config: Any = None) -> str:
    """Render the report of files with these contents; invented ones are the default."""
    return render_report(
        decode_result(make_result() if result is None else result),
        decode_history(make_history() if history is None else history),
        make_config() if config is None else config,
    )


def make_card(result: Any = None, config: Any = None) -> str:
    """Render the model card of files with these contents."""
    decoded = decode_result(make_result() if result is None else result)
    return render_card(decoded, make_config() if config is None else config)


def make_tradeoff_page(tradeoff: Any, config: Any) -> str:
    """Render the page of a trade-off of files with these contents."""
    return render_tradeoff(decode_tradeoff(tradeoff), config)


def make_result(task: str = "multiclass", **changes: Any) -> dict[str, Any]:
    """Return a result.json with invented numbers."""
    numbers = task == "regression"
    metric = "rmse" if numbers else "log_loss"
    names = ["rmse", "mae", "r2"] if numbers else ["accuracy", "balanced_error", "log_loss", "auc"]
    classes = [] if numbers else ["no", "yes"] if task == "binary" else ["auk", "emu", "owl"]
    scores = {
        predictor: {
            "task": task,
            "rows": 90,
            "metrics": {n: {"value": v, "low": v - 0.05, "high": v + 0.04} for n in names},
        }
        for predictor, v in (("network", 0.8), ("trivial", 0.3), ("boosted trees", 0.82))
    }
    result = {
        "format": 2,
        "architecture": "16-8",
        "costs": {
            "parameters": {"value": 480, "limit": 500},
            "flops": {"value": 900, "limit": 2_000},
            "bytes": {"value": 1_920, "limit": None},
        },
        "target": {"name": "bird", "task": task} | ({} if numbers else {"classes": classes}),
        "metric": metric,
        "scores": scores,
        "boosted_trees": None,
        "diagnostics": make_diagnostics(classes),
        "notes": ["the moon could not be judged on the test rows"],
        "candidates": [
            {
                "architecture": architecture,
                "costs": {"parameters": cost, "flops": 2 * cost, "bytes": 4 * cost},
                "score": loss,
                "epochs": 12,
                "temperature": 1.1,
                "one_shot_loss": 3 * loss,
            }
            for architecture, cost, loss in (("16-8", 480, 0.2), ("8", 150, 0.3), ("16", 300, 0.4))
        ],
        "chosen_by": "5-fold cross-validation",
        "trained_on_all_rows": False,
        "limit_effects": [
            {"factor": f, "architecture": "8", "one_shot_loss": 0.5 / f} for f in (0.5, 1.0, 2.0)
        ],
        "wider_steps": [
            {"architecture": "32-8", "violates": ["parameters"]},
            {"architecture": "16-8-8", "violates": []},
        ],
        "rows": {"training": 300, "validation": 100, "test": 90},
        "columns": {"size": "numeric: scaled", "colour": "categorical: 3 categories"},
        "table": "0123456789abcdef",
        "plan": {
            "inputs": 10,
            "outputs": max(1, len(classes)),
            "embedding_parameters": 6,
            "widths": WIDTHS,
            "architectures": 27,
            "feasible": 20,
            "search_epochs": 30,
            "epochs": 40,
            "batch_size": 32,
            "learning_rate": 0.01,
            "candidates": 3,
            "folds": 5,
        },
        "seed": 0,
        "versions": {"tabnas": "0.1.0", "python": "3.11.7"},
        "timings": {"search": 1.5, "candidates": 2.5},
    }
    return deepcopy(result | changes)


def make_c_size(**changes: Any) -> dict[str, Any]:
    """Return the `c_size` of a result.json with invented numbers."""
    size = {
        "weight_bytes": 1_920,
        "column_bytes": 204,
        "max_code_bytes": 3_556,
        "ram_bytes": 104,
        "compiled_bytes": 4_811,
        "lookup_bytes": 377,
        "compiler": "cc (Birds) 12.2",
    }
    return size | changes


UNCOMPILED = {"compiled_bytes": None, "lookup_bytes": None, "compiler": None}


def make_embedded_result(dimension: int = 2, **changes: Any) -> dict[str, Any]:
    """Return a result.json of a search with an input layer, of a network with this dimension."""
    result = make_result("regression")
    result["architecture"] = f"d{dimension}-16-8" if dimension else "16-8"
    result["plan"] |= {
        "dimensions": [0, 1, 2, 4, 8],
        "embedded_columns": 8,
        "knots": 40,
        "architectures": 135,
    }
    result["costs"]["parameters"] = {"value": 4_800, "limit": 5_000}
    result["numeric_curves"] = [
        {
            "column": column,
            "feature": feature,
            "unit": unit,
            "knots": [start + step * k for k in range(5)],
            "outputs": [[math.sin(d + k) for k in range(5)] for d in range(min(4, dimension))],
        }
        for column, feature, unit, start, step in (
            ("size", "size", "number", -0.5, 0.25),
            ("day", "day", "time", 1.3e9, 86_400.0 * 30),
            ("day", "day week sine", "number", -1.0, 0.5),
        )
    ] * bool(dimension)
    return deepcopy(result | changes)


EMBEDDED_LAYERS = [[0, 1, 2, 4, 8], *WIDTHS]


def make_tradeoff(**changes: Any) -> dict[str, Any]:
    """Return a tradeoff.json with invented numbers."""

    def make_scores(value: float) -> dict[str, Any]:
        score = {"value": value, "low": value - 0.03, "high": value + 0.03}
        return {"task": "multiclass", "rows": 90, "metrics": {"log_loss": score}}

    models = [
        {
            "limit": limit,
            "folder": f"limit-{limit}",
            "architecture": architecture,
            "costs": {
                "parameters": {"value": used, "limit": limit},
                "flops": {"value": 2 * used, "limit": None},
            },
            "validation_score": value - 0.01,
            "scores": make_scores(value),
            "bottlenecks": bottlenecks,
            "pareto_optimal": True,
        }
        for limit, used, architecture, bottlenecks, value in (
            (500, 450, "8", [], 0.6),
            (1_000, 900, "16-8-16", [2], 0.3),
            (2_000, 1_900, "32-16", [], 0.28),
        )
    ]
    tradeoff = {
        "format": 2,
        "target": {"name": "bird", "task": "multiclass"},
        "metric": "log_loss",
        "greater_is_better": False,
        "cost": "parameters",
        "models": models,
        "references": {"trivial": make_scores(3.0), "boosted trees": make_scores(0.26)},
        "rows": {"training": 300, "validation": 100, "test": 90},
        "inputs": 10,
        "outputs": 3,
        "chosen_by": "validation rows",
        "seed": 0,
        "versions": {"tabnas": "0.1.0", "python": "3.11.7"},
        "timings": {"search": 1.5, "candidates": 2.5},
    }
    return deepcopy(tradeoff | changes)


def make_diagnostics(classes: list[str]) -> dict[str, Any]:
    """Return diagnostics with invented numbers."""
    importance = {
        "rows": 90,
        "repeats": 5,
        "columns": {
            "size": {"increase": 0.5, "std": 0.1},
            "colour": {"increase": -0.01, "std": 0.02},
        },
    }
    diagnostics: dict[str, Any] = {"split": "test", "rows": 90, "importance": importance}
    if not classes:
        return diagnostics | {
            "residuals": {
                "quantiles": {"0.025": -2.0, "0.25": -0.5, "0.5": 0.1, "0.75": 0.6, "0.975": 2.1},
                "histogram": {"edges": [-2.0, 0.0, 2.0], "counts": [40, 50]},
                "y_true": [1.0, 2.0, 3.0],
                "y_pred": [1.1, 1.8, 3.3],
            }
        }
    size = len(classes)
    counts = [[20 if i == j else i + j for j in range(size)] for i in range(size)]
    bins = [
        {
            "low": low,
            "high": low + 0.1,
            "rows": 30,
            "predicted": low + 0.05,
            "observed": low,
            "observed_low": max(0.0, low - 0.1),
            "observed_high": min(1.0, low + 0.1),
        }
        for low in (0.0, 0.5, 0.9)
    ]
    probability_of = "second class" if size == 2 else "most likely class"
    return diagnostics | {
        "confusion": {"classes": classes, "pooled_classes": 0, "correct": 60, "counts": counts},
        "reliability": {"probability_of": probability_of, "calibration_error": 0.03, "bins": bins},
    }


def make_history(widths: list[list[int]] = WIDTHS, snapshots: int = 20) -> list[dict[str, Any]]:
    """Return a history of a search with invented numbers."""
    rng = np.random.default_rng(0)
    lines = []
    for k in range(snapshots):
        probabilities = [rng.dirichlet(np.full(len(layer), 3.0)) for layer in widths]
        lines.append(
            {
                "step": k,
                "progress": (k + 1) / snapshots,
                "training_loss": math.exp(-k / 5),
                "quality": None if k < snapshots // 4 else 0.5 + k / 100,
                "feasible_probability": 0.3 + k / 100,
                "entropy": 2.0,
                "most_likely": "16-8",
                "most_likely_cost": 480,
                "probabilities": [np.round(layer, 6).tolist() for layer in probabilities],
            }
        )
    return lines


def make_config(**settings: Any) -> dict[str, Any]:
    """Return a config.toml of a run."""
    defaults = {
        "limits": {"parameters": 500, "flops": 2_000},
        "shares": {"validation": 0.2, "test": 0.2},
        "split": "random",
        "kinds": {},
        "drop": [],
        "scaling": "robust",
        "refit": False,
        "reference_models": True,
        "seed": 0,
        "workers": 1,
        "engine": "compiled",
    }
    return {"data": {"data": "birds.csv", "target": "bird"}, "settings": defaults | settings}


def make_taught_result(
    task: str = "multiclass",
    *,
    share: float = 0.7,
    network: float = 0.52,
    teacher: float = 0.5,
    without: float = 0.6,
    **changes: Any,
) -> dict[str, Any]:
    """Return a result.json of a run with a teacher, with these values of every metric on tests."""
    result = make_result(task)

    def make_scores(value: float) -> dict[str, Any]:
        scores = deepcopy(result["scores"]["network"])
        for score in scores["metrics"].values():
            score |= {"value": value, "low": value - 0.05, "high": value + 0.05}
        return scores

    result["scores"]["network"] = make_scores(network)
    result["scores"]["teacher"] = make_scores(teacher)
    if share:
        result["scores"]["network without teacher"] = make_scores(without)
    result["teacher"] = {
        "models": [
            {"name": "trees", "share": 0.66, "out_of_fold_loss": 0.512},
            {"name": "network", "share": 0.34, "out_of_fold_loss": 0.534},
        ],
        "share": share,
        "uses_unlabelled": False,
        "score": 0.2,
        "score_without": 0.25 if share else 0.2,
    }
    best = result["candidates"][0]
    other = {"teacher_share": 0.0 if share else 0.7, "score": 0.25}
    result["candidates"][:1] = [best | {"teacher_share": share}, best | other]
    return deepcopy(result | changes)
