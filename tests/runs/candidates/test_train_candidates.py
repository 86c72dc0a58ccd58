"""Candidates are trained and ranked, and the best keeps its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

import numpy as np
import pytest

from tabnas.errors import TabNASError
from tabnas.runs import LabelledTable, PlannedRun, RunCheckpoint, RunSettings, plan_run
from tabnas.runs._answers import LABELS_ONLY, Answers, Distillation
from tabnas.runs._job_pool import JobPool
from tabnas.runs.candidates._candidate import Candidate, Trial
from tabnas.runs.candidates._train_candidates import (
    find_worse,
    next_trials,
    rank_candidates,
    train_candidates,
)
from tabnas.space import Architecture, Precision
from tests.runs.helpers import make_table


@pytest.fixture(scope="module")
def run() -> PlannedRun:
    data = LabelledTable.from_table(make_table(60).drop(["value"]), "kind")
    return plan_run(data, RunSettings(limits={"parameters": 500}))


def make_candidate(
    number: int, loss: float, distillation: Distillation = LABELS_ONLY, *, is_longer: bool = False
) -> Candidate:
    return Candidate(
        architecture=Architecture((number + 1,)),
        distillation=distillation,
        is_longer=is_longer,
        precision=Precision.FLOAT32,
        loss=loss,
        float32_loss=loss,
        stop_after=1,
        temperature=1.0,
        weights={"bias": np.array([number], np.float32)},
    )


class FakeTraining:
    """A training with a known outcome."""

    def __init__(self, outcome: Candidate) -> None:
        self.outcome = outcome
        self.trainings = (self,)

    def run(self, on_progress: object, on_step: object) -> Candidate:
        return self.outcome

    def state_dict(self) -> dict[str, np.ndarray]:
        return {}

    def load_state_dict(self, state: object) -> None:
        pass


@pytest.mark.parametrize(
    ("losses", "order"),
    [
        ([2.0, 3.0, 2.5], [0, 2, 1]),  # the last is better than the one before, not than the best
        ([3.0, 2.0, 1.0], [2, 1, 0]),
        ([1.0, 1.0, 2.0], [0, 1, 2]),  # the first of equals
        ([inf, 2.0, inf], [1]),
    ],
)
def test_the_best_keeps_its_weights(
    run: PlannedRun, monkeypatch: pytest.MonkeyPatch, losses: list[float], order: list[int]
) -> None:
    outcomes = [make_candidate(k, loss) for k, loss in enumerate(losses)]
    trainings = iter(map(FakeTraining, outcomes))
    monkeypatch.setattr(
        "tabnas.runs.candidates._train_candidates.make_candidate_training",
        lambda *args: next(trainings),
    )
    checkpoint = RunCheckpoint()
    architectures = [one.architecture for one in outcomes]
    candidates = train_candidates(
        run, architectures, lambda progress: None, checkpoint, JobPool(checkpoint)
    )
    assert [one.loss for one in candidates] == losses
    ranking, notes = rank_candidates(run, candidates)
    assert ranking == order
    assert len(notes) == losses.count(inf)
    best = order[0]
    assert [k for k, one in enumerate(candidates) if one.weights is not None] == [best]
    assert candidates[best].weights == outcomes[best].weights
    has_weights = [bool(checkpoint.arrays(f"candidate {k + 1}")) for k in range(3)]
    assert [k for k, has in enumerate(has_weights) if has] == [best]
    # a resumed run gives the same
    again = train_candidates(
        run, architectures, lambda progress: None, checkpoint, JobPool(checkpoint)
    )
    assert [one.loss for one in again] == losses
    assert [k for k, one in enumerate(again) if one.weights is not None] == [best]


@pytest.mark.parametrize(
    ("losses", "trained", "weights"),
    [
        # the second architecture is better, and best with fewer answers
        (
            {"1 0.7": 5.0, "2 0.7": 4.0, "2 0.4": 3.0, "2 0.0": 7.0, "1 0.4": 3.5},
            ["1 0.7", "2 0.7", "2 0.4", "2 0.0", "1 0.4"],
            ["2 0.4", "2 0.0"],
        ),
        # with fewer answers, the first is better after all
        (
            {"1 0.7": 5.0, "2 0.7": 4.0, "2 0.4": 3.0, "2 0.0": 7.0, "1 0.4": 2.0, "1 0.0": 6.0},
            ["1 0.7", "2 0.7", "2 0.4", "2 0.0", "1 0.4", "1 0.0"],
            ["1 0.4", "1 0.0"],
        ),
        # labels alone are better, and then the second architecture
        (
            {"1 0.7": 5.0, "2 0.7": 6.0, "1 0.4": 4.0, "1 0.0": 2.0, "2 0.0": 1.5},
            ["1 0.7", "2 0.7", "1 0.4", "1 0.0", "2 0.0"],
            ["2 0.0"],
        ),
        # the first share of answers stays the best
        (
            {"1 0.7": 1.0, "2 0.7": 3.0, "1 0.4": 4.0, "1 0.0": 6.0},
            ["1 0.7", "2 0.7", "1 0.4", "1 0.0"],
            ["1 0.7", "1 0.0"],
        ),
    ],
)
def test_with_a_teacher_the_best_architecture_has_every_distillation(
    run: PlannedRun,
    monkeypatch: pytest.MonkeyPatch,
    losses: dict[str, float],
    trained: list[str],
    weights: list[str],
) -> None:
    nothing = np.zeros((0, 1), np.float32)
    with_teacher = replace(
        run, answers=Answers(development=nothing, test=nothing, unlabelled=nothing)
    )
    order: list[str] = []

    def train(trial: Trial, *arguments: object) -> FakeTraining:
        order.append(f"{trial.architecture} {trial.distillation.teacher_share}")
        number = trial.architecture.widths[0] - 1
        return FakeTraining(make_candidate(number, losses[order[-1]], trial.distillation))

    monkeypatch.setattr("tabnas.runs.candidates._train_candidates.make_candidate_training", train)
    checkpoint = RunCheckpoint()
    architectures = [Architecture((1,)), Architecture((2,))]

    def run_step() -> list[Candidate]:
        return train_candidates(
            with_teacher, architectures, lambda progress: None, checkpoint, JobPool(checkpoint)
        )

    candidates = run_step()
    assert order == trained
    assert [candidate.loss for candidate in candidates] == list(losses.values())
    kept = [name for name, one in zip(trained, candidates, strict=True) if one.weights]
    assert kept == weights
    again = run_step()
    assert order == trained  # a resumed run trains nothing again
    assert [name for name, one in zip(trained, again, strict=True) if one.weights] == weights


def test_the_next_best_architectures_have_a_better_distillation(run: PlannedRun) -> None:
    nothing = np.zeros((0, 1), np.float32)
    with_teacher = replace(
        run, answers=Answers(development=nothing, test=nothing, unlabelled=nothing)
    )
    architectures = [Architecture((width,)) for width in (1, 2, 3, 4)]
    candidates = [make_candidate(k, loss, Distillation(0.7)) for k, loss in enumerate([4, 2, 5, 3])]
    candidates += [make_candidate(1, 2.5, Distillation(0.4)), make_candidate(1, 1.0)]
    trials = next_trials(with_teacher, architectures, candidates)
    assert [str(trial.architecture) for trial in trials] == ["4", "1"]  # of three others
    assert {trial.distillation for trial in trials} == {LABELS_ONLY}
    candidates += [make_candidate(3, 1.5), make_candidate(0, 0.5)]
    assert next_trials(with_teacher, architectures, candidates) == []


def without_folds(run: PlannedRun) -> PlannedRun:
    """Return the run as if its table were large."""
    return replace(run, plan=replace(run.plan, folds=0))


def describe_trials(trials: Sequence[Trial]) -> list[str]:
    return [
        f"{trial.architecture} {trial.distillation.teacher_share}{' longer' * trial.is_longer}"
        for trial in trials
    ]


def test_the_best_is_trained_longer_with_its_distillation_and_by_labels(run: PlannedRun) -> None:
    nothing = np.zeros((0, 1), np.float32)
    answers = Answers(development=nothing, test=nothing, unlabelled=nothing)
    with_teacher = replace(without_folds(run), answers=answers)
    architectures = [Architecture((width,)) for width in (1, 2)]
    candidates = [
        make_candidate(0, 3.0, Distillation(0.7)),
        make_candidate(1, 2.0, Distillation(0.7)),
    ]
    candidates += [make_candidate(1, 1.0, Distillation(0.4)), make_candidate(1, 4.0)]
    candidates += [make_candidate(0, 3.0, Distillation(0.4))]
    trials = next_trials(with_teacher, architectures, candidates)
    assert describe_trials(trials) == ["2 0.4 longer", "2 0.0 longer"]
    # labels alone are better now; the other architecture does not begin from the start
    candidates += [
        make_candidate(1, 0.9, Distillation(0.4), is_longer=True),
        make_candidate(1, 0.5, is_longer=True),
    ]
    assert next_trials(with_teacher, architectures, candidates) == []
    worse = find_worse(dict(enumerate(candidates)))
    assert worse == [0, 1, 2, 4, 5]  # the best and the same architecture by labels are left
    assert next_trials(replace(run, answers=answers), architectures, candidates[:5]) == []


def test_without_a_teacher_the_best_is_trained_longer_once(run: PlannedRun) -> None:
    candidates = [make_candidate(0, 1.0), make_candidate(1, 2.0)]
    architectures = [candidate.architecture for candidate in candidates]
    trials = next_trials(without_folds(run), architectures, candidates)
    assert describe_trials(trials) == ["1 0.0 longer"]
    candidates.append(make_candidate(0, 3.0, is_longer=True))
    assert next_trials(without_folds(run), architectures, candidates) == []


def test_a_note_names_the_training_that_diverged(run: PlannedRun) -> None:
    candidates = [make_candidate(0, 1.0), make_candidate(0, inf, is_longer=True)]
    order, notes = rank_candidates(run, candidates)
    assert order == [0]
    assert notes == ["the candidate 1, longer was left out: its training diverged"]


def test_if_all_diverge_there_is_nothing_to_rank(run: PlannedRun) -> None:
    with pytest.raises(TabNASError, match="training of all 2 candidates diverged"):
        rank_candidates(run, [make_candidate(0, inf), make_candidate(1, inf)])
