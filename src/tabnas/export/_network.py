"""The network as a graph: embeddings, dense layers, layer normalization, ReLU."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto

from tabnas.errors import TabNASError
from tabnas.export._graph import Graph
from tabnas.model import (
    Int8Array,
    Model,
    Weight,
    center_weights,
    quantize_weights,
    weight_shapes,
)
from tabnas.nets import NORM_EPSILON, NUMERIC_EMBEDDING, Inputs, NetworkSpec
from tabnas.space import Architecture, Precision
from tabnas.types import Float32Array

NUMERIC, CODES, RAW = "numeric", "codes", "raw"


def network_weights(model: Model) -> dict[str, Weight]:
    """Return the weights that a file of the model holds."""
    match model.precision:  # rounded weights were centered before
        case Precision.INT8:
            return quantize_weights(model.weights)
        case Precision.FLOAT16:
            return {name: array.astype(np.float16) for name, array in model.weights.items()}
        case _:
            return dict(center_weights(model.weights))


def network_model(
    architecture: Architecture, spec: NetworkSpec, weights: Mapping[str, Float32Array]
) -> ModelProto:
    """Return a network without preprocessing as an ONNX model.

    Inputs are `numeric`, float32 [rows, numeric features], and `codes`, int64 [rows, categorical
    columns], if the network spec has them; the output is `raw`, float32 [rows, outputs]: logits, or
    standardized values. Codes must be below the number of categories of their column. Weights are
    named as in `SuperNet.standalone(...).weights()`.
    """
    graph = Graph(reserved=(NUMERIC, CODES, RAW))
    inputs = add_network_inputs(graph, spec)
    raw = add_network(graph, architecture, spec, center_weights(weights), *inputs)
    graph.add_output(raw, "float32", [spec.outputs], "the network's outputs")
    return graph.to_model(f"the network {architecture}", {"architecture": str(architecture)})


def add_network_inputs(graph: Graph, spec: NetworkSpec) -> tuple[str | None, str | None]:
    """Add inputs for encoded rows; return the names of numbers and codes, or None without any."""
    numeric, columns = spec.inputs.numeric, len(spec.inputs.category_embeddings)
    return (
        graph.add_input(NUMERIC, "float32", numeric, "encoded numbers") if numeric else None,
        graph.add_input(CODES, "int64", columns, "numbers of categories") if columns else None,
    )


def add_network(
    graph: Graph,
    architecture: Architecture,
    spec: NetworkSpec,
    weights: Mapping[str, Weight],
    numeric: str | None,
    codes: str | None,
    name: str = RAW,
) -> str:
    """Add the network to a graph and return the name of its outputs, which is `name`."""
    missing = sorted(weight_shapes(spec, architecture).keys() - weights.keys())
    if missing:
        raise TabNASError(
            f"the weights must be those of the architecture {architecture}, but {missing[0]} "
            "is missing"
        )
    x, order = _add_first_inputs(graph, spec, weights, numeric, codes)
    first = "layer.1.weight" if architecture.depth else "head.0.weight"
    weights = {**weights, first: _reorder(weights[first], order)}
    for layer in range(1, architecture.depth + 1):
        z = _add_dense(graph, f"layer.{layer}", weights, x)
        norm = [_add_vector(graph, f"layer.{layer}.{v}", weights) for v in ("scale", "shift")]
        z = graph.add_node("LayerNormalization", z, *norm, axis=-1, epsilon=NORM_EPSILON)
        x = graph.add_node("Relu", z)
    return _add_dense(graph, f"head.{architecture.depth}", weights, x, name)


def _add_first_inputs(
    graph: Graph,
    spec: NetworkSpec,
    weights: Mapping[str, Weight],
    numeric: str | None,
    codes: str | None,
) -> tuple[str, list[int]]:
    """Add the inputs of the first layer, and return for each its position in the network.

    Embedding tables of the same dimension are stacked and looked up at once: with a node for each
    column, lookups would take longer than a small network.
    """
    dimensions = [embedding.dimension for embedding in spec.inputs.category_embeddings]
    first = spec.inputs.numeric + np.cumsum([0, *dimensions])
    inputs = [] if numeric is None else [numeric]
    order = list(range(spec.inputs.numeric))
    for dimension in dict.fromkeys(dimensions):
        columns = [c for c, other in enumerate(dimensions) if other == dimension]
        assert codes is not None
        inputs.append(_add_lookup(graph, spec, weights, codes, columns))
        order += [int(first[column]) + unit for column in columns for unit in range(dimension)]
    if NUMERIC_EMBEDDING in weights:
        assert numeric is not None
        embedded, dimension = _add_numeric_embeddings(
            graph, spec.inputs, weights[NUMERIC_EMBEDDING], numeric
        )
        inputs.append(embedded)
        number = len(spec.inputs.embedded_numeric)
        order += [
            int(first[-1]) + unit * number + column
            for column in range(number)
            for unit in range(dimension)
        ]
    joined = inputs[0] if len(inputs) == 1 else graph.add_node("Concat", *inputs, axis=1)
    return joined, order


def _add_numeric_embeddings(
    graph: Graph, inputs: Inputs, table: Weight, numeric: str
) -> tuple[str, int]:
    """Add the numeric embeddings of all columns, [rows, columns * dimension]; return the dimension.

    A value reads table[0] + sum of clip((value - knot[k]) / gap[k], 0, 1) * (table[k + 1] -
    table[k]) over all gaps: one clip and one product with a matrix for each column. Columns with
    fewer knots than others are filled up: with their last two knots in turns, whose rows equal the
    last one, so that these gaps change nothing. Rows are the last axis, so that operations run
    along many numbers, however few knots and dimensions there are.
    """
    columns = inputs.embedded_numeric
    most = max(len(inputs.knots[column]) for column in columns)
    knots = np.empty((len(columns), most, 1), np.float32)
    place = np.empty((len(columns), most), np.int64)  # of a column's knots among those of all
    begin = 0
    for i, column in enumerate(columns):
        own = np.array(inputs.knots[column], np.float32)
        knots[i, : len(own), 0] = own
        knots[i, len(own) :, 0] = np.resize(own[[-2, -1]], most - len(own))
        place[i] = begin + np.minimum(np.arange(most), len(own) - 1)
        begin += len(own)
    values = graph.add_node("Transpose", numeric, perm=[1, 0])
    if len(columns) < inputs.numeric:
        selected = graph.add_constant("embedded_columns", np.array(columns))
        values = graph.add_node("Gather", values, selected, axis=0)
    values = graph.add_node("Unsqueeze", values, graph.add_constant("axes", np.array([1])))
    knot = graph.add_constant("knots", knots)
    left, right = _add_gaps(graph, knot, axis=1, number=most)
    gap = graph.add_node("Sub", right, left)
    fraction = graph.add_node("Div", graph.add_node("Sub", values, left), gap)
    bounds = (graph.add_constant(name, np.float32(v)) for name, v in (("zero", 0), ("one", 1)))
    fraction = graph.add_node("Clip", fraction, *bounds)  # [columns, gaps, rows]
    rows, dimension = _add_table(graph, table, place)
    before, after = _add_gaps(graph, rows, axis=2, number=most)
    change = graph.add_node("MatMul", graph.add_node("Sub", after, before), fraction)
    first = graph.add_node("Slice", rows, *_add_range(graph, 0, 1, axis=2))
    read = graph.add_node("Add", change, first)  # [columns, dimension, rows]
    shape = graph.add_constant("embedded_shape", np.array([len(columns) * dimension, -1]))
    read = graph.add_node("Reshape", read, shape)
    return graph.add_node("Transpose", read, perm=[1, 0]), dimension


def _add_table(graph: Graph, table: Weight, place: NDArray[np.int64]) -> tuple[str, int]:
    """Add the rows of the tables, [columns, dimension, knots], and return the dimension."""
    array = table.values if isinstance(table, Int8Array) else table
    stacked = np.ascontiguousarray(array[:, place].transpose(1, 0, 2))
    name = graph.add_weight(NUMERIC_EMBEDDING, stacked, parameters=array.size)
    if isinstance(table, Int8Array):
        values = graph.add_node("Cast", name, to=TensorProto.FLOAT)
        scale = graph.add_constant(f"{NUMERIC_EMBEDDING}.scale", table.scale)
        name = graph.add_node("Mul", values, scale)
    return name, len(array)


def _add_gaps(graph: Graph, name: str, axis: int, number: int) -> tuple[str, str]:
    """Return all but the last and all but the first elements along an axis."""
    return (
        graph.add_node("Slice", name, *_add_range(graph, 0, number - 1, axis)),
        graph.add_node("Slice", name, *_add_range(graph, 1, number, axis)),
    )


def _add_range(graph: Graph, start: int, end: int, axis: int) -> tuple[str, str, str]:
    start_, end_, axis_ = (
        graph.add_constant(name, np.array([number]))
        for name, number in (("start", start), ("end", end), ("axis", axis))
    )
    return start_, end_, axis_


def _add_lookup(
    graph: Graph, spec: NetworkSpec, weights: Mapping[str, Weight], codes: str, columns: list[int]
) -> str:
    """Look up embeddings of the same dimension, [rows, columns * dimension]."""
    embeddings = [spec.inputs.category_embeddings[column] for column in columns]
    tables = [weights[f"embedding.{column}"] for column in columns]
    if len(columns) == 1:
        column = graph.add_constant("column", np.int64(columns[0]))
        code = graph.add_node("Gather", codes, column, axis=1)
        matrix = _add_matrix(graph, f"embedding.{columns[0]}", tables[0])
        return graph.add_node("Gather", matrix, code)
    floats = [table for table in tables if not isinstance(table, Int8Array)]
    if len(floats) == len(tables):
        name = "embedding." + "-".join(map(str, columns))
        stacked = graph.add_weight(name, np.concatenate(floats))
    else:
        matrices = (
            _add_matrix(graph, f"embedding.{c}", w) for c, w in zip(columns, tables, strict=True)
        )
        stacked = graph.add_node("Concat", *matrices, axis=0)
    if len(columns) < len(spec.inputs.category_embeddings):
        selected = graph.add_constant("columns", np.array(columns))
        codes = graph.add_node("Gather", codes, selected, axis=1)
    begins = np.cumsum([0, *(embedding.categories for embedding in embeddings[:-1])])
    offsets = graph.add_node("Add", codes, graph.add_constant("begin", begins))
    rows = graph.add_node("Gather", stacked, offsets)
    width = len(columns) * embeddings[0].dimension
    return graph.add_node("Reshape", rows, graph.add_constant("side_by_side", np.array([0, width])))


def _reorder(weight: Weight, order: list[int]) -> Weight:
    if isinstance(weight, Int8Array):
        return Int8Array(values=weight.values[order], scale=weight.scale)
    return weight[order]


def _add_dense(
    graph: Graph, layer: str, weights: Mapping[str, Weight], x: str, name: str | None = None
) -> str:
    matrix = _add_matrix(graph, f"{layer}.weight", weights[f"{layer}.weight"])
    bias = _add_vector(graph, f"{layer}.bias", weights)
    return graph.add_node("Gemm", x, matrix, bias, name=name)


def _add_matrix(graph: Graph, name: str, weight: Weight) -> str:
    if not isinstance(weight, Int8Array):
        return graph.add_weight(name, weight)
    # runtimes compute a product of constants once, when they load the file; DequantizeLinear is
    # computed by ONNX Runtime for every batch, which takes up to three times as long
    values = graph.add_node("Cast", graph.add_weight(name, weight.values), to=TensorProto.FLOAT)
    return graph.add_node("Mul", values, graph.add_constant(f"{name}.scale", weight.scale))


def _add_vector(graph: Graph, name: str, weights: Mapping[str, Weight]) -> str:
    vector = weights[name]
    assert not isinstance(vector, Int8Array)  # vectors are small and never quantized
    return graph.add_weight(name, vector)
