"""Build the result of a run, as `result.json` holds it."""

from __future__ import annotations

import platform
from importlib.metadata import version
from math import isfinite

from tabnas.data import ClassTarget
from tabnas.results import (
    MEASURED_PREFIX,
    TOTAL,
    BoostedTreesSummary,
    CandidateResult,
    CostUse,
    PlanSummary,
    RowCounts,
    RunResult,
    TargetSummary,
)
from tabnas.runs._finished_run import FinishedRun
from tabnas.runs.evaluation._numeric_curves import read_numeric_curves
from tabnas.runs.evaluation._wider_neighbours import list_wider_neighbours
from tabnas.runs.folders._c_size import measure_for_device
from tabnas.runs.plan._plan import Plan
from tabnas.runs.prepare._prepared_data import PreparedData
from tabnas.space import Architecture, Precision, compute_costs

NAMED_VERSIONS = ("tabnas", "numba", "numpy", "pyarrow", "scikit-learn")


def build_run_result(finished: FinishedRun) -> RunResult:
    """Return the result of a run, as people and programs read it."""
    data, plan, boosted = finished.data, finished.plan, finished.boosted
    space = plan.feasible.space
    return RunResult(
        architecture=finished.model.architecture,
        costs=compute_cost_uses(finished),
        c_size=measure_for_device(finished),
        target=summarize_target(data),
        metric=finished.metric.name,
        scores=dict(finished.scores),
        boosted_trees=None
        if boosted is None
        else BoostedTreesSummary(boosted.trees, boosted.nodes, boosted.rows),
        teacher=finished.teacher,
        diagnostics=finished.diagnostics,
        numeric_curves=read_numeric_curves(finished.model, finished.diagnostics),
        notes=tuple(finished.notes),
        candidates=tuple(
            CandidateResult(
                architecture=candidate.architecture,
                teacher_share=candidate.distillation.teacher_share,
                uses_unlabelled=candidate.distillation.uses_unlabelled,
                is_longer=candidate.is_longer,
                precision=candidate.precision,
                costs=_costs(plan, candidate.architecture, candidate.precision),
                score=finished.metric.loss(candidate.loss),
                score_before_rounding=None
                if candidate.precision == Precision.FLOAT32
                else finished.metric.loss(candidate.float32_loss),
                epochs=candidate.stop_after,
                temperature=candidate.temperature,
                one_shot_loss=_finite_or_none(candidate.one_shot_loss),
            )
            for candidate in finished.candidates
        ),
        chosen_by=describe_selection(plan),
        trained_on_all_rows=finished.trained_on_all_rows,
        limit_effects=finished.limit_effects,
        wider_steps=list_wider_neighbours(
            space,
            finished.model.architecture,
            plan.feasible.budget.at_precision(finished.model.precision),
        ),
        rows=count_rows(data),
        columns=data.encoder.describe(),
        table=data.digest(),
        plan=_summarize_plan(plan),
        seed=finished.settings.seed,
        versions=collect_versions(),
        timings={name: round(value, 3) for name, value in finished.phase_seconds.items()}
        | {TOTAL: round(finished.total_seconds, 3)}
        | {
            f"{MEASURED_PREFIX}{name}": round(value, 3)
            for name, value in finished.latencies_us.items()
        },
    )


def _finite_or_none(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None


def describe_selection(plan: Plan) -> str:
    """Return what candidates are compared by."""
    return f"{plan.folds}-fold cross-validation" if plan.folds else "validation rows"


def collect_versions() -> dict[str, str]:
    """Return the versions of the packages that the bits of a run depend on."""
    named = {name: version(name) for name in NAMED_VERSIONS}
    return named | {"python": platform.python_version()}


def compute_cost_uses(finished: FinishedRun) -> dict[str, CostUse]:
    """Return every cost of the model with its limit, if any; latencies as predicted."""
    limits = finished.model.limits
    return {
        name: CostUse(value, limits.get(name))
        for name, value in _costs(
            finished.plan, finished.model.architecture, finished.model.precision
        ).items()
    }


def summarize_target(data: PreparedData, *, classes: bool = True) -> TargetSummary:
    """Return the name and task of the target, and its classes."""
    target = data.target
    labels = tuple(target.classes) if classes and isinstance(target, ClassTarget) else None
    return TargetSummary(target.name, target.task, labels)


def count_rows(data: PreparedData) -> RowCounts:
    """Return the number of rows of each split."""
    return RowCounts(
        training=len(data.train),
        validation=len(data.validation),
        test=0 if data.test is None else len(data.test),
    )


def _summarize_plan(plan: Plan) -> PlanSummary:
    feasible = plan.feasible
    embeddings = feasible.space.numeric_embeddings
    return PlanSummary(
        inputs=feasible.space.inputs,
        outputs=feasible.space.outputs,
        embedding_parameters=feasible.space.embedding_parameters,
        widths=tuple(map(tuple, feasible.space.widths)),
        dimensions=() if embeddings is None else embeddings.dimensions,
        embedded_columns=0 if embeddings is None else embeddings.columns,
        knots=0 if embeddings is None else embeddings.knots,
        architectures=feasible.space.size,
        feasible=feasible.count() if feasible.is_exact else None,
        search_epochs=plan.search.epochs,
        epochs=plan.training.epochs,
        longer_epochs=plan.longer_epochs if plan.trains_longer else None,
        batch_size=plan.training.batch_size,
        learning_rate=plan.training.schedule.learning_rate,
        candidates=plan.candidates,
        folds=plan.folds,
        latency_machine="" if plan.latency is None else plan.latency.machine,
    )


def _costs(plan: Plan, architecture: Architecture, precision: Precision) -> dict[str, float]:
    space = plan.feasible.space
    latencies = plan.latency.costs if plan.latency else {}
    return compute_costs(space, architecture, precision=precision) | {
        name: cost.at_precision(precision)(space, architecture) for name, cost in latencies.items()
    }
