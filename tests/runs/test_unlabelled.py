"""Runs whose networks may learn from a teacher's answers to rows without a target."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tabnas.errors import TabNASError
from tabnas.nets import NonFiniteLossError
from tabnas.runs import (
    LabelledTable,
    PlannedRun,
    RunCheckpoint,
    RunSettings,
    RunStopped,
    build_run_result,
    plan_run,
    plan_tradeoff,
)
from tabnas.runs import _run_teacher as step
from tabnas.runs._answers import LABELS_ONLY, Distillation
from tabnas.runs._job_pool import JobPool
from tabnas.runs.candidates._train_candidates import list_distillations
from tests.runs.helpers import LIMITS, SHORT, StopsAt, collect_bits, make_table

N = 90
SETTINGS = RunSettings(
    limits=LIMITS, candidates=2, reference_models=False, refit=True, teacher="network"
)


def make_data(rows: int = 300, seed: int = 1) -> LabelledTable:
    table = make_table(rows).drop(["value"])
    data = LabelledTable.from_table(table, "kind")
    return data.with_unlabelled(make_table(N, seed).drop(["value"]))


class CountingTeacher:
    """Answers a row by a number that differs from fit to fit."""

    name = "counting"

    def __init__(self) -> None:
        self.fits = 0

    def fit_predict(self, rows, train, answered, *, seed, on_step=lambda: None) -> np.ndarray:
        assert train.max() < len(rows.y)
        self.fits += 1
        return np.full((len(answered), 1), self.fits / 32, np.float32)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> None:
    teacher = CountingTeacher()
    monkeypatch.setattr(step, "_make_teacher", lambda name, run: teacher)


class QuickTeacher(CountingTeacher):
    """Answers by a function of the row."""

    def fit_predict(self, rows, train, answered, *, seed, on_step=lambda: None) -> np.ndarray:
        total = rows.encoded.numeric[answered].sum(axis=1, keepdims=True)
        return 1 / (1 + np.exp(-total))


def get_answers(run: PlannedRun):
    checkpoint = RunCheckpoint()
    return step.run_teacher(run, lambda progress: None, checkpoint, JobPool(checkpoint))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step, "_make_teacher", lambda name, run: QuickTeacher())


@pytest.mark.parametrize("rows", [300, 3_900], ids=["folds", "validation"])
def test_the_teacher_answers_by_the_mean_of_its_fits(counting: None, rows: int) -> None:
    run = plan_run(make_data(rows), SETTINGS, saved_plan=SHORT)
    answers, _ = get_answers(run)
    assert answers is not None
    assert answers.unlabelled.shape == (N, 1)
    np.testing.assert_allclose(answers.unlabelled, np.mean([1, 2, 3, 4, 5]) / 32, rtol=1e-6)
    assert len(answers.folds) == run.data.folds
    pairs = [(a, b) for a in range(5) for b in range(a + 1, 5)]  # fits 6 to 15
    for fold, part in enumerate(answers.folds):
        fits = [6 + k for k, pair in enumerate(pairs) if fold in pair]
        unlabelled = part[len(run.data.train_and_validation) :]
        assert unlabelled.shape == (N, 1)
        np.testing.assert_allclose(unlabelled, np.mean(fits) / 32, rtol=1e-6)


def test_networks_learn_from_answers_where_there_is_no_label(counting: None) -> None:
    run = plan_run(make_data(), SETTINGS, saved_plan=SHORT)
    answers, _ = get_answers(run)
    distillation = Distillation(0.7, uses_unlabelled=True)
    data = run.data
    n = len(data.train_and_validation)
    rows = answers.development_rows(data, distillation)
    assert len(rows) == n + N
    assert np.array_equal(rows.numeric[n:], data.unlabelled.numeric)
    assert np.array_equal(rows.categorical[n:], data.unlabelled.categorical)
    with_teacher = answers.development_rows(data, Distillation(0.7))
    assert len(with_teacher) == n
    assert np.array_equal(rows.numeric[:n], with_teacher.numeric)
    train = np.arange(0, n, 2)
    assert len(answers.fold_rows(data, distillation, 0, train)) == len(train) + N
    assert len(answers.all_rows(data, distillation)) == len(data.all_rows) + N


def test_one_candidate_more_learns_from_them(quick: None) -> None:
    run = plan_run(make_data(), SETTINGS, saved_plan=SHORT)
    finished = run.execute()
    distillations = [candidate.distillation for candidate in finished.candidates]
    assert sum(distillation.uses_unlabelled for distillation in distillations) >= 1
    assert LABELS_ONLY in distillations
    result = build_run_result(finished)
    best = min(result.candidates, key=lambda candidate: candidate.score)
    assert result.teacher.uses_unlabelled == best.uses_unlabelled
    assert any(note.startswith(f"{N} rows without a value of 'kind'") for note in result.notes)


def test_without_such_rows_no_distillation_uses_them(counting: None) -> None:
    data = LabelledTable.from_table(make_table(300).drop(["value"]), "kind")
    run = plan_run(data, SETTINGS, saved_plan=SHORT)
    answers, _ = get_answers(run)
    assert not any(
        distillation.uses_unlabelled
        for distillation in list_distillations(replace(run, answers=answers))
    )


def test_a_stopped_run_is_resumed_to_the_same_bits(quick: None, tmp_path: Path) -> None:
    run = plan_run(make_data(), SETTINGS, saved_plan=SHORT)
    uninterrupted = StopsAt(tmp_path / "uninterrupted", run, -1)
    expected = collect_bits(run.execute(checkpoint=uninterrupted))
    for number, at in enumerate([uninterrupted.steps // 2, uninterrupted.steps - 5]):
        folder = tmp_path / str(number)
        with pytest.raises(RunStopped):
            run.execute(checkpoint=StopsAt(folder, run, at))
        again = plan_run(make_data(), SETTINGS, saved_plan=SHORT)
        checkpoint = RunCheckpoint(folder, identity=again.identity())
        assert collect_bits(again.execute(checkpoint=checkpoint)) == expected


def test_a_run_is_not_resumed_with_other_rows(quick: None, tmp_path: Path) -> None:
    run = plan_run(make_data(), SETTINGS, saved_plan=SHORT)
    with pytest.raises(RunStopped):
        run.execute(checkpoint=StopsAt(tmp_path, run, 30))
    other = plan_run(make_data(seed=2), SETTINGS, saved_plan=SHORT)
    with pytest.raises(TabNASError, match="the table"):
        RunCheckpoint(tmp_path, identity=other.identity())


def test_a_tradeoff_uses_them(quick: None) -> None:
    tradeoff = plan_tradeoff(make_data(), SETTINGS, [100, 800], saved_plan=SHORT)
    finished = tradeoff.execute()
    for run in finished:
        assert any(candidate.distillation.uses_unlabelled for candidate in run.candidates)


def test_a_teacher_that_diverges_leaves_them_out(monkeypatch: pytest.MonkeyPatch) -> None:
    class Diverging(CountingTeacher):
        def fit_predict(self, *arguments, **options) -> np.ndarray:
            raise NonFiniteLossError(1, float("inf"), 0.1)

    monkeypatch.setattr(step, "_make_teacher", lambda name, run: Diverging())
    finished = plan_run(make_data(), SETTINGS, saved_plan=SHORT).execute()
    assert {candidate.distillation for candidate in finished.candidates} == {LABELS_ONLY}
