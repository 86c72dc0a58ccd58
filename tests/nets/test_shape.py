"""The arrays of a SuperNet, and the parts of them that a child uses."""

from __future__ import annotations

import pytest

from tabnas.errors import TabNASError
from tabnas.nets._shape import SuperNetShape
from tabnas.space import Architecture, NumericEmbeddings, SearchSpace


def test_one_head_per_allowed_depth(make_spec):
    spec = make_spec("softmax", numeric=4, embedded=False)
    shape = SuperNetShape(SearchSpace([[2, 8], [0, 3], [0, 5]], inputs=4, outputs=5), spec)
    assert shape.depths == (1, 2, 3)
    shapes = shape.shapes()
    assert shapes["layer.1.weight"] == (4, 8)
    assert shapes["head.1.weight"] == (8, 5)
    assert shapes["head.3.weight"] == (5, 5)
    assert "head.0.weight" not in shapes
    assert shape.child_shapes(shape.child(Architecture((2, 3)))) == {
        "layer.1.weight": (4, 2), "layer.1.bias": (2,), "layer.1.scale": (2,),
        "layer.1.shift": (2,), "layer.2.weight": (2, 3), "layer.2.bias": (3,),
        "layer.2.scale": (3,), "layer.2.shift": (3,), "head.2.weight": (3, 5), "head.2.bias": (5,),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("candidates", "depths"),
    [([[0]], (0,)), ([[0, 2]], (0, 1)), ([[2], [0], [0, 4]], (1,)), ([[3], [3]], (2,))],
)
def test_depths_follow_from_the_candidates(make_spec, candidates, depths):
    spec = make_spec(numeric=2, embedded=False)
    assert SuperNetShape(SearchSpace(candidates, inputs=2, outputs=1), spec).depths == depths


def test_a_child_uses_the_first_dimensions_of_numeric_embeddings(make_spec):
    spec = make_spec("softmax", embedded=False, knots=True)
    embeddings = spec.inputs.numeric_embeddings([0, 1, 3])
    space = SearchSpace([[0, 4, 8]], inputs=3, outputs=5, numeric_embeddings=embeddings)
    shape = SuperNetShape(space, spec)
    assert (shape.dimensions, shape.table_dimensions, shape.knots) == ((0, 1, 3), (1, 3), 7)
    shapes = shape.shapes()
    assert shapes["numeric_embedding"] == (3, 7)
    assert shapes["layer.1.weight"] == (3 + 3 * 2, 8)
    assert shape.hidden_layers[0].in_widths == shape.heads[0].in_widths == (3, 5, 9)
    for name, inputs in (("8", 3), ("d1-8", 5), ("d3-8", 9)):
        child = shape.child(Architecture.parse(name))
        parts = shape.child_shapes(child)
        assert parts["layer.1.weight"] == (inputs, 8)
        assert child.units.tolist() == [inputs, 8]
        assert parts.get("numeric_embedding", (0, 7)) == (child.architecture.dimension, 7)
    assert shape.child_shapes(shape.child(Architecture((), 3)))["head.0.weight"] == (9, 5)


def test_dimension_0_needs_no_table(make_spec):
    spec = make_spec("softmax", embedded=False, knots=True)
    embeddings = spec.inputs.numeric_embeddings([0])
    for layer in (embeddings, None):
        space = SearchSpace([[0, 4]], inputs=3, outputs=5, numeric_embeddings=layer)
        assert SuperNetShape(space, spec).knots == 0
        assert "numeric_embedding" not in SuperNetShape(space, spec).shapes()


def test_numeric_embeddings_of_space_and_spec_must_agree(make_spec):
    spec = make_spec("softmax", embedded=False, knots=True)
    for wrong in (NumericEmbeddings(columns=2, knots=8), NumericEmbeddings(columns=3, knots=7)):
        space = SearchSpace([[4]], inputs=3, outputs=5, numeric_embeddings=wrong)
        with pytest.raises(TabNASError, match="the numeric embeddings of the network spec"):
            SuperNetShape(space, spec)


def test_inputs_and_outputs_of_space_and_spec_must_agree(make_spec):
    spec = make_spec("softmax", numeric=2, embedded=False)
    with pytest.raises(TabNASError, match="as many inputs as the network spec, 2, got 3"):
        SuperNetShape(SearchSpace([[2]], inputs=3, outputs=5), spec)
    with pytest.raises(TabNASError, match="as many outputs as the network spec, 5, got 4"):
        SuperNetShape(SearchSpace([[2]], inputs=2, outputs=4), spec)
