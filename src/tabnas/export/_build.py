"""A model as an ONNX graph: the whole way from columns to answers, or the network's part of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any

from onnx import ModelProto

from tabnas.errors import InfeasibleError, TabNASError
from tabnas.export._answers import Answer, add_answers
from tabnas.export._graph import ELEMENT_TYPES, OPSET, Graph
from tabnas.export._inputs import column_input
from tabnas.export._network import CODES, NUMERIC, RAW, Int8, Weight, add_network, network_inputs
from tabnas.export._preprocessing import add_preprocessing
from tabnas.model import Model

MOST_PARAMETERS = 400_000_000
"""Of 4 bytes each: a file in one piece has at most 2 GiB, and vocabularies want some of it."""

MEASURED = "measured on one machine when the model was made, and not checked again; see its run"
"""Of limits whose cost is not among the model's own."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Built:
    """A graph, and what its ends mean."""

    proto: ModelProto
    outputs: tuple[Answer, ...]
    weights_only: bool

    @cached_property
    def data(self) -> bytes:
        """The file, the same bytes for the same model."""
        return self.proto.SerializeToString(deterministic=True)  # type: ignore[no-any-return]

    @property
    def inputs(self) -> dict[str, str]:
        """The types of the inputs, by name."""
        names = {number: name for name, number in ELEMENT_TYPES.items()}
        found = self.proto.graph.input
        return {value.name: names[value.type.tensor_type.elem_type] for value in found}

    @property
    def opsets(self) -> dict[str, int]:
        """Versions of the sets of operations that it needs."""
        return {found.domain or "ai.onnx": found.version for found in self.proto.opset_import}

    def name_of(self, role: str) -> str | None:
        """What the output of that role is called in the file, if there is one."""
        return next((answer.name for answer in self.outputs if answer.role == role), None)


def build(model: Model, weights: Mapping[str, Weight], *, weights_only: bool) -> Built:
    """The graph of a model with these weights, which may be stored otherwise than its own."""
    _refuse_broken_limits(model)
    if model.costs["parameters"] > MOST_PARAMETERS:
        raise TabNASError(
            f"a file in one piece must have at most {MOST_PARAMETERS:,} parameters, but the "
            f"model has {model.costs['parameters']:,}; search within a smaller limit"
        )
    if weights_only:
        graph = Graph(reserved=(NUMERIC, CODES))
        ends = network_inputs(graph, model.task)
    else:
        graph = Graph(reserved=(column.name for column in model.encoder.columns))
        ends = add_preprocessing(graph, model.encoder)
    raw = graph.free(RAW)
    add_network(graph, model.architecture, model.task, weights, *ends, name=raw)
    answers = []
    if weights_only:
        words = "the network's outputs: logits, or the scaled quantity"
        graph.output(raw, "float32", [model.task.outputs], words)
        answers.append(Answer(name=raw, role=RAW, dtype="float32", words=words))
    answers += add_answers(graph, model.target, raw, labels=not weights_only)
    if graph.parameters != model.costs["parameters"]:
        raise TabNASError(
            f"the file must hold the {model.costs['parameters']:,} parameters of the model, "
            f"but it holds {graph.parameters:,}"
        )
    int8 = any(isinstance(array, Int8) for array in weights.values())
    metadata = _metadata(model, answers, weights_only=weights_only, int8=int8)
    proto = graph.finished(f"{model.target.task} of {model.target.name!r} by tabnas", metadata)
    return Built(proto=proto, outputs=tuple(answers), weights_only=weights_only)


def _refuse_broken_limits(model: Model) -> None:
    for name, most in model.limits.items():
        if name in model.costs and model.costs[name] > most:
            raise InfeasibleError(
                f"the limit on {name} must be kept, at most {most:,}, but the model needs "
                f"{model.costs[name]:,}"
            )


def _metadata(
    model: Model, answers: list[Answer], *, weights_only: bool, int8: bool
) -> dict[str, str]:
    """What the file says of itself; everything but plain words is JSON."""
    told: dict[str, Any] = {
        "architecture": str(model.architecture),
        "weights": "int8" if int8 else "float32",
        "costs": dict(model.costs),
        "limits": dict(model.limits),
        "target": model.target.name,
        "task": model.target.task,
        "classes": list(model.classes),
        "outputs": {answer.name: answer.to_dict() for answer in answers},
        "opset": OPSET,
        "versions": {name: version(name) for name in ("tabnas", "onnx")},
    }
    if weights_only:
        told["form"] = "weights only"
        told["numeric_features"] = list(model.encoder.features)
        told["code_columns"] = [c.name for c in model.encoder.columns if c.categories]
        told["encoder"] = model.encoder.to_dict()
    else:
        told["form"] = "table"
        told["columns"] = {c.name: column_input(c).to_dict() for c in model.encoder.columns}
        told["columns_ignored"] = list(model.encoder.dropped)
    measured = [name for name in model.limits if name not in model.costs]
    if measured:  # nobody can count what was measured; the model holds the limit, not the result
        told["limits_measured"] = dict.fromkeys(measured, MEASURED)
    return {
        f"tabnas.{name}": said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        for name, said in told.items()
    }
