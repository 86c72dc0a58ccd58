"""Answers of several fits and teachers are combined as the formulas say."""

from __future__ import annotations

import numpy as np
import pytest

from tabnas.nets import Loss
from tabnas.teachers import (
    NO_FOLD,
    blend,
    choose_shares,
    join_out_of_fold,
    join_without_fold,
    make_fits,
    mean_loss,
)
from tabnas.teachers._blend import row_losses

FOLDS = np.array([0, 1, 2, 0, 1, 2, NO_FOLD, NO_FOLD])


def answer_by_fit(nested: bool) -> tuple[list, list]:
    """Return fits, and as their answers a number that says which fit it was."""
    fits = make_fits(FOLDS, nested=nested)
    numbers = [sum(10**fold for fold in fit.left_out) for fit in fits]
    answers = [
        np.full((len(fit.answered), 1), number, np.float32)
        for fit, number in zip(fits, numbers, strict=True)
    ]
    return fits, answers


def test_rows_of_a_fold_have_the_answer_of_its_fit_and_new_rows_the_mean() -> None:
    fits, answers = answer_by_fit(nested=True)
    joined = join_out_of_fold(fits, answers, FOLDS)
    assert joined[:6, 0].tolist() == [1, 10, 100, 1, 10, 100]
    assert joined[6:, 0] == pytest.approx([111 / 3] * 2)


def test_without_a_fold_only_fits_that_leave_it_out_answer() -> None:
    fits, answers = answer_by_fit(nested=True)
    joined = join_without_fold(fits, answers, FOLDS, fold=1)
    assert joined[:6, 0].tolist() == [11, 0, 110, 11, 0, 110]
    assert joined[6:, 0] == pytest.approx([(11 + 110) / 2] * 2)


@pytest.mark.parametrize("loss", list(Loss))
@pytest.mark.parametrize("weighted", [False, True])
def test_the_shares_are_the_best_of_a_grid(loss: Loss, weighted: bool) -> None:
    rng = np.random.default_rng(3)
    rows, outputs = 400, 3 if loss is Loss.SOFTMAX else 1
    y = rng.integers(0, max(2, outputs), size=rows)
    right = np.eye(3)[y] if outputs == 3 else y[:, None].astype(float)
    noisy = {}
    for name, noise in (("trees", 0.4), ("network", 0.6)):
        answers = (1 - noise) * right + noise * rng.random((rows, outputs))
        if outputs == 3:
            answers /= answers.sum(axis=1, keepdims=True)
        noisy[name] = answers.astype(np.float32)
    weight = rng.random(rows) if weighted else None
    shares = choose_shares(loss, noisy, y, weight)
    assert sum(shares.values()) == pytest.approx(1.0)
    losses = {
        share: mean_loss(loss, blend(noisy, {"trees": share, "network": 1 - share}), y, weight)
        for share in np.linspace(0, 1, 101).round(2).tolist()
    }
    assert losses[shares["trees"]] == pytest.approx(min(losses.values()), rel=1e-4)


def test_a_useless_teacher_has_no_share() -> None:
    y = np.array([0, 1] * 50)
    good = np.where(y, 0.9, 0.1)[:, None].astype(np.float32)
    answers = {"trees": 1 - good, "network": good}
    assert choose_shares(Loss.LOGISTIC, answers, y) == {"trees": 0.0, "network": 1.0}
    assert choose_shares(Loss.LOGISTIC, {"network": good}, y) == {"network": 1.0}


def test_the_losses_of_rows_are_scikit_learns() -> None:
    from sklearn.metrics import log_loss, mean_squared_error

    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, size=50)
    p = rng.dirichlet([1, 1, 1], size=50)
    assert row_losses(Loss.SOFTMAX, p, y).mean() == pytest.approx(log_loss(y, p))
    binary = y > 0
    assert row_losses(Loss.LOGISTIC, p[:, :1], binary).mean() == pytest.approx(
        log_loss(binary, p[:, 0])
    )
    assert row_losses(Loss.SQUARED_ERROR, p[:, :1], p[:, 1]).mean() == pytest.approx(
        mean_squared_error(p[:, 1], p[:, 0])
    )
