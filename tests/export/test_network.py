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
from tabnas.export._network import add_network, add_network_inputs
from tabnas.model import Int8Array, center_weights, quantize_weights
from tabnas.nets import NORM_EPSILON, SGD, Embedding, Examples, Inputs, NetworkSpec, SuperNet
from tabnas.space import Architecture


@st.composite
def specs(draw: st.DrawFn) -> NetworkSpec:
    """Draw network specs with numbers, with or without knots, with embeddings of equal or different
    dimensions, or with both.
    """
    embedding = st.builds(Embedding, categories=st.integers(1, 5), dimension=st.integers(1, 3))
    embeddings = draw(st.lists(embedding, max_size=5))
    numeric = draw(st.integers(0 if embeddings else 1, 4))
    loss, outputs = draw(st.sampled_from([("logistic", 1), ("softmax", 3), ("squared_error", 1)]))
    knots = st.lists(st.integers(-30, 30), min_size=2, max_size=7, unique=True)
    ragged = [sorted(draw(st.just([]) | knots)) for _ in range(numeric)]
    inputs = Inputs(
        numeric=numeric,
        category_embeddings=embeddings,
        knots=[[k / 10 for k in own] for own in ragged],
    )
    return NetworkSpec(inputs=inputs, loss=loss, outputs=outputs)


def make_rows(spec: NetworkSpec, rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    numeric = rng.normal(size=(rows, spec.inputs.numeric)).astype(np.float32)
    codes = [rng.integers(e.categories, size=rows) for e in spec.inputs.category_embeddings]
    return numeric, np.array(codes, np.int64).reshape(-1, rows).T


def make_inputs(spec: NetworkSpec, numeric: np.ndarray, codes: np.ndarray) -> dict[str, np.ndarray]:
    arrays = {"numeric": numeric} if spec.inputs.numeric else {}
    return arrays | ({"codes": codes} if spec.inputs.category_embeddings else {})


@settings(max_examples=50)
@given(
    spec=specs(),
    widths=st.lists(st.integers(1, 9), max_size=3),
    dimension=st.sampled_from([0, 1, 3]),
    seed=st.integers(0, 99),
)
def test_predicts_the_same_as_the_engine(
    spec: NetworkSpec, widths: list[int], dimension: int, seed: int
) -> None:
    architecture = Architecture(tuple(widths), dimension if spec.inputs.knots else 0)
    net = SuperNet.standalone(architecture, spec, optimizer=SGD(), seed=seed)
    proto = network_model(architecture, spec, net.weights())
    onnx.checker.check_model(proto, full_check=True)
    numeric, codes = make_rows(spec, 7, seed)
    rows = Examples(spec, numeric=numeric, categorical=codes.astype(np.int32))
    expected = net.logits(architecture, rows)
    for runtime in ("onnxruntime", "reference"):
        outputs = OnnxSession(proto.SerializeToString(), runtime).run(
            make_inputs(spec, numeric, codes)
        )
        np.testing.assert_allclose(outputs["raw"], expected, rtol=1e-4, atol=1e-5)


def test_a_large_mean_before_the_normalisation_loses_no_precision() -> None:
    """Runtimes that compute the variance in one pass get weights of mean 0."""
    spec, architecture = NetworkSpec(inputs=Inputs(numeric=3), loss="logistic"), Architecture((8,))
    net = SuperNet.standalone(architecture, spec, optimizer=SGD())
    weights = net.weights()
    weights["layer.1.bias"] += 1e3
    x, _ = make_rows(spec, 50)
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
    raw = add_network(graph, architecture, spec, weights, *add_network_inputs(graph, spec))
    graph.add_output(raw, "float32", [1], "")
    assert error(network_model(architecture, spec, weights)) < 1e-5
    assert error(graph.to_model("", {})) > 1e-4  # without centering


def test_the_graph_has_few_nodes() -> None:
    """A layer has three nodes; embeddings of the same dimension share a lookup."""
    embeddings = [Embedding(categories=9, dimension=d) for d in (2, 3, 2, 2, 3)]
    spec = NetworkSpec(
        inputs=Inputs(numeric=4, category_embeddings=embeddings), loss="softmax", outputs=3
    )
    architecture = Architecture((8, 4))
    net = SuperNet.standalone(architecture, spec, optimizer=SGD())
    nodes = [n.op_type for n in network_model(architecture, spec, net.weights()).graph.node]
    lookup = ["Gather", "Add", "Gather", "Reshape"]
    layer = ["Gemm", "LayerNormalization", "Relu"]
    assert nodes == [*lookup, *lookup, "Concat", *layer, *layer, "Gemm"]


@pytest.mark.parametrize("dimension", [0, 2])
def test_the_number_of_parameters_is_unchanged(dimension: int) -> None:
    """Columns of fewer knots are filled up in the file, which adds no parameters."""
    spec = NetworkSpec(
        inputs=Inputs(
            numeric=2,
            category_embeddings=[Embedding(categories=5, dimension=2)] * 2,
            knots=[(0, 1, 2, 3), (0, 2)],
        ),
        loss="logistic",
    )
    architecture = Architecture((3,), dimension)
    weights = SuperNet.standalone(architecture, spec, optimizer=SGD()).weights()
    for arrays in (weights, center_weights(weights), quantize_weights(weights)):
        graph = Graph()
        add_network(graph, architecture, spec, arrays, *add_network_inputs(graph, spec))
        assert graph.parameters == sum(array.size for array in weights.values())


def test_values_beyond_and_on_the_knots() -> None:
    """Columns have 2, 0 and 4 knots, and the values are extremes, knots and their neighbours."""
    knots = [(-1.0, 2.0), (), (0.0, 0.5, 0.75, 1e6)]
    spec = NetworkSpec(inputs=Inputs(numeric=3, knots=knots), loss="squared_error")
    architecture = Architecture((), 3)
    net = SuperNet.standalone(architecture, spec, optimizer=SGD(), seed=1)
    values = np.array([k for own in knots for k in own] + [-3e38, 3e38, 0.25, 0.7], np.float32)
    above = np.nextafter(values, np.float32(np.inf))
    numeric = np.stack([np.r_[values, above]] * 3, axis=1)
    numeric[:, 1] = 0
    weights = net.weights()
    for k in range(6):  # each embedding alone
        weights["head.0.weight"] = np.eye(3 + 6, 1, -(3 + k), dtype=np.float32)
        net.load_weights(weights)
        expected = net.logits(architecture, Examples(spec, numeric=numeric))
        proto = network_model(architecture, spec, weights)
        for runtime in ("onnxruntime", "reference"):
            raw = OnnxSession(proto.SerializeToString(), runtime).run({"numeric": numeric})["raw"]
            np.testing.assert_allclose(raw, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("largest", [1.0, 1e-30, 1.7e38])
def test_columns_of_fewer_knots_are_filled_up_in_the_range_of_float32(largest: float) -> None:
    knots = [(-largest, 0.0, largest), tuple(range(9))]
    spec = NetworkSpec(inputs=Inputs(numeric=2, knots=knots), loss="squared_error")
    architecture = Architecture((4,), 1)
    net = SuperNet.standalone(architecture, spec, optimizer=SGD())
    weights = net.weights()
    weights["layer.1.weight"][:2] = 0  # the values themselves would overflow
    net.load_weights(weights)
    numeric = np.array([[x * largest, 3.3] for x in (-1.5, -1, -0.5, 0, 0.1, 1, 1.9)], np.float32)
    expected = net.logits(architecture, Examples(spec, numeric=numeric))
    proto = network_model(architecture, spec, weights)
    raw = OnnxSession(proto.SerializeToString(), "onnxruntime").run({"numeric": numeric})["raw"]
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(raw, expected, rtol=1e-5, atol=1e-5)


def test_weights_of_another_architecture_are_refused() -> None:
    spec = NetworkSpec(inputs=Inputs(numeric=2), loss="logistic")
    weights = SuperNet.standalone(Architecture((3,)), spec, optimizer=SGD()).weights()
    with pytest.raises(TabNASError, match=r"must be those of .* 3-3, but head\.2\.bias"):
        network_model(Architecture((3, 3)), spec, weights)


def test_int8_has_a_scale_for_each_dimension_of_numeric_embeddings() -> None:
    numbers = np.array([[1.0, -0.51, 0.25], [100.0, 51.0, 0.0]], np.float32)
    table = quantize_weights({"numeric_embedding": numbers})["numeric_embedding"]
    assert isinstance(table, Int8Array)
    assert table.values.tolist() == [[127, -65, 32], [127, 65, 0]]
    np.testing.assert_allclose(table.scale, [[1 / 127], [100 / 127]], rtol=2.0**-16)
    assert (np.abs(table.dequantized - numbers) <= 0.5001 * table.scale).all()


def test_int8_rounds_to_the_nearest_multiple_of_the_scale() -> None:
    numbers = np.array([[1.0, -50.0, 0.0], [0.51, 25.5, 0.0]], np.float32)
    quantized = quantize_weights(
        {"head.0.weight": numbers, "embedding.0": numbers, "head.0.bias": numbers[0]}
    )
    matrix, table = quantized["head.0.weight"], quantized["embedding.0"]
    assert isinstance(matrix, Int8Array)
    assert isinstance(table, Int8Array)
    assert matrix.values.tolist() == [[127, -127, 0], [65, 65, 0]]
    assert table.values.tolist() == [[3, -127, 0], [1, 65, 0]]
    assert np.abs(matrix.dequantized - numbers).max() <= 25 / 127
    assert quantized["head.0.bias"] is not None
    assert not isinstance(quantized["head.0.bias"], Int8Array)
