"""A builder of ONNX graphs: nodes in the order of computation, with unique names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

OPSET = 17
"""The first operator set that has LayerNormalization."""
ML_OPSET = 3
ML = "ai.onnx.ml"  # the domain of LabelEncoder
IR_VERSION = 8  # the version that came with opset 17
ROWS = "rows"  # the name of the dynamic dimension

ELEMENT_TYPES: dict[str, int] = {
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "int64": TensorProto.INT64,
    "bool": TensorProto.BOOL,
    "string": TensorProto.STRING,
}


class Graph:
    """Collects nodes and constants. Names of columns are reserved for inputs."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._names = set(reserved)
        self._nodes: list[NodeProto] = []
        self._constants: list[TensorProto] = []
        self._inputs: list[ValueInfoProto] = []
        self._outputs: list[ValueInfoProto] = []
        self.parameters = 0
        """The number of trained numbers that were added."""

    def unique_name(self, name: str) -> str:
        """Return the name, with underscores appended until it is unique."""
        while name in self._names:
            name += "_"
        self._names.add(name)
        return name

    def add_input(self, name: str, dtype: str, width: int, description: str) -> str:
        """Add an input [rows, width]. Its name must be reserved or unused."""
        self._names.add(name)
        self._inputs.append(_value_info(name, dtype, [ROWS, width], description))
        return name

    def add_output(self, name: str, dtype: str, shape: Sequence[int], description: str) -> None:
        """Make the value of that name an output [rows, *shape]."""
        self._outputs.append(_value_info(name, dtype, [ROWS, *shape], description))

    def add_constant(self, name: str, array: Any) -> str:
        """Add a constant that was not trained and return its unique name."""
        name = self.unique_name(name)
        self._constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def add_weight(self, name: str, array: NDArray[Any], parameters: int | None = None) -> str:
        """Add a constant that was trained and return its unique name.

        All of it counts as parameters, unless their number is given. An array of float16 is
        converted to float32 by the runtime, once, when it loads the file.
        """
        self.parameters += array.size if parameters is None else parameters
        name = self.add_constant(name, array)
        is_half = array.dtype == np.float16
        return self.add_node("Cast", name, to=TensorProto.FLOAT) if is_half else name

    def add_node(
        self,
        operation: str,
        *inputs: str,
        name: str | None = None,
        domain: str = "",
        **attributes: Any,
    ) -> str:
        """Add a node with the given attributes and return the name of its output."""
        out = self.unique_name(operation.lower()) if name is None else name
        self._nodes.append(helper.make_node(operation, inputs, [out], domain=domain, **attributes))
        return out

    def to_model(self, description: str, metadata: dict[str, str]) -> ModelProto:
        """Return the graph as an ONNX model."""
        graph = helper.make_graph(
            self._nodes,
            "tabnas",
            self._inputs,
            self._outputs,
            self._constants,
            doc_string=description,
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
            doc_string=description,
        )
        helper.set_model_props(model, metadata)
        return model


def _value_info(
    name: str, dtype: str, shape: Sequence[int | str], description: str
) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, ELEMENT_TYPES[dtype], shape, doc_string=description)
