"""The spec of a network follows from the encoder and the target."""

from __future__ import annotations

import numpy as np
import pytest

from tabnas import TabNASError
from tabnas.model import make_examples, make_network_spec
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
    spec = request.getfixturevalue(name).model.spec
    assert (spec.loss, spec.outputs) == (loss, outputs)


def test_categorical_columns_become_embeddings(mixed: Fitted):
    spec = mixed.model.spec
    assert [e.categories for e in spec.inputs.category_embeddings] == list(
        mixed.model.encoder.n_categories
    )
    assert [e.dimension for e in spec.inputs.category_embeddings] == [3, 3]
    with pytest.raises(TabNASError, match="each of the 2 categorical columns, got 1"):
        make_network_spec(mixed.model.encoder, mixed.model.target, [3])
    with pytest.raises(TabNASError, match="a dimension must be an integer of at least 1"):
        make_network_spec(mixed.model.encoder, mixed.model.target, [3, 0])


def test_examples_have_inputs_target_and_weights(mixed: Fitted):
    weight = np.linspace(0, 1, len(mixed.y))
    rows = make_examples(mixed.model.spec, mixed.encoded, mixed.y, weight)
    np.testing.assert_array_equal(rows.numeric, mixed.encoded.numeric)
    np.testing.assert_array_equal(rows.categorical, mixed.encoded.categorical)
    assert rows.has_target
    assert rows.total_weight == pytest.approx(weight.sum())
