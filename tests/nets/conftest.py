"""Small network specs and random examples that the tests of the networks share."""

from __future__ import annotations

import numpy as np
import pytest

from tabnas.nets import (
    Embedding,
    Examples,
    Inputs,
    NetworkSpec,
    _stretches,
    mix_targets,
    top_classes,
)

KNOTS = ((-1.0, -0.25, 0.0, 0.5, 1.25), (), (-0.5, 1.0))  # of three numeric columns
OUTPUTS = {"logistic": 1, "softmax": 5, "squared_error": 2}


@pytest.fixture
def single_steps(monkeypatch):
    """Let every call of an engine take one step, so that `on_step` is called before each."""
    monkeypatch.setattr(_stretches, "MAX_STEPS", 1)


@pytest.fixture
def make_spec():
    """Make a network spec of any loss, with or without numeric columns, embeddings and knots."""

    def make(loss="logistic", *, numeric=3, embedded=True, outputs=None, knots=False):
        tables = [Embedding(categories=4, dimension=2), Embedding(categories=6, dimension=9)]
        inputs = Inputs(
            numeric=numeric,
            category_embeddings=tables if embedded else [],
            knots=KNOTS if knots is True else knots or (),
        )
        return NetworkSpec(inputs=inputs, loss=loss, outputs=outputs or OUTPUTS[loss])

    return make


@pytest.fixture
def make_examples():
    """Make random rows for a spec; `soft`: "probabilities" or "top classes" as its target."""

    def make(spec, rows, *, weighted=False, seed=0, soft=None):
        rng = np.random.default_rng(seed)
        categorical = np.zeros((rows, len(spec.inputs.category_embeddings)), np.int32)
        for column, embedding in enumerate(spec.inputs.category_embeddings):
            categorical[:, column] = rng.integers(0, embedding.categories, rows)
        targets = {
            "logistic": lambda: rng.integers(0, 2, rows),
            "softmax": lambda: rng.integers(0, spec.outputs, rows),
            "squared_error": lambda: rng.normal(size=(rows, spec.outputs)),
        }
        target = targets[spec.loss]()
        if soft is not None:
            answers = np.random.default_rng(seed + 1).dirichlet(np.ones(spec.outputs), rows)
            answers = answers if soft == "probabilities" else top_classes(answers, 2)
            target = mix_targets(spec, target, answers, 0.7)
        return Examples(
            spec,
            numeric=rng.normal(size=(rows, spec.inputs.numeric)),
            categorical=categorical,
            target=target,
            weight=rng.uniform(0.0, 2.0, rows) if weighted else None,
        )

    return make
