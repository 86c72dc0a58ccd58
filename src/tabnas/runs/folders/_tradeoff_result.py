"""Build the result of a trade-off, as `tradeoff.json` holds it."""

from __future__ import annotations

from collections.abc import Sequence

from tabnas.pareto import is_pareto_optimal
from tabnas.results import TOTAL, WITHOUT_TEACHER, TradeoffModel, TradeoffResult
from tabnas.runs._finished_run import FinishedRun
from tabnas.runs._tradeoff import PlannedTradeoff
from tabnas.runs.folders._result import (
    collect_versions,
    compute_cost_uses,
    count_rows,
    describe_selection,
    summarize_target,
)
from tabnas.space import find_bottlenecks


def build_tradeoff_result(
    tradeoff: PlannedTradeoff, finished_runs: Sequence[FinishedRun]
) -> TradeoffResult:
    """Return the result of a trade-off, as people and programs read it."""
    first = finished_runs[0]
    metric, loosest = first.metric, finished_runs[-1].plan.feasible.space
    embeddings = loosest.numeric_embeddings
    costs = [compute_cost_uses(finished) for finished in finished_runs]
    optimal = is_pareto_optimal(
        [use[tradeoff.cost].value for use in costs],
        [finished.chosen.loss for finished in finished_runs],
    ).tolist()
    return TradeoffResult(
        target=summarize_target(first.data, classes=False),
        metric=metric.name,
        greater_is_better=metric.greater_is_better,
        cost=tradeoff.cost,
        models=tuple(
            TradeoffModel(
                limit=limit,
                folder=folder_name(limit),
                architecture=finished.model.architecture,
                costs=use,
                validation_score=metric.loss(finished.chosen.loss),
                scores=finished.scores.get("network"),
                bottlenecks=tuple(
                    find_bottlenecks(
                        finished.model.architecture,
                        finished.plan.feasible.space.input_width(
                            finished.model.architecture.dimension
                        ),
                    )
                ),
                pareto_optimal=is_optimal,
                teacher_share=finished.chosen.distillation.teacher_share,
                precision=finished.model.precision,
            )
            for limit, finished, use, is_optimal in zip(
                tradeoff.limits, finished_runs, costs, optimal, strict=True
            )
        ),
        references={
            name: one
            for name, one in first.scores.items()
            if name not in ("network", WITHOUT_TEACHER)
        },
        teacher=() if first.teacher is None else first.teacher.models,
        rows=count_rows(first.data),
        inputs=loosest.inputs,
        embedded_columns=0 if embeddings is None else embeddings.columns,
        outputs=loosest.outputs,
        chosen_by=describe_selection(first.plan),
        seed=first.settings.seed,
        versions=collect_versions(),
        timings={
            name: round(sum(finished.phase_seconds.get(name, 0.0) for finished in finished_runs), 3)
            for name in first.phase_seconds
        }
        | {TOTAL: round(sum(finished.total_seconds for finished in finished_runs), 3)}
        | {
            f"measured {name}, {folder_name(limit)}": round(us, 3)
            for limit, finished in zip(tradeoff.limits, finished_runs, strict=True)
            for name, us in finished.latencies_us.items()
        },
    )


def folder_name(limit: float) -> str:
    """Return the name of the folder that holds the run of one limit.

    >>> folder_name(5_000), folder_name(12.5)
    ('limit-5000', 'limit-12.5')
    """
    return f"limit-{float(limit)!r}" if limit != int(limit) else f"limit-{int(limit)}"
