"""Train the teacher of a run, and collect its answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial

import numpy as np

from tabnas.data import ClassTarget, EncodedTable
from tabnas.decoding import decode
from tabnas.nets import NonFiniteLossError
from tabnas.results import TeacherModel
from tabnas.runs._answers import Answers
from tabnas.runs._context import RunContext
from tabnas.runs._job_pool import JobPool
from tabnas.runs._progress import PhaseProgress, Progress, ProgressCallback
from tabnas.runs.checkpoints._step_checkpoint import StepCheckpoint, reject_malformed
from tabnas.runs.plan._teacher_plan import TeacherPlan, make_teacher_spec
from tabnas.runs.prepare._folds import assign_development_folds, assign_training_folds
from tabnas.runs.prepare._prepared_data import PreparedData
from tabnas.states import read_floats
from tabnas.teachers import (
    NO_FOLD,
    TABLE,
    UNLABELLED_TABLE,
    VALIDATION_TABLE,
    BoostedTreesTeacher,
    Fit,
    NetworkTeacher,
    Teacher,
    TeacherRows,
    blend,
    choose_shares,
    do_nothing,
    join_out_of_fold,
    join_without_fold,
    make_fits,
    mean_loss,
)
from tabnas.types import Float32Array, FloatArray, IntArray

STEP = "teacher"
"""The step of the checkpoint that holds the answers."""
MAX_NAME = 80  # letters that result.json keeps of a teacher's name


def run_teacher(
    run: RunContext, on_progress: ProgressCallback, checkpoint: StepCheckpoint, pool: JobPool
) -> tuple[Answers | None, tuple[TeacherModel, ...]]:
    """Train the teachers of the plan, out of fold, and return their answers and shares.

    Fits work side by side. A resumed run repeats those that were not finished.
    """
    plan = run.plan.teacher
    if not plan.teachers:
        return None, ()
    if STEP not in checkpoint:
        rows = make_teacher_rows(run.data)
        if plan.needs_fitting:
            _fit_and_record(run, rows, on_progress, checkpoint, pool)
        else:
            _record_ready_answers(run, rows, on_progress, checkpoint)
        checkpoint.save()
    return _load(run, plan, checkpoint)


def _fit_and_record(
    run: RunContext,
    rows: TeacherRows,
    on_progress: ProgressCallback,
    checkpoint: StepCheckpoint,
    pool: JobPool,
) -> None:
    """Record the blended answers of teachers that are fitted out of fold."""
    folds = _assign_folds(run, run.plan.teacher)
    fits = make_fits(folds, nested=run.plan.teacher.nested)
    models = _fit_all(run, rows, fits, on_progress, checkpoint, pool)
    arrays, teachers = _combine(rows, fits, folds, models)
    checkpoint.record(STEP, teachers, arrays)
    for name in models:
        for fit in fits:
            checkpoint.forget_arrays(_step_name(name, fit))


def _record_ready_answers(
    run: RunContext, rows: TeacherRows, on_progress: ProgressCallback, checkpoint: StepCheckpoint
) -> None:
    """Record the answers of the user's own teacher, which learns nothing in this run."""
    data, (name,) = run.data, run.plan.teacher.teachers
    on_progress(Progress("teacher", 0.0, note=name))
    if run.own_teacher is None:
        assert data.given_answers is not None
        given = data.given_answers
        answers = np.concatenate([given.development, given.test, given.unlabelled])
    else:
        everything = np.arange(len(rows))
        with checkpoint.interruptible():
            answers = run.own_teacher.fit_predict(
                rows, everything[:0], everything, seed=run.settings.seed
            )
    n = len(rows.y) if run.plan.folds else data.train_rows
    loss = mean_loss(
        rows.spec.loss,
        answers[:n],
        rows.target.scale_values(rows.y[:n]),
        None if rows.weight is None else rows.weight[:n],
    )
    model = TeacherModel(name=name[:MAX_NAME], share=1.0, out_of_fold_loss=loss)
    checkpoint.record(STEP, [model], {"answers": answers})
    on_progress(Progress("teacher", 1.0))


def make_teacher_rows(data: PreparedData) -> TeacherRows:
    """Return training and validation rows, then test rows, then those without a label."""
    unlimited = data.unlimited
    assert unlimited is not None
    development = unlimited.train_and_validation
    parts = [development.encoded]
    parts += [] if unlimited.test is None else [unlimited.test.encoded]
    parts += [] if unlimited.unlabelled is None else [unlimited.unlabelled]
    row_numbers, tables = _locate_rows(data)
    return TeacherRows(
        encoder=unlimited.encoder,
        target=unlimited.target,
        spec=make_teacher_spec(data),
        encoded=EncodedTable.concatenate(parts),
        y=development.y,
        weight=development.training_weight,
        groups=unlimited.groups,
        row_numbers=row_numbers,
        tables=tables,
    )


def _locate_rows(data: PreparedData) -> tuple[IntArray | None, IntArray | None]:
    """Return the number of each row of a teacher in a table of the user, and which table it is."""
    if data.row_numbers is None or data.unlabelled_numbers is None:
        return None, None
    own, other = data.unlabelled_numbers
    tables = np.full(len(data.row_numbers), TABLE)
    if data.has_own_validation:
        tables[data.train_rows : len(data.train_and_validation)] = VALIDATION_TABLE
    return (
        np.concatenate([data.row_numbers, own, other]),
        np.concatenate([tables, np.full(len(own), TABLE), np.full(len(other), UNLABELLED_TABLE)]),
    )


def _assign_folds(run: RunContext, plan: TeacherPlan) -> IntArray:
    """Return the fold of each row of the teacher; those it only answers have none."""
    data, seed = run.data, run.settings.seed
    assign = assign_development_folds if plan.nested else assign_training_folds
    others = sum(len(part) for part in (data.test, data.unlabelled) if part is not None)
    return np.concatenate([assign(data, plan.folds, seed), np.full(others, NO_FOLD)])


def _fit_all(
    run: RunContext,
    rows: TeacherRows,
    fits: Sequence[Fit],
    on_progress: ProgressCallback,
    checkpoint: StepCheckpoint,
    pool: JobPool,
) -> dict[str, list[Float32Array]]:
    """Return the answers of all fits of each teacher; one that diverges is left out."""
    plan = run.plan.teacher
    teachers = {name: _make_teacher(name, run) for name in plan.teachers}
    seconds = {name: plan.fit_seconds.get(name) or 1.0 for name in teachers}
    phase = PhaseProgress("teacher", on_progress, total=len(fits) * sum(seconds.values()))
    started: dict[str, list[Callable[[], None]]] = {name: [] for name in teachers}
    # different teachers side by side: trees need Python's global lock more than networks do
    for number, fit in enumerate(fits, start=1):
        for name, teacher in teachers.items():
            step = _step_name(name, fit)
            note = f"{teacher.name} {number} of {len(fits)}"
            on_fraction = phase.add_job(note, seconds[name])
            if step in checkpoint:
                on_fraction(1.0)
                continue
            call = partial(_run_fit, teacher, step, rows, fit, run, on_fraction, checkpoint)
            if run.own_teacher is None:
                started[name].append(pool.start("teacher", call).result)
            else:  # the user's estimator may use all cores, and has to be in the first thread
                with pool.measure("teacher"):
                    call()
    for name in teachers:
        for wait in started[name]:
            wait()
    phase.finish()
    answers: dict[str, list[Float32Array]] = {}
    for name in teachers:
        steps = [_step_name(name, fit) for fit in fits]
        with reject_malformed():
            if all(checkpoint.result(step)["finished"] for step in steps):
                answers[name] = [
                    _read_answers(checkpoint, step, "answers", rows, fit)
                    for step, fit in zip(steps, fits, strict=True)
                ]
    return answers


def _run_fit(
    teacher: Teacher,
    step: str,
    rows: TeacherRows,
    fit: Fit,
    run: RunContext,
    on_fraction: Callable[[float], None],
    checkpoint: StepCheckpoint,
) -> None:
    """Run one fit and record its answers; it has no state, so it can be stopped at once."""
    on_fraction(0.0)
    is_single = run.process_group.size == 1
    on_step = checkpoint.save_if_due if is_single else do_nothing
    finished: dict[str, Float32Array] = {}
    try:
        with checkpoint.interruptible() if is_single else nullcontext():
            finished["answers"] = teacher.fit_predict(
                rows, fit.train, fit.answered, seed=run.settings.seed, on_step=on_step
            )
    except NonFiniteLossError:
        pass
    # those of the first process, so that all have equal bits on whatever machine they are
    result, arrays = run.process_group.broadcast({"finished": bool(finished)}, finished)
    checkpoint.record(step, result, arrays)
    on_fraction(1.0)
    if not is_single:
        checkpoint.save_if_due()


def _make_teacher(name: str, run: RunContext) -> Teacher:
    if run.own_teacher is not None:
        return run.own_teacher
    # by the compiled engine, so that one process and several have the same teacher
    return BoostedTreesTeacher() if name == "trees" else NetworkTeacher()


def _step_name(teacher: str, fit: Fit) -> str:
    return f"teacher {teacher} {fit.name}"


def _read_answers(
    checkpoint: StepCheckpoint, step: str, name: str, rows: TeacherRows, fit: Fit
) -> Float32Array:
    shape = (len(fit.answered), rows.spec.outputs)
    return read_floats(checkpoint.arrays(step), name, shape, dtype=np.float32)


def _combine(
    rows: TeacherRows,
    fits: Sequence[Fit],
    folds: IntArray,
    models: dict[str, list[Float32Array]],
) -> tuple[dict[str, Float32Array], list[TeacherModel]]:
    """Return the blended answers as arrays of a checkpoint, and the share of each teacher."""
    if not models:
        return {}, []
    loss, n = rows.spec.loss, len(rows.y)
    y = rows.target.scale_values(rows.y)
    weight: FloatArray | None = rows.weight

    def blend_fits(fold: int | None) -> tuple[Float32Array, dict[str, float], dict[str, float]]:
        joined = {
            name: join_out_of_fold(fits, parts, folds)
            if fold is None
            else join_without_fold(fits, parts, folds, fold)
            for name, parts in models.items()
        }
        seen = np.nonzero((folds[:n] != NO_FOLD) & (folds[:n] != fold))[0]
        known = {name: answers[seen] for name, answers in joined.items()}
        seen_weight = None if weight is None else weight[seen]
        shares = choose_shares(loss, known, y[seen], seen_weight)
        losses = {
            name: mean_loss(loss, answers, y[seen], seen_weight) for name, answers in known.items()
        }
        return blend(joined, shares), shares, losses

    answers, shares, losses = blend_fits(None)
    arrays = {"answers": answers}
    if any(len(fit.left_out) > 1 for fit in fits):
        for fold in np.unique(folds[folds != NO_FOLD]).tolist():
            arrays[f"fold {fold + 1}"] = blend_fits(fold)[0]
    teachers = [
        TeacherModel(name=name[:MAX_NAME], share=shares[name], out_of_fold_loss=losses[name])
        for name in models
    ]
    return arrays, teachers


def _load(
    run: RunContext, plan: TeacherPlan, checkpoint: StepCheckpoint
) -> tuple[Answers | None, tuple[TeacherModel, ...]]:
    """Return the answers that a finished step has recorded."""
    data = run.data
    n = len(data.train_and_validation)
    test = n + (0 if data.test is None else len(data.test))
    end = test + (0 if data.unlabelled is None else len(data.unlabelled))
    given = data.given_answers
    low, high = (0.0, 1.0) if isinstance(data.target, ClassTarget) else (-np.inf, np.inf)
    with reject_malformed():
        teachers = decode(tuple[TeacherModel, ...], checkpoint.result(STEP), source="the teacher")
        if not teachers:
            return None, ()

        def read(name: str) -> Float32Array:
            shape = (end, data.spec.outputs)
            array = read_floats(checkpoint.arrays(STEP), name, shape, dtype=np.float32)
            clipped: Float32Array = np.clip(array, low, high)
            return clipped

        answers = read("answers")
        folds = tuple(
            np.concatenate([fold[:n], fold[test:]])
            for fold in (
                read(f"fold {k + 1}") if plan.needs_fitting else answers
                for k in range(plan.folds * plan.nested)
            )
        )
    return (
        Answers(
            development=answers[:n],
            test=answers[n:test],
            answers_test=given is None or given.answers_test,
            unlabelled=answers[test:],
            folds=folds,
        ),
        teachers,
    )
