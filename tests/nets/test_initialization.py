"""Initial weights: their distribution and their dependence on the seed."""

from __future__ import annotations

import numpy as np
import pytest

from tabnas.nets._initialization import init_weights
from tabnas.nets._shape import SuperNetShape
from tabnas.space import SearchSpace


def init(spec, candidates, seed, dimensions=()):
    space = SearchSpace(
        candidates,
        inputs=spec.inputs.width,
        outputs=spec.outputs,
        numeric_embeddings=spec.inputs.numeric_embeddings(dimensions) if dimensions else None,
    )
    return init_weights(SuperNetShape(space, spec), seed)


def test_variances_of_initial_weights(make_spec):
    spec = make_spec("softmax", numeric=400, embedded=False, outputs=500)
    weights = init(spec, [[300], [200]], seed=0)
    assert weights["layer.1.weight"].var() == pytest.approx(2 / 400, rel=0.02)
    assert weights["layer.2.weight"].var() == pytest.approx(2 / 300, rel=0.02)
    assert weights["head.2.weight"].var() == pytest.approx(1 / 200, rel=0.02)
    assert abs(weights["layer.1.weight"].mean()) < 1e-3
    assert not weights["layer.1.bias"].any()
    assert (weights["layer.1.scale"] == 1).all()


def test_an_initial_array_depends_on_the_seed_and_its_shape_only(make_spec):
    spec = make_spec("softmax")
    standalone, shared = init(spec, [[8], [4]], 3), init(spec, [[2, 8], [0, 4], [0, 7]], 3)
    for name in ("layer.1.weight", "layer.2.weight", "head.2.weight", "embedding.1"):
        np.testing.assert_array_equal(standalone[name], shared[name])
    assert not np.array_equal(standalone["embedding.1"], init(spec, [[8], [4]], 4)["embedding.1"])


def test_numeric_embeddings_begin_as_straight_lines_over_the_ranks_of_the_knots(make_spec):
    spec = make_spec("softmax", knots=[(0.0, 1.0, 100.0, 101.0, 5000.0), (), (-2.0, 3.0)])
    table = init(spec, [[8]], 3, dimensions=[0, 2, 4])["numeric_embedding"]
    assert table.shape == (4, 7)
    assert table.dtype == np.float32
    for column in (table[:, :5], table[:, 5:]):
        steps = np.diff(column, axis=1)
        np.testing.assert_allclose(steps, np.broadcast_to(steps[:, :1], steps.shape), rtol=1e-5)
        np.testing.assert_allclose(column, -column[:, ::-1], atol=1e-6)
        assert (np.abs(column) <= np.sqrt(3) + 1e-6).all()
    assert len(np.unique(table[:, [0, 5]])) == 8  # each line has its own slope
    other = init(spec, [[8]], 4, dimensions=[0, 2, 4])["numeric_embedding"]
    assert not np.array_equal(table, other)


def test_numeric_embeddings_change_no_other_initial_array_but_those_they_widen(make_spec):
    spec = make_spec("softmax", knots=True)
    without, embedded = init(spec, [[8], [0, 4]], 3), init(spec, [[8], [0, 4]], 3, [0, 2])
    for name in without.keys() - {"layer.1.weight"}:
        np.testing.assert_array_equal(without[name], embedded[name])
