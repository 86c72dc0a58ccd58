"""A model as an ONNX graph, with or without the preprocessing of columns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any

from onnx import ModelProto

from tabnas.errors import TabNASError
from tabnas.export._graph import ELEMENT_TYPES, OPSET, Graph
from tabnas.export._inputs import column_input
from tabnas.export._network import (
    CODES,
    NUMERIC,
    RAW,
    add_network,
    add_network_inputs,
)
from tabnas.export._outputs import OnnxOutput, add_outputs
from tabnas.export._preprocessing import add_preprocessing
from tabnas.model import Model, Weight

MAX_PARAMETERS = 400_000_000
"""Each takes 4 bytes. ONNX files have at most 2 GiB, and vocabularies take some of it."""

MEASURED_NOTE = (
    "measured, or predicted by a latency table, when the model was made, not checked again; see "
    "its run"
)
"""The note on limits whose cost cannot be computed from the model."""


@dataclass(frozen=True, eq=False, kw_only=True)
class OnnxFile:
    """A graph and its outputs, not yet written to disk."""

    proto: ModelProto
    outputs: tuple[OnnxOutput, ...]
    weights_only: bool

    @cached_property
    def data(self) -> bytes:
        """The content of the file, the same bytes for the same model."""
        return self.proto.SerializeToString(deterministic=True)  # type: ignore[no-any-return]

    @property
    def inputs(self) -> dict[str, str]:
        """The types of the inputs by name."""
        names = {number: name for name, number in ELEMENT_TYPES.items()}
        return {
            value.name: names[value.type.tensor_type.elem_type] for value in self.proto.graph.input
        }

    @property
    def opsets(self) -> dict[str, int]:
        """The versions of the operator sets by domain."""
        return {opset.domain or "ai.onnx": opset.version for opset in self.proto.opset_import}

    def output_name(self, role: str) -> str | None:
        """Return the name of the output of that role, if there is one."""
        return next((output.name for output in self.outputs if output.role == role), None)


def build_file(model: Model, weights: Mapping[str, Weight], *, weights_only: bool) -> OnnxFile:
    """Build the graph of a model with these weights, which may be quantized ones."""
    model.check_limits()
    if model.costs["parameters"] > MAX_PARAMETERS:
        raise TabNASError(
            f"an ONNX file can hold at most {MAX_PARAMETERS:,} parameters, but the model has "
            f"{model.costs['parameters']:,}; search within a smaller limit"
        )
    if weights_only:
        graph = Graph(reserved=(NUMERIC, CODES))
        inputs = add_network_inputs(graph, model.spec)
    else:
        graph = Graph(reserved=(column.name for column in model.encoder.columns))
        inputs = add_preprocessing(graph, model.encoder)
    raw = graph.unique_name(RAW)
    add_network(graph, model.architecture, model.spec, weights, *inputs, name=raw)
    outputs = []
    if weights_only:
        description = "the network's outputs: logits, or standardized values"
        graph.add_output(raw, "float32", [model.spec.outputs], description)
        outputs.append(OnnxOutput(name=raw, role=RAW, dtype="float32", description=description))
    outputs += add_outputs(graph, model.target, raw, labels=not weights_only)
    if graph.parameters != model.costs["parameters"]:
        raise TabNASError(
            f"the file must hold the {model.costs['parameters']:,} parameters of the model, "
            f"but it holds {graph.parameters:,}"
        )
    metadata = _metadata(model, outputs, weights_only=weights_only)
    proto = graph.to_model(f"{model.target.task} of {model.target.name!r} by tabnas", metadata)
    return OnnxFile(proto=proto, outputs=tuple(outputs), weights_only=weights_only)


def _metadata(model: Model, outputs: list[OnnxOutput], *, weights_only: bool) -> dict[str, str]:
    """Return the metadata of the file; everything but texts is JSON."""
    metadata: dict[str, Any] = {
        "architecture": str(model.architecture),
        "weights": str(model.precision),
        "costs": dict(model.costs),
        "limits": dict(model.limits),
        "target": model.target.name,
        "task": model.target.task,
        "classes": list(model.classes),
        "outputs": {output.name: output.to_dict() for output in outputs},
        "opset": OPSET,
        "versions": {name: version(name) for name in ("tabnas", "onnx")},
    }
    if weights_only:
        metadata["form"] = "weights only"
        metadata["numeric_features"] = list(model.encoder.features)
        metadata["code_columns"] = [c.name for c in model.encoder.columns if c.n_categories]
        metadata["encoder"] = model.encoder.to_dict()
    else:
        metadata["form"] = "table"
        metadata["columns"] = {c.name: column_input(c).to_dict() for c in model.encoder.columns}
        metadata["columns_ignored"] = list(model.encoder.unused)
    measured = [name for name in model.limits if name not in model.costs]
    if measured:  # the model holds the limit, not what was measured
        metadata["limits_measured"] = dict.fromkeys(measured, MEASURED_NOTE)
    return {
        f"tabnas.{name}": value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in metadata.items()
    }
