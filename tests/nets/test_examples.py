"""Examples are checked once, with errors that name the problem and its row."""

from __future__ import annotations

import numpy as np
import pytest

from tabnas.errors import TabNASError
from tabnas.nets import Embedding, Examples, Inputs, NetworkSpec, TopClasses

MIXED = Inputs(numeric=2, category_embeddings=[Embedding(categories=3, dimension=2)])
GOOD = {
    "numeric": [[0.0, 1.0], [2.0, 3.0]],
    "categorical": [[0], [2]],
    "target": [0, 1],
    "weight": [1.0, 2.0],
}


def make_softmax_examples(**changes):
    return Examples(NetworkSpec(inputs=MIXED, loss="softmax", outputs=2), **{**GOOD, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"numeric": [[0.0], [1.0]]}, r"shape \(2, 2\), got \(2, 1\)"),
        ({"numeric": [[0.0, np.nan], [1.0, 1.0]]}, r"got nan at \(0, 1\)"),
        ({"numeric": [["a", "b"], ["c", "d"]]}, "must be numbers"),
        ({"numeric": None}, "numeric must have 2 columns, as the network spec has, got None"),
        (
            {"categorical": None},
            "categorical must have 1 columns, as the network spec has, got None",
        ),
        ({"categorical": [[0], [3]]}, "column 0 must lie between 0 and 2, got 3 at 1"),
        ({"categorical": [[0], [-1]]}, "got -1"),
        ({"categorical": [[0.5], [1.0]]}, "must be integers, got fractions"),
        ({"target": [0, 2]}, "class labels must lie between 0 and 1, got 2 at 1"),
        ({"target": [0]}, r"shape \(2,\), got \(1,\)"),
        ({"target": [[0], [1]]}, r"probabilities must have the shape \(2, 2\), got \(2, 1\)"),
        ({"target": [[0.5, 0.5], [0.5, 0.4]]}, r"must sum to 1, got 0.9 at 1; divide each row"),
        ({"target": [[0.5, 0.5], [-0.5, 1.5]]}, r"between 0.0 and 1.0, got -0.5 at \(1, 0\)"),
        ({"target": [[0.5, 0.5], [np.nan, 0.5]]}, r"got nan at \(1, 0\)"),
        ({"target": TopClasses([[0], [2]], [[1], [1]])}, r"between 0 and 1, got 2 at \(1, 0\)"),
        ({"target": TopClasses([[0], [-1]], [[1], [1]])}, r"between 0 and 1, got -1 at \(1, 0\)"),
        ({"target": TopClasses([[0]], [[1]])}, r"top classes of 2 rows, got .* of 1 rows"),
        ({"weight": [1.0, -1.0]}, "row weights must lie between 0.0"),
        ({"numeric": None, "categorical": None}, "got neither"),
    ],
)
def test_invalid_examples_are_refused(changes, message):
    with pytest.raises(TabNASError, match=message):
        make_softmax_examples(**changes)


def test_targets_of_the_other_losses():
    binary = NetworkSpec(inputs=Inputs(numeric=1), loss="logistic")
    assert Examples(binary, numeric=[[1.0]], target=[0.25]).values.shape == (1, 1)
    with pytest.raises(TabNASError, match=r"between 0.0 and 1.0, got 2.0"):
        Examples(binary, numeric=[[1.0]], target=[2.0])
    with pytest.raises(TabNASError, match="targets must be numbers of 1 rows"):
        Examples(binary, numeric=[[1.0]], target=TopClasses([[0]], [[1.0]]))
    pair = NetworkSpec(inputs=Inputs(numeric=1), loss="squared_error", outputs=2)
    with pytest.raises(TabNASError, match=r"targets must have the shape \(1, 2\)"):
        Examples(pair, numeric=[[1.0]], target=[2.0])


def test_arrays_of_the_right_type_are_not_copied():
    numeric = np.ones((5, 1), np.float32)
    spec = NetworkSpec(inputs=Inputs(numeric=1), loss="squared_error")
    examples = Examples(spec, numeric=numeric, target=np.ones(5))
    assert np.shares_memory(examples.numeric, numeric)
    numeric.flags.writeable = False
    assert Examples(spec, numeric=numeric, target=np.ones(5)).numeric.flags.writeable
    assert len(examples) == 5


THREE = NetworkSpec(inputs=Inputs(numeric=1), loss="softmax", outputs=3)
LABELS = np.array([0, 2, 1, 2], np.int32)
PROBABILITIES = np.eye(3, dtype=np.float32)[LABELS] * 0.5 + np.float32(0.5 / 3)
TOP = TopClasses(np.array([[0, 1]] * 4, np.int32), np.full((4, 2), 0.5, np.float32))


def make_numbers(target, spec=THREE, **changes):
    return Examples(spec, numeric=np.arange(4.0)[:, None], target=target, **changes)


def test_forms_of_targets_are_stored_without_a_copy():
    for target, labels, values in (
        (LABELS, (4, 1), (0, 3)), (PROBABILITIES, (0, 0), (4, 3)), (TOP, (4, 2), (4, 2)),
    ):  # fmt: skip
        examples = make_numbers(target)
        assert (examples.labels.shape, examples.values.shape) == (labels, values)
        assert all(array.flags.carray for array in examples.arrays)
    assert np.shares_memory(make_numbers(LABELS).labels, LABELS)
    assert np.shares_memory(make_numbers(PROBABILITIES).values, PROBABILITIES)
    assert np.shares_memory(make_numbers(TOP).labels, TOP.classes)
    assert np.shares_memory(make_numbers(TOP).values, TOP.probabilities)


@pytest.mark.parametrize("rows", [slice(1, 3), slice(0, 0), np.array([3, 0, 0])])
def test_taken_rows_have_the_same_form_of_target(rows):
    weight = np.arange(4.0)
    logistic = NetworkSpec(inputs=Inputs(numeric=1), loss="logistic")
    for spec, target in ((THREE, LABELS), (THREE, PROBABILITIES), (logistic, weight / 3)):
        examples = make_numbers(target, spec, weight=weight)
        taken = examples.take(rows)
        assert np.array_equal(taken.target, examples.target[rows])
        assert taken.target.ndim == examples.target.ndim
        assert np.array_equal(taken.numeric, examples.numeric[rows])
        assert np.array_equal(taken.weight, examples.weight[rows])
    taken = make_numbers(TOP).take(rows).target
    assert np.array_equal(taken.classes, TOP.classes[rows])
    assert np.array_equal(taken.probabilities, TOP.probabilities[rows])
    assert make_numbers(None).take(rows).target is None


def test_a_slice_of_rows_shares_memory():
    for target in (LABELS, PROBABILITIES, TOP):
        examples = make_numbers(target, weight=np.ones(4))
        for before, after in zip(examples.arrays, examples.take(slice(1, 3)).arrays, strict=True):
            assert np.shares_memory(before, after) or not before.size
