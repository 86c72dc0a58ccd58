"""Soft targets: their forms, mixtures and concatenations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas.errors import TabNASError
from tabnas.nets import (
    Examples,
    Inputs,
    NetworkSpec,
    TopClasses,
    concatenate_targets,
    mix_targets,
    top_classes,
)

INPUTS = Inputs(numeric=1)
SOFTMAX = NetworkSpec(inputs=INPUTS, loss="softmax", outputs=5)
LOGISTIC = NetworkSpec(inputs=INPUTS, loss="logistic")
SQUARED = NetworkSpec(inputs=INPUTS, loss="squared_error")
RNG = np.random.default_rng(0)
LABELS = RNG.integers(5, size=20).astype(np.int32)
ANSWERS = RNG.dirichlet(np.ones(5), 20).astype(np.float32)
TOP = top_classes(ANSWERS, 2)
FORMS = {"class numbers": LABELS, "probabilities": ANSWERS, "top classes": TOP}


def to_dense(target):
    """Return any form of target as probabilities, in float64."""
    if isinstance(target, TopClasses):
        dense = np.zeros((len(target), 5))
        for row, (classes, shares) in enumerate(
            zip(target.classes, target.probabilities, strict=True)
        ):
            for label, share in zip(classes, shares, strict=True):
                dense[row, label] += share
        return dense
    return np.eye(5)[target] if target.ndim == 1 else target.astype(np.float64)


def accept(spec, target):
    """Return the target of examples, which must accept it."""
    rows = len(target)
    return Examples(spec, numeric=np.zeros((rows, 1)), target=target).target


@pytest.mark.parametrize(
    ("classes", "probabilities", "message"),
    [
        ([0, 1], [1.0, 1.0], r"shape \(rows, k\) with k of at least 1, got \(2,\)"),
        ([[], []], [[], []], r"k of at least 1, got \(2, 0\)"),
        ([[0, 1]], [[1.0]], r"must have the shape \(1, 2\), got \(1, 1\)"),
        ([[0, 1]], [[0.5, 0.4]], "must sum to 1, got 0.9 at 0"),
        ([[0, 1]], [[1.5, -0.5]], "must lie between 0.0 and 1.0, got 1.5"),
        ([[0.5]], [[1.0]], "must be integers"),
    ],
)
def test_invalid_top_classes_are_refused(classes, probabilities, message):
    with pytest.raises(TabNASError, match=message):
        TopClasses(classes, probabilities)


def test_probabilities_of_repeated_classes_are_added():
    top = TopClasses([[1, 1, 0]], [[0.25, 0.5, 0.25]])
    assert top.to_probabilities(3).tolist() == [[0.25, 0.75, 0.0]]


@given(st.lists(st.integers(0, 3), min_size=2, max_size=8).filter(any), st.data())
def test_top_classes_are_the_first_of_a_stable_sort(numbers, data):
    """Few different numbers, so that most rows have ties."""
    probabilities = np.array([numbers], np.float32) / sum(numbers)
    k = data.draw(st.integers(1, np.count_nonzero(numbers)))
    top = top_classes(probabilities, k)
    expected = np.sort(np.argsort(-probabilities[0], kind="stable")[:k])
    assert top.classes.tolist() == [expected.tolist()]
    kept = probabilities[0, expected]
    np.testing.assert_allclose(top.probabilities[0], kept / kept.sum(), rtol=1e-6)


def test_all_top_classes_are_all_probabilities():
    np.testing.assert_allclose(top_classes(ANSWERS, 5).to_probabilities(5), ANSWERS, rtol=1e-6)


@pytest.mark.parametrize(
    ("k", "message"), [(0, "integer of at least 1, got 0"), (6, "number of classes, 5, got 6")]
)
def test_an_invalid_number_of_top_classes_is_refused(k, message):
    with pytest.raises(TabNASError, match=message):
        top_classes(ANSWERS, k)


@pytest.mark.parametrize("share", [1e-9, 0.1, 0.7, 1.0])
@pytest.mark.parametrize("answers", ["probabilities", "top classes"])
@pytest.mark.parametrize("target", FORMS)
def test_a_mixture_of_distributions(target, answers, share):
    mixture = accept(SOFTMAX, mix_targets(SOFTMAX, FORMS[target], FORMS[answers], share))
    expected = (1 - share) * to_dense(FORMS[target]) + share * to_dense(FORMS[answers])
    np.testing.assert_allclose(to_dense(mixture), expected, atol=1e-6)
    is_top = isinstance(mixture, TopClasses)
    assert is_top == ("probabilities" not in (target, answers))
    if is_top and target == "class numbers":
        assert mixture.classes.shape == (20, 3)


@given(st.floats(0.0, 1.0))
def test_a_mixture_with_the_same_answers_is_never_above_1(share):
    sure = np.eye(5, dtype=np.float32)[LABELS]
    mixture = accept(SOFTMAX, mix_targets(SOFTMAX, LABELS, sure, share))
    np.testing.assert_allclose(to_dense(mixture), sure, atol=1e-6)
    ones = np.ones(4, np.float32)
    np.testing.assert_allclose(accept(LOGISTIC, mix_targets(LOGISTIC, ones, ones, share)), 1.0)


@pytest.mark.parametrize("spec", [LOGISTIC, SQUARED], ids=["logistic", "squared error"])
@pytest.mark.parametrize("shape", [(3,), (3, 1)])
def test_a_mixture_of_values(spec, shape):
    target = accept(spec, [0.0, 1.0, 1.0])
    answers = np.array([0.5, 0.5, 1.0]).reshape(shape)
    mixture = accept(spec, mix_targets(spec, target, answers, 0.25))
    np.testing.assert_allclose(mixture[:, 0], [0.125, 0.875, 1.0])


def test_a_share_of_0_changes_nothing():
    for target in FORMS.values():
        assert mix_targets(SOFTMAX, target, ANSWERS, 0.0) is target


@pytest.mark.parametrize(
    ("spec", "target", "answers", "share", "message"),
    [
        (SOFTMAX, LABELS, ANSWERS, 1.5, "share must lie between 0 and 1, got 1.5"),
        (SOFTMAX, LABELS, ANSWERS, np.nan, "share must lie between 0 and 1, got nan"),
        (SOFTMAX, LABELS, ANSWERS[:3], 0.5, r"shape \(20, 5\), got \(3, 5\)"),
        (SOFTMAX, LABELS, TOP.take(slice(3)), 0.5, "top classes of 20 rows, got .* of 3 rows"),
        (SOFTMAX, [7], [[0.2] * 5], 0.5, "class labels must lie between 0 and 4, got 7"),
        (SOFTMAX, [1], TopClasses([[5]], [[1.0]]), 0.5, "top classes must lie between 0 and 4"),
        (LOGISTIC, [1.0], [1.5], 0.5, "answers must lie between 0.0 and 1.0, got 1.5"),
        (LOGISTIC, [1.0], TopClasses([[0]], [[1.0]]), 0.5, "answers must be numbers of 1 rows"),
        (SQUARED, [1.0], [1.5, 2.0], 0.5, r"answers must have the shape \(1, 1\), got \(2, 1\)"),
    ],
)
def test_invalid_mixtures_are_refused(spec, target, answers, share, message):
    with pytest.raises(TabNASError, match=message):
        mix_targets(spec, target, answers, share)


@pytest.mark.parametrize("second", FORMS)
@pytest.mark.parametrize("first", FORMS)
def test_concatenated_targets(first, second):
    joined = accept(SOFTMAX, concatenate_targets(SOFTMAX, FORMS[first], FORMS[second]))
    expected = np.concatenate([to_dense(FORMS[first]), to_dense(FORMS[second])])
    np.testing.assert_allclose(to_dense(joined), expected, atol=1e-6)
    forms = {first, second}
    is_top = "top classes" in forms and "probabilities" not in forms
    assert isinstance(joined, TopClasses) == is_top
    if not is_top:
        assert joined.ndim == (1 if forms == {"class numbers"} else 2)


def test_concatenated_top_classes_have_the_larger_number_of_classes():
    joined = concatenate_targets(SOFTMAX, TOP, top_classes(ANSWERS, 4))
    assert joined.classes.shape == (40, 4)
    np.testing.assert_array_equal(joined.probabilities[:20, 2:], 0.0)


def test_concatenated_values():
    values = np.array([[1.0], [2.0]], np.float32)
    assert concatenate_targets(SQUARED, values, values).tolist() == [[1.0], [2.0], [1.0], [2.0]]
    assert concatenate_targets(SQUARED, None, None) is None
    with pytest.raises(TabNASError, match="both or neither must have targets"):
        concatenate_targets(SQUARED, values, None)
