"""The network alone as a graph: embeddings, dense layers, normalisation, activation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto

from tabnas.errors import TabNASError
from tabnas.export._graph import Graph
from tabnas.nets import NORM_EPSILON, Task
from tabnas.space import Architecture

Float32Array = NDArray[np.float32]
NUMERIC, CODES, RAW = "numeric", "codes", "raw"


@dataclass(frozen=True, eq=False, kw_only=True)
class Int8:
    """Weights as 8-bit integers: `values * scale`, a scale for each column or one for all."""

    values: NDArray[np.int8]
    scale: Float32Array  # [columns] or []

    @property
    def floats(self) -> Float32Array:
        """The numbers that are meant, rounded as runtimes round them."""
        return np.asarray(self.values.astype(np.float32) * self.scale, np.float32)


Weight = Float32Array | Int8


def network_model(
    architecture: Architecture, task: Task, weights: Mapping[str, Float32Array]
) -> ModelProto:
    """The bare network as an ONNX model, from encoded rows to its outputs.

    Inputs are `numeric`, float32 [rows, numeric features], and `codes`, int64 [rows, categorical
    columns], as far as the task has them; the output is `raw`, float32 [rows, outputs]: logits, or
    scaled quantities. Codes must be below the number of categories of their column. Weights are
    named as `SuperNet.standalone(...).weights()` names them.
    """
    graph = Graph(reserved=(NUMERIC, CODES, RAW))
    ends = network_inputs(graph, task)
    raw = add_network(graph, architecture, task, centred(weights), *ends)
    graph.output(raw, "float32", [task.outputs], "the network's outputs")
    return graph.finished(f"the network {architecture}", {"architecture": str(architecture)})


def network_inputs(graph: Graph, task: Task) -> tuple[str | None, str | None]:
    """Encoded rows as inputs: the names of numbers and codes, or None where there are none."""
    numeric, columns = task.inputs.numeric, len(task.inputs.embeddings)
    return (
        graph.input(NUMERIC, "float32", numeric, "encoded numbers") if numeric else None,
        graph.input(CODES, "int64", columns, "numbers of categories") if columns else None,
    )


def add_network(
    graph: Graph,
    architecture: Architecture,
    task: Task,
    weights: Mapping[str, Weight],
    numeric: str | None,
    codes: str | None,
    name: str = RAW,
) -> str:
    """Add the network to a graph; returns the name of its outputs, which is `name`."""
    missing = sorted(_needed(architecture, task) - set(weights))
    if missing:
        raise TabNASError(
            f"the weights must be those of the architecture {architecture}, but {missing[0]} "
            "is missing"
        )
    x, order = _inputs(graph, task, weights, numeric, codes)
    first = "layer.1.weight" if architecture.depth else "head.0.weight"
    weights = {**weights, first: _reordered(weights[first], order)}
    for layer in range(1, architecture.depth + 1):
        z = _dense(graph, f"layer.{layer}", weights, x)
        scale, shift = (_vector(graph, f"layer.{layer}.{v}", weights) for v in ("scale", "shift"))
        normal = graph.node("LayerNormalization", z, scale, shift, axis=-1, epsilon=NORM_EPSILON)
        x = graph.node("Relu", normal)
    return _dense(graph, f"head.{architecture.depth}", weights, x, name)


def centred(weights: Mapping[str, Float32Array]) -> dict[str, Float32Array]:
    """Weights of a network that answers the same, whose hidden units have the mean 0 in each row.

    LayerNorm takes the mean off anyway. It is done to the weights beforehand because some runtimes
    compute a variance as E[z²] - E[z]², which has no digits left where the mean is large.
    """
    return {
        name: np.asarray(array - array.mean(axis=-1, keepdims=True, dtype=np.float64), np.float32)
        if name.startswith("layer.") and name.endswith(("weight", "bias"))
        else array
        for name, array in weights.items()
    }


def _needed(architecture: Architecture, task: Task) -> set[str]:
    hidden = {
        f"layer.{layer}.{part}"
        for layer in range(1, architecture.depth + 1)
        for part in ("weight", "bias", "scale", "shift")
    }
    head = {f"head.{architecture.depth}.{part}" for part in ("weight", "bias")}
    return hidden | head | {f"embedding.{c}" for c in range(len(task.inputs.embeddings))}


def _inputs(
    graph: Graph,
    task: Task,
    weights: Mapping[str, Weight],
    numeric: str | None,
    codes: str | None,
) -> tuple[str, list[int]]:
    """The first layer's inputs, and of which number each of them is in the network.

    Tables of the same dimension are stacked and looked up at once: a node for each column would
    take longer than small networks do.
    """
    dimensions = [embedding.dimension for embedding in task.inputs.embeddings]
    first = task.inputs.numeric + np.cumsum([0, *dimensions])
    pieces = [] if numeric is None else [numeric]
    order = list(range(task.inputs.numeric))
    for dimension in dict.fromkeys(dimensions):
        columns = [c for c, found in enumerate(dimensions) if found == dimension]
        assert codes is not None
        pieces.append(_looked_up(graph, task, weights, codes, columns))
        order += [int(first[column]) + unit for column in columns for unit in range(dimension)]
    joined = pieces[0] if len(pieces) == 1 else graph.node("Concat", *pieces, axis=1)
    return joined, order


def _looked_up(
    graph: Graph, task: Task, weights: Mapping[str, Weight], codes: str, columns: list[int]
) -> str:
    """Embeddings of one dimension, [rows, columns * dimension]."""
    embeddings = [task.inputs.embeddings[column] for column in columns]
    found = [weights[f"embedding.{column}"] for column in columns]
    if len(columns) == 1:
        code = graph.node("Gather", codes, graph.constant("column", np.int64(columns[0])), axis=1)
        return graph.node("Gather", _matrix(graph, f"embedding.{columns[0]}", found[0]), code)
    tables = [w for w in found if not isinstance(w, Int8)]
    if len(tables) == len(found):
        name = "embedding." + "-".join(map(str, columns))
        table = graph.weight(name, np.concatenate(tables))
    else:
        unpacked = (
            _matrix(graph, f"embedding.{c}", w) for c, w in zip(columns, found, strict=True)
        )
        table = graph.node("Concat", *unpacked, axis=0)
    if len(columns) < len(task.inputs.embeddings):
        codes = graph.node("Gather", codes, graph.constant("columns", np.array(columns)), axis=1)
    begins = np.cumsum([0, *(embedding.categories for embedding in embeddings[:-1])])
    rows = graph.node("Gather", table, graph.node("Add", codes, graph.constant("begin", begins)))
    width = len(columns) * embeddings[0].dimension
    return graph.node("Reshape", rows, graph.constant("side_by_side", np.array([0, width])))


def _reordered(weight: Weight, order: list[int]) -> Weight:
    if isinstance(weight, Int8):
        return Int8(values=weight.values[order], scale=weight.scale)
    return np.ascontiguousarray(weight[order])


def _dense(
    graph: Graph, layer: str, weights: Mapping[str, Weight], x: str, name: str | None = None
) -> str:
    matrix = _matrix(graph, f"{layer}.weight", weights[f"{layer}.weight"])
    return graph.node("Gemm", x, matrix, _vector(graph, f"{layer}.bias", weights), name=name)


def _matrix(graph: Graph, name: str, weight: Weight) -> str:
    if not isinstance(weight, Int8):
        return graph.weight(name, weight)
    # a product of constants, which runtimes compute once, when they load the file; with
    # DequantizeLinear, ONNX Runtime does it for every batch and takes up to three times as long
    values = graph.node("Cast", graph.weight(name, weight.values), to=TensorProto.FLOAT)
    return graph.node("Mul", values, graph.constant(f"{name}.scale", weight.scale))


def _vector(graph: Graph, name: str, weights: Mapping[str, Weight]) -> str:
    found = weights[name]
    assert not isinstance(found, Int8)  # vectors are few, and stay as they are
    return graph.weight(name, found)
