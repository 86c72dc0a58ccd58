"""The training loop."""

from __future__ import annotations

import numpy as np
import pytest

from tabnas.errors import TabNASError
from tabnas.nets import (
    SGD,
    Constant,
    Cosine,
    EarlyStopping,
    Examples,
    Inputs,
    NetworkSpec,
    NonFiniteLossError,
    SuperNet,
    Trainer,
    TrainingSettings,
    train,
)
from tabnas.space import Architecture

CHILD = Architecture((16, 8))
SPEC = NetworkSpec(inputs=Inputs(numeric=2), loss="logistic")


def make_circles(rows, seed):
    """Return points labelled by a circle, which no linear model can separate."""
    numeric = np.random.default_rng(seed).normal(size=(rows, 2))
    return Examples(SPEC, numeric=numeric, target=(numeric**2).sum(axis=1) > 1.4)


def test_a_network_learns_a_circle():
    net = SuperNet.standalone(CHILD, SPEC)
    training = TrainingSettings(epochs=20, batch_size=32, schedule=Cosine(0.01))
    result = train(net, CHILD, make_circles(500, 0), training, make_circles(300, 1))
    assert result.epochs == 20
    assert result.best_loss == min(result.validation_losses) < 0.15
    assert result.training_losses[0] > result.training_losses[-1]


def test_every_epoch_has_every_row_once_in_another_order():
    def order(epoch):
        batches = make_circles(10, 0).batches(4, seed=0)
        return np.concatenate([batches.at(3 * epoch + step).rows[0] for step in range(3)])

    first, again, second = order(0), order(0), order(1)
    assert sorted(first) == list(range(10))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, second)


def test_workers_share_the_rows_of_a_step():
    batches = make_circles(11, 0).batches(2, seed=0, workers=2)
    single = make_circles(11, 0).batches(4, seed=0)
    sizes = [[len(rows) for rows in batches.at(step).rows] for step in range(3)]
    assert sizes == [[2, 2], [2, 2], [2, 1]]
    for step in range(3):
        together = np.concatenate(batches.at(step).rows)
        np.testing.assert_array_equal(together, single.at(step).rows[0])
    assert [len(make_circles(9, 0).batches(2, seed=0, workers=2).at(2).rows)] == [
        1
    ]  # no empty batch for a worker


def test_a_training_is_reproducible():
    def run(seed):
        net = SuperNet.standalone(CHILD, SPEC, seed=7)
        training = TrainingSettings(epochs=2, batch_size=30, schedule=Constant(0.01), seed=seed)
        train(net, CHILD, make_circles(100, 0), training)
        return net.weights()

    for name, array in run(0).items():
        np.testing.assert_array_equal(array, run(0)[name])
    assert not np.array_equal(run(0)["head.2.weight"], run(1)["head.2.weight"])


def test_early_stopping_keeps_the_best_weights():
    net = SuperNet.standalone(CHILD, SPEC, optimizer=SGD(momentum=0.9))
    training = TrainingSettings(
        epochs=200, batch_size=5, schedule=Constant(0.2), early_stopping=EarlyStopping(patience=3)
    )
    validation = make_circles(200, 1)
    result = train(net, CHILD, make_circles(20, 0), training, validation)
    assert result.epochs == result.best_epoch + 3 < 200
    assert net.loss(CHILD, validation) == result.best_loss


def test_the_error_of_divergence_names_the_step():
    net = SuperNet.standalone(
        CHILD, NetworkSpec(inputs=Inputs(numeric=2), loss="squared_error"), optimizer=SGD()
    )
    examples = Examples(net.spec, numeric=np.ones((8, 2)), target=np.arange(8.0))
    training = TrainingSettings(epochs=50, batch_size=8, schedule=Constant(1e15))
    with pytest.raises(NonFiniteLossError, match="training step") as caught:
        train(net, CHILD, examples, training)
    assert caught.value.step == net.steps + 1


def test_invalid_settings_are_refused():
    with pytest.raises(TabNASError, match="epochs must be an integer of at least 1"):
        TrainingSettings(epochs=0, batch_size=1, schedule=Constant(0.1))
    with pytest.raises(
        TabNASError, match=r"Constant\(learning_rate\) or Cosine\(learning_rate\), got 0\.1"
    ):
        TrainingSettings(epochs=1, batch_size=1, schedule=0.1)
    training = TrainingSettings(
        epochs=1, batch_size=1, schedule=Constant(0.1), early_stopping=EarlyStopping()
    )
    with pytest.raises(TabNASError, match="requires validation examples"):
        train(SuperNet.standalone(CHILD, SPEC), CHILD, make_circles(9, 0), training)


def make_weighted_circles(rows, weight):
    plain = make_circles(rows, 0)
    return Examples(SPEC, numeric=plain.numeric, target=plain.values[:, 0], weight=weight)


def test_training_losses_are_weighted_means():
    net = SuperNet.standalone(CHILD, SPEC)
    examples = make_weighted_circles(100, np.linspace(0.0, 5.0, 100))
    result = train(
        net, CHILD, examples, TrainingSettings(epochs=1, batch_size=7, schedule=Constant(0.0))
    )
    assert result.training_losses[0] == pytest.approx(net.loss(CHILD, examples), rel=1e-5)


def test_batches_of_weight_zero_are_left_out():
    weight = np.ones(20)
    weight[3] = 0.0
    net = SuperNet.standalone(CHILD, SPEC)
    training = TrainingSettings(epochs=1, batch_size=1, schedule=Constant(0.01))
    train(net, CHILD, make_weighted_circles(20, weight), training)
    assert net.steps == 19
    with pytest.raises(TabNASError, match="rows with a weight above 0"):
        train(net, CHILD, make_weighted_circles(20, np.zeros(20)), training)


def test_the_learning_rate_follows_the_schedule():
    rates = []

    class RecordedNet(SuperNet):
        def train_steps(self, children, examples, rows, learning_rates):
            rates.extend(learning_rates)
            return super().train_steps(children, examples, rows, learning_rates)

    net = RecordedNet.standalone(CHILD, SPEC)
    train(
        net,
        CHILD,
        make_circles(10, 0),
        TrainingSettings(epochs=2, batch_size=4, schedule=Cosine(0.1)),
    )
    assert rates == [Cosine(0.1)(step=step, steps=6) for step in range(6)]


@pytest.mark.usefixtures("single_steps")
@pytest.mark.parametrize("has_validation", [False, True])
def test_a_training_can_be_resumed_at_every_step(has_validation):
    """A new trainer with the state of any step ends with the same bits."""
    training = TrainingSettings(epochs=4, batch_size=30, schedule=Cosine(0.02), seed=5)
    validation = make_circles(60, 1) if has_validation else None

    def trainer():
        net = SuperNet.standalone(CHILD, SPEC, seed=7)
        return Trainer(net, CHILD, make_circles(100, 0), training, validation)

    uninterrupted, states = trainer(), []
    expected = uninterrupted.run(on_step=lambda: states.append(uninterrupted.state_dict()))
    assert len(states) == 16
    for state in states:
        resumed = trainer()
        resumed.load_state_dict({name: np.array(value) for name, value in state.items()})
        assert resumed.run() == expected
        for name, weights in uninterrupted.net.weights().items():
            np.testing.assert_array_equal(resumed.net.weights()[name], weights)
