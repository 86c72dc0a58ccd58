"""`tradeoff.json`: the curve of cost against quality, fit for people and for machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tabnas.runs._pipeline import Outcome
from tabnas.runs._tradeoff import PlannedTradeoff
from tabnas.runs.folders._result import chosen_by, describe_costs, versions
from tabnas.space import find_bottlenecks

FORMAT = 1


def describe_tradeoff(tradeoff: PlannedTradeoff, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """All facts of a trade-off. Only `timings` differs between two of the same settings and plan.

    With a limit on latency more may, since measurements have a say in what is chosen.
    """
    first = outcomes[0]
    metric, loosest = first.metric, outcomes[-1].plan.feasible.space
    models: list[dict[str, Any]] = []
    for limit, outcome in zip(tradeoff.limits, outcomes, strict=True):
        scores = outcome.scores.get("network")
        models.append(
            {
                "limit": limit,
                "folder": folder_name(limit),
                "architecture": str(outcome.model.architecture),
                "costs": describe_costs(outcome),
                "held_out": metric.loss(outcome.chosen.loss),
                "scores": None if scores is None else scores.to_dict(),
                "bottlenecks": list(
                    find_bottlenecks(outcome.model.architecture, outcome.plan.feasible.space.inputs)
                ),
            }
        )
    efficient = pareto_optimal(
        [
            (model["costs"][tradeoff.cost]["value"], outcome.chosen.loss)
            for model, outcome in zip(models, outcomes, strict=True)
        ]
    )
    for model, optimal in zip(models, efficient, strict=True):
        model["pareto_optimal"] = optimal
    return {
        "format": FORMAT,
        "target": {"name": first.data.target.name, "task": first.data.target.task},
        "metric": metric.name,
        "greater_is_better": metric.greater_is_better,
        "cost": tradeoff.cost,
        "models": models,
        "beside": {n: s.to_dict() for n, s in first.scores.items() if n != "network"},
        "rows": {
            "training": len(first.data.train),
            "validation": len(first.data.validation),
            "test": 0 if first.data.test is None else len(first.data.test),
        },
        "inputs": loosest.inputs,
        "outputs": loosest.outputs,
        "chosen_by": chosen_by(first.plan),
        "seed": first.settings.seed,
        "versions": versions(),
        "timings": {
            name: round(sum(outcome.seconds.get(name, 0.0) for outcome in outcomes), 3)
            for name in first.seconds
        }
        | {
            f"measured {name}, {folder_name(limit)}": round(us, 3)
            for limit, outcome in zip(tradeoff.limits, outcomes, strict=True)
            for name, us in outcome.measured_us.items()
        },
    }


def folder_name(limit: float) -> str:
    """Where the run of one limit lies within the folder of the trade-off.

    >>> folder_name(5_000), folder_name(12.5)
    ('limit-5000', 'limit-12.5')
    """
    return f"limit-{float(limit)!r}" if limit != int(limit) else f"limit-{int(limit)}"


def pareto_optimal(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Whether no other point (cost, loss) is as cheap and as good, and better in one of them.

    >>> pareto_optimal([(1, 0.3), (2, 0.4), (3, 0.1)])
    [True, False, True]
    """
    return [
        not any(
            other[0] <= point[0] and other[1] <= point[1] and other != point for other in points
        )
        for point in points
    ]
