"""A graph in the making: nodes in the order in which they are computed, names given once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

OPSET = 17
"""The first with LayerNormalization as one operation."""
ML_OPSET = 3
ML = "ai.onnx.ml"  # the domain of LabelEncoder
IR_VERSION = 8  # that came with opset 17
ROWS = "rows"  # the name of the dimension that is free

ELEMENT_TYPES: dict[str, int] = {
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "int64": TensorProto.INT64,
    "bool": TensorProto.BOOL,
    "string": TensorProto.STRING,
}


class Graph:
    """Collects nodes and constants; values inside are named so that no column's name is taken."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._taken = set(reserved)
        self._nodes: list[NodeProto] = []
        self._constants: list[TensorProto] = []
        self._inputs: list[ValueInfoProto] = []
        self._outputs: list[ValueInfoProto] = []
        self.parameters = 0
        """Trained numbers so far, but they are stored."""

    def free(self, name: str) -> str:
        """The name, with as many underscores behind it as it takes to be nobody else's."""
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def input(self, name: str, dtype: str, width: int, words: str) -> str:
        """A matrix [rows, width] from outside. Its name must be reserved or free."""
        self._taken.add(name)
        self._inputs.append(_value(name, dtype, [ROWS, width], words))
        return name

    def output(self, name: str, dtype: str, shape: Sequence[int], words: str) -> None:
        """Give a value that is computed to the outside, [rows, *shape]."""
        self._outputs.append(_value(name, dtype, [ROWS, *shape], words))

    def constant(self, name: str, array: Any) -> str:
        """A constant that is no weight; texts are an array of objects."""
        name = self.free(name)
        self._constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weight(self, name: str, array: NDArray[Any]) -> str:
        """A constant that was trained."""
        self.parameters += array.size
        return self.constant(name, array)

    def node(
        self, operation: str, *inputs: str, name: str | None = None, domain: str = "", **given: Any
    ) -> str:
        """Compute something; returns the name of what comes out, which is `name` if given."""
        out = self.free(operation.lower()) if name is None else name
        self._nodes.append(helper.make_node(operation, inputs, [out], domain=domain, **given))
        return out

    def finished(self, words: str, metadata: dict[str, str]) -> ModelProto:
        """The model of all that was collected."""
        graph = helper.make_graph(
            self._nodes, "tabnas", self._inputs, self._outputs, self._constants, doc_string=words
        )
        domains = {node.domain for node in self._nodes}
        opsets = [helper.make_opsetid("", OPSET)]
        if ML in domains:
            opsets.append(helper.make_opsetid(ML, ML_OPSET))
        model = helper.make_model(
            graph,
            opset_imports=opsets,
            ir_version=IR_VERSION,
            producer_name="tabnas",
            producer_version=version("tabnas"),
            doc_string=words,
        )
        helper.set_model_props(model, metadata)
        return model


def _value(name: str, dtype: str, shape: Sequence[int | str], words: str) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, ELEMENT_TYPES[dtype], shape, doc_string=words)
