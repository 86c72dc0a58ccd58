"""A step that float32 cannot hold moves nothing, on both engines."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas.errors import TabnasError
from tabnas.nets import (
    SGD,
    Adam,
    Constant,
    Embedding,
    Examples,
    Inputs,
    NonFiniteLossError,
    SuperNet,
    Task,
    Trainer,
    Training,
)
from tabnas.space import Architecture, SearchSpace

INPUTS = Inputs(numeric=3, embeddings=(Embedding(categories=4, dimension=2),))
TASK = Task(inputs=INPUTS, loss="squared_error")
SPACE = SearchSpace([[0, 4, 9], [0, 5]], inputs=INPUTS.width, outputs=1)
ROWS = 12


def examples(target: float, scale: float = 1.0, weight: object = None) -> Examples:
    rng = np.random.default_rng(0)
    return Examples(
        TASK,
        numeric=scale * rng.normal(size=(ROWS, 3)),
        categorical=rng.integers(4, size=(ROWS, 1)),
        target=target * rng.normal(size=ROWS),
        weight=weight,
    )


@pytest.fixture(params=["compiled", "torch"])
def engine(request):
    if request.param == "torch":
        pytest.importorskip("torch")
    return request.param


@pytest.mark.parametrize("child", [(), (9,), (4, 5)], ids=str)
@pytest.mark.parametrize("optimizer", [SGD(), SGD(momentum=0.9), Adam()], ids=repr)
@pytest.mark.parametrize(
    "bad", [examples(1e25), examples(8e18, scale=1e3)], ids=["loss", "gradient"]
)
def test_nothing_moves(engine, optimizer, child, bad):
    net = SuperNet(SPACE, TASK, optimizer=optimizer, engine=engine, workers=2)
    child = Architecture(child)
    net.train_step(child, examples(1.0), slice(0, ROWS), 0.01)
    before = net.state()
    with pytest.raises(NonFiniteLossError):
        net.train_step(child, bad, slice(0, ROWS), 0.01)
    halves = [slice(0, ROWS // 2), slice(ROWS // 2, ROWS)]
    with pytest.raises(NonFiniteLossError):
        net.train_step_workers([child, Architecture((9, 5))], bad, halves, 0.01)
    for name, array in net.state().items():
        np.testing.assert_array_equal(array, before[name])
    with pytest.raises(TabnasError, match="has no gradient"):
        net.gradients(child, bad)


def test_large_gradients_that_fit_are_taken(engine):
    """As long as it can be computed with, a large gradient is no reason to stop."""
    net = SuperNet(SPACE, TASK, engine=engine)
    for _ in range(5):
        net.train_step(Architecture((9,)), examples(1e12), slice(0, ROWS), 0.01)
    assert all(np.isfinite(array).all() for array in net.state().values())


@pytest.mark.parametrize("weight", [1e-44, 1e-30, 3e38])
def test_only_proportions_of_row_weights_matter(engine, weight):
    child = Architecture((9,))
    plain, scaled = (
        Trainer(
            SuperNet.standalone(child, TASK, engine=engine),
            child,
            examples(1.0, weight=np.full(ROWS, w)),
            Training(epochs=3, batch_size=5, schedule=Constant(0.01)),
        ).run()
        for w in (1.0, weight)
    )
    assert scaled.training_losses == pytest.approx(plain.training_losses, rel=1e-4)


@given(
    target=st.floats(-30, 38),
    scale=st.floats(-30, 38),
    weight=st.floats(-44, 38),
    rate=st.floats(-6, 15),
    adam=st.booleans(),
    seed=st.integers(0, 99),
)
def test_a_training_ends_finite_or_in_a_clear_error(target, scale, weight, rate, adam, seed):
    """Whatever the sizes of inputs, targets, weights and steps."""
    rng = np.random.default_rng(seed)
    sized = Examples(
        TASK,
        numeric=np.clip(rng.normal(size=(ROWS, 3)), -3, 3) * 10**scale,
        categorical=rng.integers(4, size=(ROWS, 1)),
        target=np.clip(rng.normal(size=ROWS), -3, 3) * 10**target,
        weight=10 ** rng.uniform(min(weight, 0), max(weight, 0), size=ROWS),
    )
    child = Architecture(((), (4,), (9, 5))[seed % 3])
    net = SuperNet.standalone(child, TASK, optimizer=Adam() if adam else SGD(momentum=0.9))
    training = Training(epochs=6, batch_size=5, schedule=Constant(10**rate), seed=seed)
    trainer = Trainer(net, child, sized, training, sized)
    try:
        result = trainer.run()
    except NonFiniteLossError:
        return
    assert np.isfinite(result.best_loss)
    assert np.isfinite([*result.training_losses, *result.validation_losses]).all()
    assert all(np.isfinite(array).all() for array in net.weights().values())
    assert np.isfinite(net.logits(child, sized)).all()
