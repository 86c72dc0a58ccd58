"""The task of a network follows from the encoder and the target."""

from __future__ import annotations

import numpy as np
import pytest

from tabnas import TabNASError
from tabnas.model import make_examples, network_task
from tabnas.nets import Loss
from tests.model.conftest import Fitted


@pytest.mark.parametrize(
    ("name", "loss", "outputs"),
    [
        ("iris", Loss.SOFTMAX, 3),
        ("breast_cancer", Loss.LOGISTIC, 1),
        ("diabetes", Loss.SQUARED_ERROR, 1),
    ],
)
def test_the_target_decides_the_loss(name, loss, outputs, request):
    task = request.getfixturevalue(name).model.task
    assert (task.loss, task.outputs) == (loss, outputs)


def test_categorical_columns_become_embeddings(mixed: Fitted):
    task = mixed.model.task
    assert [e.categories for e in task.inputs.embeddings] == list(mixed.model.encoder.categories)
    assert [e.dimension for e in task.inputs.embeddings] == [3, 3]
    with pytest.raises(TabNASError, match="each of the 2 categorical columns, got 1"):
        network_task(mixed.model.encoder, mixed.model.target, [3])
    with pytest.raises(TabNASError, match="a dimension must be an integer of at least 1"):
        network_task(mixed.model.encoder, mixed.model.target, [3, 0])


def test_examples_have_inputs_target_and_weights(mixed: Fitted):
    weight = np.linspace(0, 1, len(mixed.y))
    rows = make_examples(mixed.model.task, mixed.encoded, mixed.y, weight)
    np.testing.assert_array_equal(rows.numeric, mixed.encoded.numeric)
    np.testing.assert_array_equal(rows.categorical, mixed.encoded.categorical)
    assert rows.has_target
    assert rows.total_weight == pytest.approx(weight.sum())
