"""The network as an ONNX graph, without preprocessing."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabnas.errors import TabNASError
from tabnas.export import OnnxSession, network_model
from tabnas.export._graph import Graph
from tabnas.export._int8 import quantize_weights
from tabnas.export._network import Int8Array, add_network, add_network_inputs, center_weights
from tabnas.nets import NORM_EPSILON, SGD, Embedding, Examples, Inputs, SuperNet, Task
from tabnas.space import Architecture


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    """Draw tasks with numbers, embeddings of equal or different dimensions, or both."""
    embedding = st.builds(Embedding, categories=st.integers(1, 5), dimension=st.integers(1, 3))
    embeddings = draw(st.lists(embedding, max_size=5))
    numeric = draw(st.integers(0 if embeddings else 1, 4))
    loss, outputs = draw(st.sampled_from([("logistic", 1), ("softmax", 3), ("squared_error", 1)]))
    inputs = Inputs(numeric=numeric, embeddings=embeddings)
    return Task(inputs=inputs, loss=loss, outputs=outputs)


def make_rows(task: Task, rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    numeric = rng.normal(size=(rows, task.inputs.numeric)).astype(np.float32)
    codes = [rng.integers(e.categories, size=rows) for e in task.inputs.embeddings]
    return numeric, np.array(codes, np.int64).reshape(-1, rows).T


def make_inputs(task: Task, numeric: np.ndarray, codes: np.ndarray) -> dict[str, np.ndarray]:
    arrays = {"numeric": numeric} if task.inputs.numeric else {}
    return arrays | ({"codes": codes} if task.inputs.embeddings else {})


@settings(max_examples=50)
@given(task=tasks(), widths=st.lists(st.integers(1, 9), max_size=3), seed=st.integers(0, 99))
def test_predicts_the_same_as_the_engine(task: Task, widths: list[int], seed: int) -> None:
    architecture = Architecture(tuple(widths))
    net = SuperNet.standalone(architecture, task, optimizer=SGD(), seed=seed)
    proto = network_model(architecture, task, net.weights())
    onnx.checker.check_model(proto, full_check=True)
    numeric, codes = make_rows(task, 7, seed)
    rows = Examples(task, numeric=numeric, categorical=codes.astype(np.int32))
    expected = net.logits(architecture, rows)
    for runtime in ("onnxruntime", "reference"):
        outputs = OnnxSession(proto.SerializeToString(), runtime).run(
            make_inputs(task, numeric, codes)
        )
        np.testing.assert_allclose(outputs["raw"], expected, rtol=1e-4, atol=1e-5)


def test_a_large_mean_before_the_normalisation_loses_no_precision() -> None:
    """Runtimes that compute the variance in one pass get weights of mean 0."""
    task, architecture = Task(inputs=Inputs(numeric=3), loss="logistic"), Architecture((8,))
    net = SuperNet.standalone(architecture, task, optimizer=SGD())
    weights = net.weights()
    weights["layer.1.bias"] += 1e3
    x, _ = make_rows(task, 50)
    wide = {name: array.astype(np.float64) for name, array in weights.items()}
    z = x @ wide["layer.1.weight"] + wide["layer.1.bias"]
    z -= z.mean(axis=1, keepdims=True)
    z /= np.sqrt((z**2).mean(axis=1, keepdims=True) + NORM_EPSILON)
    hidden = np.maximum(z * wide["layer.1.scale"] + wide["layer.1.shift"], 0)
    expected = hidden @ wide["head.1.weight"] + wide["head.1.bias"]

    def error(proto: onnx.ModelProto) -> float:
        outputs = OnnxSession(proto.SerializeToString(), "onnxruntime").run({"numeric": x})["raw"]
        return float(np.abs(outputs - expected).max())

    graph = Graph()
    raw = add_network(graph, architecture, task, weights, *add_network_inputs(graph, task))
    graph.add_output(raw, "float32", [1], "")
    assert error(network_model(architecture, task, weights)) < 1e-5
    assert error(graph.to_model("", {})) > 1e-4  # without centering


def test_the_graph_has_few_nodes() -> None:
    """A layer has three nodes; embeddings of the same dimension share a lookup."""
    embeddings = [Embedding(categories=9, dimension=d) for d in (2, 3, 2, 2, 3)]
    task = Task(inputs=Inputs(numeric=4, embeddings=embeddings), loss="softmax", outputs=3)
    architecture = Architecture((8, 4))
    net = SuperNet.standalone(architecture, task, optimizer=SGD())
    nodes = [n.op_type for n in network_model(architecture, task, net.weights()).graph.node]
    lookup = ["Gather", "Add", "Gather", "Reshape"]
    layer = ["Gemm", "LayerNormalization", "Relu"]
    assert nodes == [*lookup, *lookup, "Concat", *layer, *layer, "Gemm"]


def test_the_number_of_parameters_is_unchanged() -> None:
    task = Task(
        inputs=Inputs(numeric=2, embeddings=[Embedding(categories=5, dimension=2)] * 2),
        loss="logistic",
    )
    architecture = Architecture((3,))
    weights = SuperNet.standalone(architecture, task, optimizer=SGD()).weights()
    for arrays in (weights, center_weights(weights), quantize_weights(weights)):
        graph = Graph()
        add_network(graph, architecture, task, arrays, *add_network_inputs(graph, task))
        assert graph.parameters == sum(array.size for array in weights.values())


def test_weights_of_another_architecture_are_refused() -> None:
    task = Task(inputs=Inputs(numeric=2), loss="logistic")
    weights = SuperNet.standalone(Architecture((3,)), task, optimizer=SGD()).weights()
    with pytest.raises(TabNASError, match=r"must be those of .* 3-3, but head\.2\.bias"):
        network_model(Architecture((3, 3)), task, weights)


def test_int8_rounds_to_the_nearest_multiple_of_the_scale() -> None:
    numbers = np.array([[1.0, -50.0, 0.0], [0.5, 25.0, 0.0]], np.float32)
    quantized = quantize_weights(
        {"head.0.weight": numbers, "embedding.0": numbers, "head.0.bias": numbers[0]}
    )
    matrix, table = quantized["head.0.weight"], quantized["embedding.0"]
    assert isinstance(matrix, Int8Array)
    assert isinstance(table, Int8Array)
    assert matrix.values.tolist() == [[127, -127, 0], [64, 64, 0]]
    assert table.values.tolist() == [[3, -127, 0], [1, 64, 0]]
    assert np.abs(matrix.dequantized - numbers).max() <= 25 / 127
    assert quantized["head.0.bias"] is not None
    assert not isinstance(quantized["head.0.bias"], Int8Array)
