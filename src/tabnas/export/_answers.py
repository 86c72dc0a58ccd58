"""From the network's outputs to answers: labels and probabilities, or values in their own units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from tabnas.data import ClassTarget, NumberTarget, Target
from tabnas.errors import TabNASError
from tabnas.export._graph import Graph

LABEL, PROBABILITIES, VALUE = "label", "probabilities", "value"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One output of a file."""

    name: str  # in the file: with underscores behind it, where a column has the name
    role: str
    dtype: str
    words: str

    def to_dict(self) -> dict[str, str]:
        """All but the name, fit for JSON."""
        return {"role": self.role, "type": self.dtype, "words": self.words}


def add_answers(graph: Graph, target: Target, raw: str, *, labels: bool = True) -> list[Answer]:
    """Add what the target makes of the outputs `raw`, and give it to the outside."""
    if isinstance(target, NumberTarget):
        return [_add_value(graph, target, raw)]
    assert isinstance(target, ClassTarget)
    answers = [_label(graph, target)] if labels else []
    answers.append(_add_probabilities(graph, target, raw))
    if labels:
        at = graph.node("ArgMax", answers[-1].name, axis=1, keepdims=0)
        known = graph.constant("classes", label_array(target))
        graph.node("Gather", known, at, axis=0, name=answers[0].name)
    return answers


def label_array(target: ClassTarget) -> NDArray[Any]:
    """The classes as a file holds them: texts, int64, float64 or bool."""
    first = target.classes[0]
    if isinstance(first, str):
        return np.array(target.classes, dtype=object)
    if isinstance(first, bool):
        return np.array(target.classes, dtype=np.bool_)
    if isinstance(first, float):
        return np.array(target.classes, dtype=np.float64)
    try:
        return np.array(target.classes, dtype=np.int64)
    except OverflowError:
        raise TabNASError(
            f"the classes of {target.name!r} must be integers of 64 bits for a file to name them, "
            f"but {max(target.classes)} is one; export the weights only"
        ) from None


def _label(graph: Graph, target: ClassTarget) -> Answer:
    array = label_array(target)
    dtype = "string" if array.dtype == object else str(array.dtype)
    name, words = graph.free(LABEL), f"the most probable class of {target.name!r}"
    graph.output(name, dtype, [], words)
    return Answer(name=name, role=LABEL, dtype=dtype, words=words)


def _add_probabilities(graph: Graph, target: ClassTarget, raw: str) -> Answer:
    if target.outputs == 1:  # the softmax of (0, z) is the logistic function, of both classes
        raw = graph.node("Mul", raw, graph.constant("both", np.array([[0, 1]], np.float32)))
    name, words = graph.free(PROBABILITIES), "of each class, in the order of `classes`"
    graph.node("Softmax", raw, axis=1, name=name)
    graph.output(name, "float32", [len(target.classes)], words)
    return Answer(name=name, role=PROBABILITIES, dtype="float32", words=words)


def _add_value(graph: Graph, target: NumberTarget, raw: str) -> Answer:
    x = graph.node("Cast", raw, to=TensorProto.DOUBLE)
    x = graph.node("Mul", x, graph.constant("deviation", np.float64(target.scale)))
    x = graph.node("Add", x, graph.constant("mean", np.float64(target.center)))
    largest = np.finfo(np.float64).max
    name, words = graph.free(VALUE), f"{target.name!r} in its own units"
    ends = [graph.constant("largest", np.float64(end)) for end in (-largest, largest)]
    graph.node("Clip", x, *ends, name=name)
    graph.output(name, "float64", [1], words)
    return Answer(name=name, role=VALUE, dtype="float64", words=words)
