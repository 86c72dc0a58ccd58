"""The outputs of an ONNX file: labels and probabilities, or values in the target's units."""

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
class OnnxOutput:
    """One output of a file."""

    name: str  # with underscores appended if a column has the same name
    role: str
    dtype: str
    description: str

    def to_dict(self) -> dict[str, str]:
        """Return everything but the name as plain values for JSON."""
        return {"role": self.role, "type": self.dtype, "description": self.description}


def add_outputs(graph: Graph, target: Target, raw: str, *, labels: bool = True) -> list[OnnxOutput]:
    """Add the outputs that follow from the network's outputs `raw` to the graph."""
    if isinstance(target, NumberTarget):
        return [_add_value(graph, target, raw)]
    assert isinstance(target, ClassTarget)
    outputs = [_add_label_output(graph, target)] if labels else []
    outputs.append(_add_probabilities(graph, target, raw))
    if labels:
        code = graph.add_node("ArgMax", outputs[-1].name, axis=1, keepdims=0)
        classes = graph.add_constant("classes", label_array(target))
        graph.add_node("Gather", classes, code, axis=0, name=outputs[0].name)
    return outputs


def label_array(target: ClassTarget) -> NDArray[Any]:
    """Return the classes as an array that ONNX supports: texts, int64, float64 or bool."""
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
            f"integer classes of {target.name!r} must fit into 64 bits, got "
            f"{max(target.classes)}; export the weights only"
        ) from None


def _add_label_output(graph: Graph, target: ClassTarget) -> OnnxOutput:
    array = label_array(target)
    dtype = "string" if array.dtype == object else str(array.dtype)
    name, description = graph.unique_name(LABEL), f"the most probable class of {target.name!r}"
    graph.add_output(name, dtype, [], description)
    return OnnxOutput(name=name, role=LABEL, dtype=dtype, description=description)


def _add_probabilities(graph: Graph, target: ClassTarget, raw: str) -> OnnxOutput:
    if target.outputs == 1:  # softmax of (0, z) gives both classes' probabilities
        both = graph.add_constant("both", np.array([[0, 1]], np.float32))
        raw = graph.add_node("Mul", raw, both)
    name, description = graph.unique_name(PROBABILITIES), "of each class, in the order of `classes`"
    graph.add_node("Softmax", raw, axis=1, name=name)
    graph.add_output(name, "float32", [len(target.classes)], description)
    return OnnxOutput(name=name, role=PROBABILITIES, dtype="float32", description=description)


def _add_value(graph: Graph, target: NumberTarget, raw: str) -> OnnxOutput:
    x = graph.add_node("Cast", raw, to=TensorProto.DOUBLE)
    x = graph.add_node("Mul", x, graph.add_constant("deviation", np.float64(target.scale)))
    x = graph.add_node("Add", x, graph.add_constant("mean", np.float64(target.center)))
    largest = np.finfo(np.float64).max
    name, description = graph.unique_name(VALUE), f"{target.name!r} in its own units"
    bounds = [graph.add_constant("largest", np.float64(end)) for end in (-largest, largest)]
    graph.add_node("Clip", x, *bounds, name=name)
    graph.add_output(name, "float64", [1], description)
    return OnnxOutput(name=name, role=VALUE, dtype="float64", description=description)
