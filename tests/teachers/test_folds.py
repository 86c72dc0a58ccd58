"""Folds of teachers: nobody answers a row that they learned from."""

from __future__ import annotations

import numpy as np
import pytest

from tabnas.data import ClassTarget, NumberTarget
from tabnas.teachers import NO_FOLD, assign_folds, make_fits

CLASSES = ClassTarget(name="kind", classes=("a", "b", "c"))


def random_folds(seed: int) -> np.ndarray:
    """Return folds of some rows, of which some have none."""
    rng = np.random.default_rng(seed)
    folds = rng.integers(0, 4, size=40)
    folds[:4] = range(4)
    return np.where(rng.random(40) < 0.3, NO_FOLD, folds)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("nested", [False, True])
def test_no_fit_answers_a_row_that_it_learned_from(seed: int, nested: bool) -> None:
    folds = random_folds(seed)
    for fit in make_fits(folds, nested=nested):
        assert not set(fit.train) & set(fit.answered)
        assert (folds[fit.train] != NO_FOLD).all()
        # every row is used: to learn from, or to be answered
        assert sorted([*fit.train, *fit.answered]) == list(range(len(folds)))


@pytest.mark.parametrize("seed", range(5))
def test_every_row_is_answered_out_of_fold(seed: int) -> None:
    folds = random_folds(seed)
    fits = make_fits(folds, nested=False)
    answered = np.concatenate([fit.answered for fit in fits])
    counts = np.bincount(answered, minlength=len(folds))
    assert (counts[folds != NO_FOLD] == 1).all()
    assert (counts[folds == NO_FOLD] == len(fits)).all()


@pytest.mark.parametrize("fold", range(4))
def test_pairs_answer_all_other_folds_without_the_rows_of_a_fold(fold: int) -> None:
    folds = random_folds(0)
    pairs = [fit for fit in make_fits(folds, nested=True) if len(fit.left_out) == 2]
    without = [fit for fit in pairs if fold in fit.left_out]
    assert all(fold not in folds[fit.train] for fit in without)
    answered = set(np.concatenate([fit.answered for fit in without]))
    assert answered >= set(np.nonzero(folds != fold)[0])


def test_classes_are_spread_evenly() -> None:
    y = np.array([0] * 50 + [1] * 20 + [2] * 7)
    folds = assign_folds(5, CLASSES, y, np.random.default_rng(0))
    for label in range(3):
        counts = np.bincount(folds[y == label], minlength=5)
        assert counts.max() - counts.min() <= 1


def test_groups_stay_together() -> None:
    groups = np.random.default_rng(1).integers(0, 12, size=90)
    folds = assign_folds(
        4, CLASSES, np.zeros(90, np.int64), np.random.default_rng(0), groups=groups
    )
    assert all(len(set(folds[groups == group])) == 1 for group in range(12))
    assert set(folds) == set(range(4))


def test_folds_of_time_are_intervals() -> None:
    times = np.random.default_rng(2).permutation(60).astype(float)
    target = NumberTarget(name="value", center=0.0, scale=1.0)
    folds = assign_folds(5, target, times, np.random.default_rng(0), times=times)
    ordered = folds[np.argsort(times)]
    assert (np.diff(ordered) >= 0).all()
    assert np.bincount(ordered).tolist() == [12] * 5
