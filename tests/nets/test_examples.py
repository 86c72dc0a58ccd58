"""Examples are checked once, with errors that name the problem and its row."""

from __future__ import annotations

import numpy as np
import pytest

from tabnas.errors import TabNASError
from tabnas.nets import Embedding, Examples, Inputs, Task

MIXED = Inputs(numeric=2, embeddings=[Embedding(categories=3, dimension=2)])
GOOD = {
    "numeric": [[0.0, 1.0], [2.0, 3.0]],
    "categorical": [[0], [2]],
    "target": [0, 1],
    "weight": [1.0, 2.0],
}


def make_softmax_examples(**changes):
    return Examples(Task(inputs=MIXED, loss="softmax", outputs=2), **{**GOOD, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"numeric": [[0.0], [1.0]]}, r"shape \(2, 2\), got \(2, 1\)"),
        ({"numeric": [[0.0, np.nan], [1.0, 1.0]]}, r"got nan at \(0, 1\)"),
        ({"numeric": [["a", "b"], ["c", "d"]]}, "must be numbers"),
        ({"numeric": None}, "numeric must have 2 columns, as the task has, got None"),
        ({"categorical": None}, "categorical must have 1 columns, as the task has, got None"),
        ({"categorical": [[0], [3]]}, "column 0 must lie between 0 and 2, got 3 at 1"),
        ({"categorical": [[0], [-1]]}, "got -1"),
        ({"categorical": [[0.5], [1.0]]}, "must be integers, got fractions"),
        ({"target": [0, 2]}, "class labels must lie between 0 and 1, got 2 at 1"),
        ({"target": [0]}, r"shape \(2,\), got \(1,\)"),
        ({"weight": [1.0, -1.0]}, "row weights must lie between 0.0"),
        ({"numeric": None, "categorical": None}, "got neither"),
    ],
)
def test_invalid_examples_are_refused(changes, message):
    with pytest.raises(TabNASError, match=message):
        make_softmax_examples(**changes)


def test_targets_of_the_other_losses():
    binary = Task(inputs=Inputs(numeric=1), loss="logistic")
    assert Examples(binary, numeric=[[1.0]], target=[0.25]).values.shape == (1, 1)
    with pytest.raises(TabNASError, match=r"between 0.0 and 1.0, got 2.0"):
        Examples(binary, numeric=[[1.0]], target=[2.0])
    pair = Task(inputs=Inputs(numeric=1), loss="squared_error", outputs=2)
    with pytest.raises(TabNASError, match=r"targets must have the shape \(1, 2\)"):
        Examples(pair, numeric=[[1.0]], target=[2.0])


def test_arrays_of_the_right_type_are_not_copied():
    numeric = np.ones((5, 1), np.float32)
    task = Task(inputs=Inputs(numeric=1), loss="squared_error")
    examples = Examples(task, numeric=numeric, target=np.ones(5))
    assert np.shares_memory(examples.numeric, numeric)
    numeric.flags.writeable = False
    assert Examples(task, numeric=numeric, target=np.ones(5)).numeric.flags.writeable
    assert len(examples) == 5
