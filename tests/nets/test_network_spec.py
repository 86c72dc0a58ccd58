"""Invalid network specs and inputs are refused."""

from __future__ import annotations

import numpy as np
import pytest

from tabnas.errors import TabNASError
from tabnas.nets import Embedding, Inputs, Loss, NetworkSpec
from tabnas.space import NumericEmbeddings


def test_inputs_count_their_units_and_parameters():
    inputs = Inputs(numeric=13, category_embeddings=[Embedding(categories=10, dimension=39)] * 26)
    assert inputs.width == 1027
    assert inputs.embedding_parameters == 26 * 390


def test_losses_are_found_by_name():
    assert NetworkSpec(inputs=Inputs(numeric=1), loss="softmax", outputs=2).loss is Loss.SOFTMAX


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "softmaxx", "outputs": 2}, "did you mean 'softmax'"),
        ({"loss": "softmax", "outputs": 1}, "at least 2, got 1"),
        ({"loss": "logistic", "outputs": 2}, "must have 1 output, got 2"),
        ({"loss": "squared_error", "outputs": 0}, "at least 1, got 0"),
        ({"loss": "squared_error", "outputs": True}, "got True"),
    ],
)
def test_invalid_specs_are_refused(settings, message):
    with pytest.raises(TabNASError, match=message):
        NetworkSpec(inputs=Inputs(numeric=1), **settings)


def test_invalid_inputs_are_refused():
    with pytest.raises(TabNASError, match="width of the inputs must be an integer of at least 1"):
        Inputs()
    with pytest.raises(TabNASError, match="dimension of an embedding must be"):
        Embedding(categories=2, dimension=0)


def test_knots_are_stored_as_single_precision_numbers():
    inputs = Inputs(numeric=3, knots=[(), np.array([0.1, 0.7]), [0, 1, 2]])
    assert inputs.knots == ((), (float(np.float32(0.1)), float(np.float32(0.7))), (0.0, 1.0, 2.0))
    assert inputs.embedded_numeric == (1, 2)
    assert inputs.width == 3  # without numeric embeddings
    assert inputs.numeric_embeddings() == NumericEmbeddings(columns=2, knots=5)


def test_the_largest_gaps_do_not_overflow():
    gaps = Inputs(numeric=1, knots=[(-3e38, 3e38)]).gaps
    assert np.isfinite(gaps).all()


def test_inputs_whose_columns_all_lack_knots_are_those_without_knots():
    inputs = Inputs(numeric=2, knots=[(), ()])
    assert inputs == Inputs(numeric=2)
    assert inputs.numeric_embeddings() is None


@pytest.mark.parametrize(
    "knots",
    [(1.0,), (1.0, 1.0), (2.0, 1.0), (0.0, np.nan), (0.0, np.inf), (0.0, 1e39), (1.0, 1.0 + 1e-9)],
)
def test_invalid_knots_are_refused(knots):
    with pytest.raises(TabNASError, match="knots of numeric column 1 must be at least two finite"):
        Inputs(numeric=2, knots=[(0.0, 1.0), knots])


def test_knots_must_be_given_for_every_numeric_column():
    with pytest.raises(TabNASError, match="each of the 3 numeric columns, got 2"):
        Inputs(numeric=3, knots=[(0.0, 1.0), ()])
