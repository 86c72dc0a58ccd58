"""Initial weights: their distribution, and what they depend on."""

from __future__ import annotations

import numpy as np
import pytest

from tabnas.nets._initialization import init_weights
from tabnas.nets._shape import SuperNetShape
from tabnas.space import SearchSpace


def weights(task, candidates, seed):
    space = SearchSpace(candidates, inputs=task.inputs.width, outputs=task.outputs)
    return init_weights(SuperNetShape(space, task), seed)


def test_variances(make_task):
    task = make_task("softmax", numeric=400, embedded=False, outputs=500)
    drawn = weights(task, [[300], [200]], seed=0)
    assert drawn["layer.1.weight"].var() == pytest.approx(2 / 400, rel=0.02)
    assert drawn["layer.2.weight"].var() == pytest.approx(2 / 300, rel=0.02)
    assert drawn["head.2.weight"].var() == pytest.approx(1 / 200, rel=0.02)
    assert abs(drawn["layer.1.weight"].mean()) < 1e-3
    assert not drawn["layer.1.bias"].any()
    assert (drawn["layer.1.scale"] == 1).all()


def test_an_array_depends_on_the_seed_and_its_own_shape_alone(make_task):
    task = make_task("softmax")
    alone, shared = weights(task, [[8], [4]], 3), weights(task, [[2, 8], [0, 4], [0, 7]], 3)
    for name in ("layer.1.weight", "layer.2.weight", "head.2.weight", "embedding.1"):
        np.testing.assert_array_equal(alone[name], shared[name])
    assert not np.array_equal(alone["embedding.1"], weights(task, [[8], [4]], 4)["embedding.1"])
