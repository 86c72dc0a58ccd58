"""The arrays of a SuperNet, and the parts of them that a child uses."""

from __future__ import annotations

import pytest

from tabnas.errors import TabNASError
from tabnas.nets._shape import SuperNetShape
from tabnas.space import Architecture, SearchSpace


def test_one_head_per_allowed_depth(make_task):
    task = make_task("softmax", numeric=4, embedded=False)
    shape = SuperNetShape(SearchSpace([[2, 8], [0, 3], [0, 5]], inputs=4, outputs=5), task)
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
def test_depths_follow_from_the_candidates(make_task, candidates, depths):
    task = make_task(numeric=2, embedded=False)
    assert SuperNetShape(SearchSpace(candidates, inputs=2, outputs=1), task).depths == depths


def test_inputs_and_outputs_of_space_and_task_must_agree(make_task):
    task = make_task("softmax", numeric=2, embedded=False)
    with pytest.raises(TabNASError, match="as many inputs as the task, 2, got 3"):
        SuperNetShape(SearchSpace([[2]], inputs=3, outputs=5), task)
    with pytest.raises(TabNASError, match="as many outputs as the task, 5, got 4"):
        SuperNetShape(SearchSpace([[2]], inputs=2, outputs=4), task)
