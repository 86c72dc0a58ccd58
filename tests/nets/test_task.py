"""Invalid tasks and inputs are refused."""

from __future__ import annotations

import pytest

from tabnas.errors import TabNASError
from tabnas.nets import Embedding, Inputs, Loss, Task


def test_inputs_count_their_units_and_parameters():
    inputs = Inputs(numeric=13, embeddings=[Embedding(categories=10, dimension=39)] * 26)
    assert inputs.width == 1027
    assert inputs.embedding_parameters == 26 * 390


def test_losses_are_found_by_name():
    assert Task(inputs=Inputs(numeric=1), loss="softmax", outputs=2).loss is Loss.SOFTMAX


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
def test_invalid_tasks_are_refused(settings, message):
    with pytest.raises(TabNASError, match=message):
        Task(inputs=Inputs(numeric=1), **settings)


def test_invalid_inputs_are_refused():
    with pytest.raises(TabNASError, match="width of the inputs must be an integer of at least 1"):
        Inputs()
    with pytest.raises(TabNASError, match="dimension of an embedding must be"):
        Embedding(categories=2, dimension=0)
