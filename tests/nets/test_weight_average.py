"""The moving average of weights in a training."""

from __future__ import annotations

import numpy as np
import pytest

from tabnas.errors import TabNASError
from tabnas.nets import (
    Adam,
    Constant,
    Cosine,
    EarlyStopping,
    Embedding,
    Examples,
    Inputs,
    NetworkSpec,
    SuperNet,
    Trainer,
    TrainingSettings,
)
from tabnas.nets._weight_average import MIN_STEPS_BETWEEN, UPDATES_PER_EPOCH
from tabnas.space import Architecture

CHILD = Architecture((12, 5), dimension=2)
SPEC = NetworkSpec(
    inputs=Inputs(
        numeric=2,
        category_embeddings=[Embedding(categories=5, dimension=3)],
        knots=[(-1.0, 0.0, 1.0), ()],
    ),
    loss="logistic",
)
STEPS = 13  # of an epoch: an update after 8, one after all 13

pytestmark = pytest.mark.usefixtures("single_steps")


def make_examples(rows, seed):
    """Return points labelled by a circle, whose radius depends on a category."""
    rng = np.random.default_rng(seed)
    numeric, categorical = rng.normal(size=(rows, 2)), rng.integers(5, size=(rows, 1))
    target = (numeric**2).sum(axis=1) > 1.0 + 0.2 * categorical[:, 0]
    return Examples(SPEC, numeric=numeric, categorical=categorical, target=target)


TRAINING, VALIDATION = make_examples(4 * STEPS, 0), make_examples(60, 1)


def make_trainer(validation=VALIDATION, engine="compiled", rows=TRAINING, **settings):
    net = SuperNet.standalone(CHILD, SPEC, optimizer=Adam(), seed=7, engine=engine)
    settings = {"epochs": 4, "schedule": Cosine(0.05), "averaging": 1.0} | settings
    return Trainer(net, CHILD, rows, TrainingSettings(batch_size=4, **settings), validation)


def record_weights(trainer, **run):
    """Run a training; return the weights before every step."""
    recorded = []
    trainer.run(on_step=lambda: recorded.append(trainer.net.weights()), **run)
    return recorded


def assert_equal_weights(actual, expected):
    assert set(actual) == set(expected)
    for name, array in expected.items():
        np.testing.assert_array_equal(actual[name], array, err_msg=name)


@pytest.mark.parametrize("rows", [4 * STEPS, 4 * 5, 4 * 345])
def test_the_average_is_a_sum_with_decaying_weights(rows):
    """In the sum, each update stands for the steps since the one before."""
    steps = rows // 4
    training = {"rows": make_examples(rows, 0), "epochs": 3, "averaging": 1.5}
    trainer = make_trainer(None, **training)
    recorded = record_weights(trainer)
    last = make_trainer(None, **training | {"averaging": 0.0})
    last.run()
    recorded.append(last.net.weights())
    every = max(MIN_STEPS_BETWEEN, steps // UPDATES_PER_EPOCH)
    updates = sorted({epoch * steps + s for epoch in range(3) for s in range(every, steps, every)})
    updates = np.array(sorted({*updates, steps, 2 * steps, 3 * steps}))
    edges = np.exp(-(3 * steps - np.array([0, *updates])) / (1.5 * steps))
    shares = np.diff(edges) / (edges[-1] - edges[0])
    assert shares.sum() == pytest.approx(1.0)
    for name, array in trainer.net.weights().items():
        stacked = np.stack([recorded[step][name] for step in updates]).astype(np.float64)
        expected = np.tensordot(shares, stacked, axes=1)
        np.testing.assert_allclose(array, expected, rtol=1e-4, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("validation", [None, VALIDATION], ids=["alone", "validated"])
@pytest.mark.parametrize("engine", ["compiled", "torch"])
def test_the_training_itself_does_not_change(engine, validation):
    if engine == "torch":
        pytest.importorskip("torch")
    off = make_trainer(validation, engine, averaging=0.0)
    on = make_trainer(validation, engine)
    for plain, averaged in zip(record_weights(off), record_weights(on), strict=True):
        assert_equal_weights(averaged, plain)
    assert on.result.training_losses == off.result.training_losses
    differs = [(on.net.weights()[name] != w).any() for name, w in off.net.weights().items()]
    assert all(differs)


def test_an_average_of_the_last_step_alone_is_no_average():
    off, on = make_trainer(averaging=0.0), make_trainer(averaging=1e-9)
    assert on.run() == off.run()
    assert_equal_weights(on.net.weights(), off.net.weights())


def test_the_average_is_validated_shown_to_callbacks_and_kept():
    trainer, losses, weights = make_trainer(), [], []

    def on_epoch(result):
        losses.append(trainer.net.loss(CHILD, VALIDATION))
        weights.append(trainer.net.weights())

    result = trainer.run(on_epoch)
    assert losses == result.validation_losses != make_trainer(averaging=0.0).run().validation_losses
    assert result.best_loss == min(losses) == trainer.net.loss(CHILD, VALIDATION)
    assert_equal_weights(trainer.net.weights(), weights[result.best_epoch - 1])


def test_without_validation_the_network_ends_with_the_average():
    trainer, weights = make_trainer(None), []
    trainer.run(lambda result: weights.append(trainer.net.weights()))
    assert_equal_weights(trainer.net.weights(), weights[-1])
    trainer.run()
    assert_equal_weights(trainer.net.weights(), weights[-1])


def test_early_stopping_waits_for_the_averaged_loss():
    settings = {"epochs": 200, "schedule": Constant(0.1)}
    stopping = EarlyStopping(patience=3)
    all_losses = make_trainer(**settings).run().validation_losses
    result = make_trainer(early_stopping=stopping, **settings).run()
    best = int(np.argmin(all_losses[: result.epochs])) + 1
    assert result.validation_losses == all_losses[: result.epochs]
    assert (result.best_epoch, result.epochs) == (best, best + 3)
    assert result.epochs < 200


@pytest.mark.parametrize("validation", [None, VALIDATION], ids=["alone", "validated"])
def test_a_training_can_be_resumed_at_every_step_and_epoch(validation):
    uninterrupted, states = make_trainer(validation), []

    def save(*_):
        states.append(uninterrupted.state_dict())

    expected = uninterrupted.run(save, save)
    assert len(states) == 4 * (STEPS + 1)
    for state in [*states, uninterrupted.state_dict()]:
        resumed = make_trainer(validation)
        resumed.load_state_dict(state)
        assert resumed.run() == expected
        assert_equal_weights(resumed.net.weights(), uninterrupted.net.weights())


def test_a_callback_that_raises_leaves_the_training_as_it_was():
    expected = make_trainer()
    expected.run()
    trainer, calls = make_trainer(), []

    def raise_once(result):
        calls.append(result.epochs)
        if len(calls) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trainer.run(raise_once)
    assert trainer.run(raise_once) == expected.result
    assert calls == [1, 2, 3, 4]
    assert_equal_weights(trainer.net.weights(), expected.net.weights())


def test_engines_continue_each_others_averages():
    pytest.importorskip("torch")
    compiled, states = make_trainer(), []
    expected = compiled.run(on_step=lambda: states.append(compiled.state_dict()))
    other = make_trainer(engine="torch")
    other.load_state_dict(states[2 * STEPS + 5])
    assert other.run().validation_losses == pytest.approx(expected.validation_losses, rel=1e-3)
    for name, array in compiled.net.weights().items():
        np.testing.assert_allclose(other.net.weights()[name], array, rtol=1e-2, atol=1e-3)


def test_a_state_that_does_not_fit_is_refused():
    trainer, states = make_trainer(), []
    trainer.run(on_step=lambda: states.append(trainer.state_dict()))
    state, name = states[20], "average/head.2.weight"
    with pytest.raises(TabNASError, match=r"head\.2\.weight' of the state must be float32"):
        make_trainer().load_state_dict(state | {name: state[name][:-1]})
    with pytest.raises(TabNASError, match=r"head\.2\.weight"):
        make_trainer().load_state_dict({key: a for key, a in state.items() if key != name})
    with pytest.raises(TabNASError, match=r"head\.2\.weight"):
        make_trainer(averaging=0.0).load_state_dict(state)
    fresh = make_trainer()
    with pytest.raises(TabNASError):
        fresh.load_state_dict(state | {name: state[name] * np.float32(np.nan)})
    assert fresh.run() == trainer.result  # nothing was loaded


@pytest.mark.parametrize("averaging", [-1.0, float("nan"), float("inf"), True])
def test_the_reach_is_a_number_of_epochs(averaging):
    with pytest.raises(TabNASError, match="averaging must be a number of epochs from 0 to"):
        TrainingSettings(epochs=1, batch_size=1, schedule=Constant(0.1), averaging=averaging)
