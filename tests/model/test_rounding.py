"""Weights in a lower precision: exact, idempotent, and as large as `bytes` says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from safetensors import safe_open

from tabnas import InfeasibleError, TabNASError
from tabnas.model import (
    Int8Array,
    Model,
    center_weights,
    dequantize,
    load_model,
    quantize_weights,
    round_network,
    round_weights,
    save_model,
)
from tabnas.model._files import WEIGHTS
from tabnas.nets import SuperNet
from tabnas.space import Precision
from tests.model.conftest import Fitted
from tests.model.test_model import change_model

LOWER = (Precision.FLOAT16, Precision.INT8)
finite = st.floats(-(2.0**127), 2.0**127, width=32)
matrices = arrays(np.float32, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=finite)


@given(matrices, matrices, matrices)
def test_int8_weights_are_exact_and_rounding_them_again_changes_nothing(
    matrix: np.ndarray, table: np.ndarray, numeric: np.ndarray
) -> None:
    weights = {
        "embedding.0": table,
        "embedding.1": table / np.float32(3),
        "numeric_embedding": numeric,
        "layer.1.weight": matrix,
        "layer.1.bias": matrix[0],
    }
    quantized = quantize_weights(weights)
    rounded = dequantize(quantized)
    for name, weight in quantized.items():
        if name == "layer.1.bias":
            assert weight is weights[name]
            continue
        assert isinstance(weight, Int8Array)
        # in float64 the products are exact in any case
        exact = weight.values.astype(np.float64) * weight.scale.astype(np.float64)
        assert np.array_equal(exact, rounded[name])
        error = np.abs(rounded[name].astype(np.float64) - weights[name])
        assert (error <= 0.51 * weight.scale).all()
    again = quantize_weights(rounded)
    for name, weight in quantized.items():
        if isinstance(weight, Int8Array):
            assert np.array_equal(dequantize(again)[name], rounded[name])


def test_each_unit_uses_all_values_of_its_scale() -> None:
    matrix = np.array([[0.5, 100.0], [-0.26, 30.0]], np.float32)
    weight = quantize_weights({"head.0.weight": matrix})["head.0.weight"]
    assert isinstance(weight, Int8Array)
    assert weight.values.tolist() == [[127, 127], [-66, 38]]
    assert weight.scale == pytest.approx([0.5 / 127, 100 / 127], rel=2.0**-16)


def test_tables_of_categories_share_a_scale_and_those_of_numbers_do_not() -> None:
    small, large = np.float32([[0.5]]), np.float32([[2.0]])
    both = np.float32([[1.0, 0.0], [0.0, 8.0]])
    quantized = quantize_weights(
        {"embedding.0": small, "embedding.1": large, "numeric_embedding": both}
    )
    values = {name: weight.values.tolist() for name, weight in quantized.items()}  # type: ignore[union-attr]
    assert values["embedding.0"] == [[32]]
    assert values["embedding.1"] == [[127]]
    assert values["numeric_embedding"] == [[127, 0], [0, 127]]


@pytest.mark.parametrize("precision", Precision)
def test_a_file_holds_what_bytes_counts(
    fitted: Fitted, precision: Precision, tmp_path: Path
) -> None:
    model = change_model(fitted.model, precision=precision, limits={})
    save_model(model, tmp_path / "model")
    with safe_open(tmp_path / "model" / WEIGHTS, "numpy") as file:
        stored = sum(file.get_tensor(name).nbytes for name in file.keys())  # noqa: SIM118
    knots = sum(map(len, model.knots))
    assert stored + 4 * knots == model.costs["bytes"]
    loaded = load_model(tmp_path / "model")
    assert loaded.precision is precision
    for name, array in model.weights.items():
        assert np.array_equal(loaded.weights[name], array), name
    assert np.array_equal(loaded.predict_raw(fitted.table), model.predict_raw(fitted.table))
    save_model(loaded, tmp_path / "again")
    files = [(tmp_path / name / WEIGHTS).read_bytes() for name in ("model", "again")]
    assert files[0] == files[1]


@pytest.mark.parametrize("precision", LOWER)
def test_a_model_has_rounded_weights(fitted: Fitted, precision: Precision) -> None:
    model = change_model(fitted.model, precision=precision, limits={})
    expected = round_weights(fitted.model.weights, precision)
    assert all(np.array_equal(model.weights[name], expected[name]) for name in expected)
    assert any(not np.array_equal(expected[n], fitted.model.weights[n]) for n in expected)
    assert not any(array.flags.writeable for array in model.weights.values())


def test_centered_weights_give_the_same_network(fitted: Fitted) -> None:
    model = fitted.model
    if not model.architecture.depth:
        pytest.skip("a linear network has no layer to center")
    net = SuperNet.standalone(model.architecture, model.spec)
    centered = net.with_weights(center_weights(model.weights))
    rounded = net.with_weights(round_network(model.weights, Precision.INT8))
    plain = net.with_weights(model.weights)
    encoded = model.encoder.encode(fitted.table)
    from tabnas.model import make_examples

    examples = make_examples(model.spec, encoded)
    expected = plain.logits(model.architecture, examples)
    scale = np.abs(expected).max()
    assert np.abs(centered.logits(model.architecture, examples) - expected).max() < 1e-4 * scale
    assert np.abs(rounded.logits(model.architecture, examples) - expected).max() < 0.2 * scale


def test_a_limit_on_bytes_depends_on_the_precision(fitted: Fitted) -> None:
    def make(precision: str, limit: float) -> Model:
        return change_model(fitted.model, precision=precision, limits={"bytes": limit})

    needed = {precision: make(precision, 10**9).costs["bytes"] for precision in Precision}
    assert needed["float16"] < needed["float32"]
    assert needed["int8"] < needed["float32"]
    for precision in Precision:
        assert make(precision, needed[precision]).limits == {"bytes": needed[precision]}
        with pytest.raises(InfeasibleError, match=f"needs .* as {precision}"):
            make(precision, needed[precision] - 1)


def test_an_unknown_precision_is_refused(fitted: Fitted) -> None:
    with pytest.raises(TabNASError, match="there is no precision 'int4'; did you mean 'int8'"):
        change_model(fitted.model, precision="int4")


def test_float16_weights_do_not_overflow() -> None:
    rounded = round_weights({"head.0.bias": np.float32([1e6, -1e6, 1.0])}, Precision.FLOAT16)
    assert rounded["head.0.bias"].tolist() == [65504.0, -65504.0, 1.0]
