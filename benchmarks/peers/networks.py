"""Searches of tabnas: the default, and the default without one of its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from time import perf_counter
from typing import Any
from unittest.mock import patch

from peers._split import Fitted, Split
from tabnas.data import choose_knots, summarize_values
from tabnas.runs import FinishedRun, PlannedRun, RunCheckpoint, RunSettings, plan_run
from tabnas.runs._execute_run import make_pool, train_and_evaluate
from tabnas.runs._run_teacher import run_teacher
from tabnas.runs.evaluation._scores import References
from tabnas.runs.plan._equal_networks import list_equal_networks
from tabnas.runs.plan._plan import Plan
from tabnas.runs.prepare import _knot_rule
from tabnas.runs.search._find_candidates import find_candidates
from tabnas.space import Architecture, SearchSpace, find_widest_equal

LAYERS, DIMENSION = 2, 2  # of `fit_plain`
MAX_WIDTH = 2_048
MAX_QUANTILES = 32  # that are knots, if the target does not choose them


def fit(
    split: Split,
    limits: Sequence[int | None],
    seed: int,
    *,
    change: Callable[[Plan], Plan] | None = None,
    only_equal: bool = False,
    quantile_knots: bool = False,
    share_teacher: bool = True,
    **options: Any,
) -> Iterator[Fitted]:
    """Search within each limit, with the default settings but for `options`.

    Parameters
    ----------
    change
        Changes the plan of the run.
    only_equal
        Whether to train the candidates with equally wide layers only, which need no search.
    quantile_knots
        Whether the knots of numeric embeddings are quantiles, also those of the teacher.
    share_teacher
        Whether all runs of the split have the same teacher, which the first of them trains.
    """
    for limit in limits:
        if limit is None:
            continue
        began = perf_counter()
        settings = RunSettings(
            limits={"bytes": limit}, seed=seed, reference_models=False, **options
        )
        with _choose_quantile_knots() if quantile_knots else nullcontext():
            run = plan_run(split.labelled, settings)
            if change is not None:
                run = replace(run, plan=change(run.plan))
            kind = "quantile knots" if quantile_knots else ""
            finished = (
                _execute(run, split, only_equal=only_equal, teacher_kind=kind)
                if share_teacher
                else run.execute()
            )
        yield _describe(finished, split, limit, perf_counter() - began)


def fit_plain(
    split: Split, limits: Sequence[int | None], seed: int, *, precision: str = "float32"
) -> Iterator[Fitted]:
    """Train one network of two equal layers, as wide as the limit allows, without a search.

    It has numeric embeddings of two dimensions, and no teacher.
    """
    for limit in limits:
        if limit is None:
            continue
        began = perf_counter()
        settings = RunSettings(
            limits={"bytes": limit}, seed=seed, reference_models=False, precision=precision,
            teacher="none",
        )  # fmt: skip
        widest = _widest(split, settings)
        if widest is None:
            continue
        settings = replace(
            settings, widths=widest.widths[:1], layers=LAYERS,
            numeric_dimensions=(widest.dimension,),
        )  # fmt: skip
        finished = _execute(plan_run(split.labelled, settings), split)
        yield _describe(finished, split, limit, perf_counter() - began)


def without_averaging(plan: Plan) -> Plan:
    """Return a plan that keeps the weights of the best epoch, and not an average."""
    return replace(plan, training=replace(plan.training, averaging=0.0))


def without_longer_training(plan: Plan) -> Plan:
    """Return a plan whose best candidate is not trained once more, for longer."""
    return replace(plan, max_longer_epochs=0)


def without_equal_layers(plan: Plan) -> Plan:
    """Return a plan with the candidates of the search alone, and as many of them."""
    candidates = plan.candidates + len(plan.equal_dimensions)
    return replace(plan, equal_dimensions=(), candidates=candidates)


def without_widening(plan: Plan) -> Plan:
    """Return a plan whose candidates of the search have the widths of the space."""
    return replace(plan, free_widths=False)


def _choose_quantile_knots() -> Any:
    """Return a context in which knots are quantiles."""

    def choose(numeric: Any, target: Any, counts: Sequence[int]) -> dict[int, Any]:
        columns = summarize_values(numeric)
        return {
            count: tuple(choose_knots(column, min(count, MAX_QUANTILES)) for column in columns)
            for count in counts
        }

    return patch.object(_knot_rule, "choose_target_knots", choose)


def _describe(finished: FinishedRun, split: Split, limit: int, seconds: float) -> Fitted:
    model, chosen = finished.model, finished.chosen
    return Fitted(
        limit,
        int(model.costs["bytes"]),
        finished.scores["network"].metrics[split.metric].value,
        seconds,
        f"{model.architecture} {model.precision}",
        chosen.loss - chosen.float32_loss,
    )


def _execute(
    run: PlannedRun, split: Split, *, only_equal: bool = False, teacher_kind: str = ""
) -> FinishedRun:
    """Execute a run with the teacher of the split.

    A teacher knows no limit: that of a default run is trained once for all runs of a split. So
    the model of a default run is that of `run.execute`, bit for bit, and the parts of the default
    are compared with the same teacher.
    """

    def ignore(progress: Any) -> None: ...

    checkpoint = RunCheckpoint()
    with make_pool(run, checkpoint) as pool:
        models = run.plan.teacher.teachers
        key = (*models, teacher_kind)
        if models and key not in split.teachers:
            limits, seed = run.settings.limits, run.settings.seed
            default = RunSettings(limits=limits, seed=seed, reference_models=False)
            teaching = plan_run(split.labelled, default)
            plan = replace(teaching.plan, teacher=run.plan.teacher)
            teaching = replace(teaching, plan=plan)
            split.teachers[key] = run_teacher(teaching, ignore, checkpoint, pool)
        answers, teachers = split.teachers[key] if models else (None, ())
        search = find_candidates(run, ignore, checkpoint)
        if only_equal:
            equal = set(list_equal_networks(run.plan.feasible, run.plan.limit_share))
            search = search.without(set(search.architectures) - equal)
        taught = replace(run, answers=answers, teachers=teachers)
        return train_and_evaluate(taught, search, ignore, checkpoint, pool, References)


def _widest(split: Split, settings: RunSettings) -> Architecture | None:
    """Return the widest network of equal layers within the limit; None if there is none."""
    spec = split.data.limit_embeddings(settings.computed_budget).spec
    embeddings = spec.inputs.numeric_embeddings((DIMENSION,))
    space = SearchSpace(
        [[MAX_WIDTH]] * LAYERS, inputs=spec.inputs.width, outputs=spec.outputs,
        embedding_parameters=spec.inputs.embedding_parameters, numeric_embeddings=embeddings,
    )  # fmt: skip
    dimension = 0 if embeddings is None else DIMENSION
    budget = settings.computed_budget
    return find_widest_equal(space, budget, layers=LAYERS, dimension=dimension)
