"""The teacher of a run: nothing that candidates are chosen by influences its answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tabnas.errors import TabNASError
from tabnas.jobs import JobConfig
from tabnas.nets import NonFiniteLossError
from tabnas.runs import (
    LabelledTable,
    PlannedRun,
    ProcessGroup,
    RunCheckpoint,
    RunSettings,
    plan_run,
    plan_tradeoff,
)
from tabnas.runs._job_pool import JobPool
from tabnas.runs._run_teacher import run_teacher
from tabnas.runs.prepare._folds import assign_development_folds
from tabnas.teachers import BoostedTreesTeacher, NetworkTeacher
from tests.runs.helpers import collect_bits, make_table

ROWS = 150


def plan(*, validation: bool = False, **options: object) -> PlannedRun:
    """Plan a run; few rows are cross-validated unless there are others for validation."""
    settings = {"limits": {"parameters": 800}, "teacher": "trees", "reference_models": False}
    data, more = (
        LabelledTable.from_table(make_table(ROWS, seed).drop(["value"]), "kind") for seed in (0, 1)
    )
    return plan_run(
        data, RunSettings(**(settings | options)), validation=more if validation else None
    )


def change_labels(run: PlannedRun, rows: np.ndarray) -> PlannedRun:
    """Return the run with the other class for these development rows."""
    before = run.data.unlimited
    assert before is not None
    y = before.train_and_validation.y.copy()
    y[rows] = 1 - y[rows]
    changed = replace(before, train_and_validation=replace(before.train_and_validation, y=y))
    return replace(run, data=replace(run.data, unlimited=changed))


def get_answers(run: PlannedRun, checkpoint: RunCheckpoint | None = None):
    checkpoint = checkpoint or RunCheckpoint()
    answers, teachers = run_teacher(run, lambda progress: None, checkpoint, JobPool(checkpoint))
    assert answers is not None
    return answers, teachers


def test_validation_labels_change_no_answer() -> None:
    run = plan(validation=True)
    n = run.data.train_rows
    answers, teachers = get_answers(run)
    others = change_labels(run, np.arange(n, len(run.data.train_and_validation)))
    again, same_teachers = get_answers(others)
    assert np.array_equal(answers.development, again.development)
    assert np.array_equal(answers.test, again.test)
    assert teachers == same_teachers
    assert answers.folds == ()


def test_training_labels_change_answers_to_other_folds_only() -> None:
    run = plan(validation=True)
    row = np.array([5])
    before, _ = get_answers(run)
    after, _ = get_answers(change_labels(run, row))
    assert np.array_equal(before.development[row], after.development[row])
    assert not np.array_equal(before.development, after.development)


@pytest.mark.parametrize("fold", [0, 3])
def test_labels_of_a_fold_change_nothing_that_its_candidates_learn_from(fold: int) -> None:
    run = plan(teacher="network")
    assert run.plan.folds == 5
    folds = assign_development_folds(run.data, 5, run.settings.seed)
    before, _ = get_answers(run)
    after, _ = get_answers(change_labels(run, np.nonzero(folds == fold)[0]))
    others = np.nonzero(folds != fold)[0]
    assert np.array_equal(before.folds[fold][others], after.folds[fold][others])
    # those of another fold have learned from the changed labels
    assert not np.array_equal(before.folds[(fold + 1) % 5], after.folds[(fold + 1) % 5])


def test_two_teachers_are_blended() -> None:
    run = plan(teacher="network")
    both = replace(run.plan.teacher, teachers=("trees", "network"))
    answers, teachers = get_answers(replace(run, plan=replace(run.plan, teacher=both)))
    assert [model.name for model in teachers] == ["trees", "network"]
    assert sum(model.share for model in teachers) == pytest.approx(1.0)
    alone = {}
    for name in ("trees", "network"):
        one = replace(run.plan.teacher, teachers=(name,))
        alone[name], (model,) = get_answers(replace(run, plan=replace(run.plan, teacher=one)))
        assert model.share == 1.0
    expected = sum(model.share * alone[model.name].development for model in teachers)
    assert answers.development == pytest.approx(expected, abs=1e-6)


def test_a_resumed_step_does_not_repeat_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = plan(validation=True)
    expected, _ = get_answers(run)
    fit_predict, fits = BoostedTreesTeacher.fit_predict, []

    def stop_at_the_third(self, *arguments, **options):
        fits.append(1)
        if len(fits) == 3:
            raise KeyboardInterrupt
        return fit_predict(self, *arguments, **options)

    monkeypatch.setattr(BoostedTreesTeacher, "fit_predict", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        get_answers(run, RunCheckpoint(tmp_path, identity=run.identity()))
    resumed, _ = get_answers(run, RunCheckpoint(tmp_path, identity=run.identity()))
    assert len(fits) == 2 + 1 + 3  # five folds, the third twice
    assert np.array_equal(resumed.development, expected.development)
    finished, _ = get_answers(run, RunCheckpoint(tmp_path, identity=run.identity()))
    assert len(fits) == 6
    assert np.array_equal(finished.test, expected.test)


def test_a_teacher_that_diverges_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def diverge(*arguments: object, **options: object) -> None:
        raise NonFiniteLossError(1, float("inf"), 0.1)

    monkeypatch.setattr(NetworkTeacher, "fit_predict", diverge)
    run = plan(teacher="network")
    checkpoint = RunCheckpoint()
    pool = JobPool(checkpoint)
    assert run_teacher(run, lambda progress: None, checkpoint, pool) == (None, ())
    both = replace(run.plan.teacher, teachers=("trees", "network"))
    _, teachers = get_answers(replace(run, plan=replace(run.plan, teacher=both)))
    assert [model.name for model in teachers] == ["trees"]


class SecondRank(ProcessGroup):
    """The second of two processes, with what the first has sent it."""

    rank, size = 1, 2

    def __init__(self, *, first_diverges: bool) -> None:
        self.first_diverges = first_diverges

    def broadcast(self, value, arrays=None):
        if self.first_diverges:
            return {"finished": False}, {}
        return {"finished": True}, {"answers": np.full((self.answered, 1), 0.25, np.float32)}


@pytest.mark.parametrize("first_diverges", [False, True])
def test_all_processes_have_the_answers_of_the_first(
    first_diverges: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if a training diverges in one of them only, as it may on another machine."""
    process_group = SecondRank(first_diverges=first_diverges)

    def fit_predict(self, rows, train, answered, **options: object) -> np.ndarray:
        process_group.answered = len(answered)
        if not first_diverges:
            raise NonFiniteLossError(1, float("inf"), 0.1)
        return np.full((len(answered), 1), 0.75, np.float32)

    monkeypatch.setattr(NetworkTeacher, "fit_predict", fit_predict)
    run = replace(plan(teacher="network"), process_group=process_group)
    checkpoint = RunCheckpoint()
    pool = JobPool(checkpoint, threads=1)
    answers, teachers = run_teacher(run, lambda progress: None, checkpoint, pool)
    assert (answers is None) == first_diverges
    if answers is not None:
        assert (answers.development == 0.25).all()
        assert len(teachers) == 1


def test_folds_follow_groups_and_time() -> None:
    by_group = plan(split="group", split_column="house")
    assert by_group.data.groups is not None
    get_answers(by_group)
    by_time = plan(split="time", split_column="day")
    assert by_time.data.times is not None
    assert len(by_time.data.times) == by_time.data.train_rows
    get_answers(by_time)


def test_the_same_seed_gives_the_same_run_with_a_teacher() -> None:
    first, second = (plan(teacher="network", candidates=1).execute() for _ in range(2))
    assert collect_bits(first) == collect_bits(second)
    assert first.teacher is not None
    assert {"teacher"} <= set(first.scores)


def test_answers_that_take_too_much_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from tabnas.runs.plan import _teacher_plan

    monkeypatch.setattr(_teacher_plan, "MAX_ANSWER_BYTES", 100)
    with pytest.raises(TabNASError, match=r"no teacher: its answers to .* GB; use"):
        plan()
    run = plan(teacher="auto")
    assert run.plan.teacher.teachers == ()
    assert any("there was no teacher" in note for note in run.plan.notes)


def test_a_table_of_rows_without_labels_can_be_answered() -> None:
    run = plan(teacher="network")
    unlimited = run.data.unlimited
    assert unlimited is not None
    assert unlimited.test is not None
    more = unlimited.test.encoded
    data = replace(run.data, unlimited=replace(unlimited, unlabelled=more), unlabelled=more)
    answers, _ = get_answers(replace(run, data=data))
    # the same rows have the same answers: the mean of all folds
    assert np.array_equal(answers.unlabelled, answers.test)


# -- whole runs ------------------------------------------------------------------------------------


def test_a_run_that_is_stopped_during_the_teacher_resumes_with_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = plan(teacher="network", candidates=2, refit=True)
    expected = collect_bits(run.execute())
    fit_predict, fits = NetworkTeacher.fit_predict, []

    def stop_at_the_seventh(self, *arguments, **options):
        fits.append(1)
        if len(fits) == 7:
            raise KeyboardInterrupt
        return fit_predict(self, *arguments, **options)

    monkeypatch.setattr(NetworkTeacher, "fit_predict", stop_at_the_seventh)
    with pytest.raises(KeyboardInterrupt):
        run.execute(checkpoint=RunCheckpoint(tmp_path, identity=run.identity()))
    resumed = run.execute(checkpoint=RunCheckpoint(tmp_path, identity=run.identity()))
    assert len(fits) == 15 + 1
    assert collect_bits(resumed) == expected


@pytest.mark.slow
def test_a_tradeoff_has_one_teacher(monkeypatch: pytest.MonkeyPatch) -> None:
    data = LabelledTable.from_table(make_table(ROWS).drop(["value"]), "kind")
    settings = RunSettings(
        limits={"parameters": 800}, teacher="network", reference_models=False, candidates=1
    )
    tradeoff = plan_tradeoff(data, settings, [200, 800])
    fit_predict, fits = NetworkTeacher.fit_predict, []

    def count(self, *arguments, **options):
        fits.append(1)
        return fit_predict(self, *arguments, **options)

    monkeypatch.setattr(NetworkTeacher, "fit_predict", count)
    one_by_one = tradeoff.execute()
    assert len(fits) == 15
    assert [finished.teacher is not None for finished in one_by_one] == [True, True]
    in_parallel = tradeoff.execute(job_config=JobConfig(processes=2))
    assert [collect_bits(run) for run in in_parallel] == [collect_bits(run) for run in one_by_one]
