"""Initial weights: their distribution and their dependence on the seed."""

from __future__ import annotations

import numpy as np
import pytest

from tabnas.nets._initialization import init_weights
from tabnas.nets._shape import SuperNetShape
from tabnas.space import SearchSpace


def init(task, candidates, seed):
    space = SearchSpace(candidates, inputs=task.inputs.width, outputs=task.outputs)
    return init_weights(SuperNetShape(space, task), seed)


def test_variances_of_initial_weights(make_task):
    task = make_task("softmax", numeric=400, embedded=False, outputs=500)
    weights = init(task, [[300], [200]], seed=0)
    assert weights["layer.1.weight"].var() == pytest.approx(2 / 400, rel=0.02)
    assert weights["layer.2.weight"].var() == pytest.approx(2 / 300, rel=0.02)
    assert weights["head.2.weight"].var() == pytest.approx(1 / 200, rel=0.02)
    assert abs(weights["layer.1.weight"].mean()) < 1e-3
    assert not weights["layer.1.bias"].any()
    assert (weights["layer.1.scale"] == 1).all()


def test_an_initial_array_depends_on_the_seed_and_its_shape_only(make_task):
    task = make_task("softmax")
    standalone, shared = init(task, [[8], [4]], 3), init(task, [[2, 8], [0, 4], [0, 7]], 3)
    for name in ("layer.1.weight", "layer.2.weight", "head.2.weight", "embedding.1"):
        np.testing.assert_array_equal(standalone[name], shared[name])
    assert not np.array_equal(standalone["embedding.1"], init(task, [[8], [4]], 4)["embedding.1"])
