"""`result.json`: what a run found, fit for people and for machines."""

from __future__ import annotations

import platform
from importlib.metadata import version
from math import isfinite
from typing import Any

from tabnas.data import ClassTarget
from tabnas.runs._pipeline import Outcome
from tabnas.runs.plan._plan import Plan
from tabnas.runs.search._wider_steps import list_wider_steps
from tabnas.space import Architecture

FORMAT = 1
NAMED_VERSIONS = ("tabnas", "numba", "numpy", "pyarrow", "scikit-learn")


def describe_outcome(outcome: Outcome) -> dict[str, Any]:
    """All facts of a run. Only `timings` differs between two runs of the same settings and plan.

    With a limit on latency more may: what was measured has a say in which network is taken. The
    measured latencies themselves stand among the timings.
    """
    data, plan, space = outcome.data, outcome.plan, outcome.plan.feasible.space
    return {
        "format": FORMAT,
        "architecture": str(outcome.model.architecture),
        "costs": describe_costs(outcome),
        "target": _target(outcome),
        "metric": outcome.metric.name,
        "scores": {name: scores.to_dict() for name, scores in outcome.scores.items()},
        "boosted_trees": None
        if outcome.boosted is None
        else {
            "trees": outcome.boosted.trees,
            "nodes": outcome.boosted.nodes,
            "rows": outcome.boosted.rows,
        },
        "diagnostics": outcome.diagnostics,
        "notes": list(outcome.notes),
        "candidates": [
            {
                "architecture": str(candidate.architecture),
                "costs": _costs(plan, candidate.architecture),
                outcome.metric.name: outcome.metric.loss(candidate.loss),
                "epochs": candidate.stop_after,
                "temperature": candidate.temperature,
                "one_shot_loss": one_shot if isfinite(one_shot) else None,
            }
            for candidate, one_shot in zip(outcome.candidates, outcome.one_shot, strict=True)
        ],
        "chosen_by": chosen_by(plan),
        "trained_on_all_rows": outcome.trained_on_all_rows,
        "limit_effects": [
            {
                "factor": effect.factor,
                "architecture": str(effect.architecture),
                "one_shot_loss": effect.one_shot_loss,
            }
            for effect in outcome.limit_effects
        ],
        "wider": [
            {"architecture": str(step.architecture), "breaks": list(step.breaks)}
            for step in list_wider_steps(space, outcome.model.architecture, plan.feasible.budget)
        ],
        "rows": {
            "training": len(data.train),
            "validation": len(data.validation),
            "test": 0 if data.test is None else len(data.test),
        },
        "columns": data.encoder.describe(),
        "table": data.digest(),
        "plan": describe_plan(outcome),
        "seed": outcome.settings.seed,
        "versions": versions(),
        "timings": {name: round(value, 3) for name, value in outcome.seconds.items()}
        | {f"measured {name}": round(value, 3) for name, value in outcome.measured_us.items()},
    }


def chosen_by(plan: Plan) -> str:
    """What candidates are judged by."""
    return f"{plan.folds}-fold cross-validation" if plan.folds else "validation rows"


def versions() -> dict[str, str]:
    """What the bits of a run depend on."""
    named = {name: version(name) for name in NAMED_VERSIONS}
    return named | {"python": platform.python_version()}


def describe_costs(outcome: Outcome) -> dict[str, dict[str, float | None]]:
    """Every cost of the model, latencies as predicted, with its limit where it has one."""
    limits = outcome.model.limits
    return {
        name: {"value": value, "limit": limits.get(name)}
        for name, value in _costs(outcome.plan, outcome.model.architecture).items()
    }


def describe_plan(outcome: Outcome) -> dict[str, Any]:
    """The work that was done, in numbers."""
    plan = outcome.plan
    feasible = plan.feasible
    return {
        "inputs": feasible.space.inputs,
        "outputs": feasible.space.outputs,
        "embedding_parameters": feasible.space.embedding_parameters,
        "widths": [list(layer) for layer in feasible.space.candidates],
        "architectures": feasible.space.size,
        "feasible": feasible.count() if feasible.is_exact else None,
        "search_epochs": plan.search.epochs,
        "epochs": plan.training.epochs,
        "batch_size": plan.training.batch_size,
        "learning_rate": plan.training.schedule.learning_rate,
        "candidates": plan.candidates,
        "folds": plan.folds,
    }


def _target(outcome: Outcome) -> dict[str, Any]:
    target = outcome.data.target
    said: dict[str, Any] = {"name": target.name, "task": target.task}
    if isinstance(target, ClassTarget):
        said["classes"] = list(target.classes)
    return said


def _costs(plan: Plan, architecture: Architecture) -> dict[str, float]:
    return {name: cost(plan.feasible.space, architecture) for name, cost in plan.costs.items()}
