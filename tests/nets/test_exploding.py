"""Trainings with numbers near the limits of float32; `check_engine` tests single steps."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tabnas.nets import (
    SGD,
    Adam,
    Constant,
    Embedding,
    Examples,
    Inputs,
    NetworkSpec,
    NonFiniteLossError,
    SuperNet,
    Trainer,
    TrainingSettings,
)
from tabnas.space import Architecture

INPUTS = Inputs(numeric=3, category_embeddings=(Embedding(categories=4, dimension=2),))
SPEC = NetworkSpec(inputs=INPUTS, loss="squared_error")
ROWS = 12


@given(
    target=st.floats(-30, 38),
    scale=st.floats(-30, 38),
    weight=st.floats(-44, 38),
    rate=st.floats(-6, 15),
    adam=st.booleans(),
    seed=st.integers(0, 99),
)
def test_a_training_ends_finite_or_in_a_clear_error(target, scale, weight, rate, adam, seed):
    """Inputs, targets, weights and learning rates have any size."""
    rng = np.random.default_rng(seed)
    examples = Examples(
        SPEC,
        numeric=np.clip(rng.normal(size=(ROWS, 3)), -3, 3) * 10**scale,
        categorical=rng.integers(4, size=(ROWS, 1)),
        target=np.clip(rng.normal(size=ROWS), -3, 3) * 10**target,
        weight=10 ** rng.uniform(min(weight, 0), max(weight, 0), size=ROWS),
    )
    child = Architecture(((), (4,), (9, 5))[seed % 3])
    net = SuperNet.standalone(child, SPEC, optimizer=Adam() if adam else SGD(momentum=0.9))
    training = TrainingSettings(
        epochs=6,
        batch_size=5,
        schedule=Constant(10**rate),
        seed=seed,
        averaging=(0.0, 0.5, 3.0)[seed // 3 % 3],
    )
    trainer = Trainer(net, child, examples, training, examples)
    try:
        result = trainer.run()
    except NonFiniteLossError:
        return
    assert np.isfinite(result.best_loss)
    assert np.isfinite([*result.training_losses, *result.validation_losses]).all()
    assert all(np.isfinite(array).all() for array in net.weights().values())
    assert np.isfinite(net.logits(child, examples)).all()
