"""Files predict the same as their models, for any table, network and runtime."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import onnx
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

from tabnas.data import ClassTarget, NumberTarget, Table, TableEncoder
from tabnas.errors import TabNASError
from tabnas.export import OnnxSession, RuntimeName, onnx_inputs
from tabnas.export._int8 import dequantize, quantize_weights
from tabnas.export._network import center_weights
from tabnas.export._onnx_file import build_file
from tabnas.export._parity import (
    TOLERANCE,
    check_parity,
    make_inputs,
    rounding_amplification,
    subsample,
)
from tabnas.export._probes import MAX_ODD_ROWS, ODD_NUMBERS, make_probe_rows
from tabnas.model import Model
from tests.export.strategies import RandomModel, can_predict, models, untrained

RUNTIMES: tuple[RuntimeName, ...] = ("onnxruntime", "reference")


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(case=models())
def test_any_model(case: RandomModel) -> None:
    """With and without preprocessing, on every runtime, on training rows and others."""
    real = [rows if can_predict(case.model, rows) else None for rows in (case.seen, case.other)]
    for weights_only in (False, True):
        file = build_file(case.model, center_weights(case.model.weights), weights_only=weights_only)
        onnx.checker.check_model(file.proto, full_check=True)
        for runtime in RUNTIMES:
            session = OnnxSession(file.data, runtime)
            for rows in real:
                check_parity(case.model, file, session, rows)  # raises if they disagree


@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(case=models())
def test_int8_predicts_the_same_as_the_dequantized_model(case: RandomModel) -> None:
    small = quantize_weights(center_weights(case.model.weights))
    file = build_file(case.model, small, weights_only=False)
    check_parity(dequantize(case.model, small), file, OnnxSession(file.data), None)


def test_int8_has_a_scale_for_each_unit() -> None:
    """A unit of small weights is rounded to 127ths of its own largest, not of the layer's."""
    weights = {
        "layer.1.weight": np.array([[1.0, 0.001, 0.0], [-0.3, -0.0004, 0.0]], np.float32),
        "embedding.0": np.array([[2.0, 0.01], [-1.0, 0.0]], np.float32),
        "layer.1.bias": np.array([1.0, 2.0, 3.0], np.float32),
    }
    small = quantize_weights(weights)
    layer, table = small["layer.1.weight"], small["embedding.0"]
    assert layer.values.tolist() == [[127, 127, 0], [-38, -51, 0]]
    np.testing.assert_allclose(layer.scale[:2], [1 / 127, 0.001 / 127], rtol=1e-6)
    assert table.values.tolist() == [[127, 1], [-64, 0]]  # one for all of an embedding
    assert table.scale.shape == ()
    assert small["layer.1.bias"] is weights["layer.1.bias"]
    for name in ("layer.1.weight", "embedding.0"):
        off = np.abs(small[name].dequantized - weights[name])
        assert (off <= 0.5001 * small[name].scale).all()


def test_units_as_good_as_equal_allow_for_what_rounding_makes_of_them() -> None:
    """Two units that differ by little are normalised to -1 and 1, and rounding with them."""
    table = Table.from_data({"x": np.linspace(-2.0, 2.0, 9), "y": np.linspace(1.0, 9.0, 9) ** 2})
    encoder = TableEncoder.fit(table)
    model = untrained(encoder, ClassTarget(name="z", classes=("no", "yes")), [2, 8])
    usual = rounding_amplification(model, encoder.encode(table))
    weights = {name: np.array(array) for name, array in model.weights.items()}
    weights["layer.1.weight"][:, 1] = weights["layer.1.weight"][:, 0] + 1e-4
    weights["layer.1.bias"][:] = 1.0
    tied = replace(model, weights=weights)
    assert rounding_amplification(tied, encoder.encode(table)).min() > 10 * np.median(usual)
    file = build_file(tied, center_weights(tied.weights), weights_only=False)
    found = check_parity(tied, file, OnnxSession(file.data), table)
    assert found.difference <= found.tolerance
    assert found.tolerance > TOLERANCE


def labelled(labels: tuple[object, ...]) -> tuple[Model, Table]:
    table = Table.from_data({"x": [0.1, 2.0, -3.0, 0.5], "c": ["a", "b", "a", None]})
    encoder = TableEncoder.fit(table, min_count=1)
    return untrained(encoder, ClassTarget(name="y", classes=labels), [4]), table


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("labels", [("no", "yes"), (3, 5), (0.5, 1.5, 2.5), (False, True)], ids=str)
def test_labels_keep_their_type(labels: tuple[object, ...], runtime: RuntimeName) -> None:
    model, table = labelled(labels)
    file = build_file(model, model.weights, weights_only=False)
    outputs = OnnxSession(file.data, runtime).run(onnx_inputs(model, table))
    assert outputs["label"].tolist() == model.predict(table).tolist()
    assert all(type(label) is type(labels[0]) for label in outputs["label"].tolist())


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_any_number_of_rows(rows: int, runtime: RuntimeName) -> None:
    model, table = labelled(("a", "b", "c"))
    few = Table(table.arrow.slice(0, rows))
    for weights_only in (False, True):
        file = build_file(model, model.weights, weights_only=weights_only)
        check_parity(model, file, OnnxSession(file.data, runtime), few)
    outputs = OnnxSession(build_file(model, model.weights, weights_only=False).data, runtime).run(
        onnx_inputs(model, few)
    )
    assert outputs["label"].shape == (rows,)
    assert outputs["probabilities"].shape == (rows, 3)


def test_values_have_a_column_and_their_own_units() -> None:
    model, table = labelled(("a", "b"))
    target = NumberTarget(name="y", center=1e12, scale=5.0)
    model = untrained(model.encoder, target, [4])
    file = build_file(model, model.weights, weights_only=False)
    value = OnnxSession(file.data).run(onnx_inputs(model, table))["value"]
    assert value.shape == (4, 1)
    assert value.dtype == np.float64
    np.testing.assert_allclose(value[:, 0], model.predict(table), rtol=0, atol=1e-3)


def test_whole_numbers_beyond_float32_count() -> None:
    first = 2**40
    table = Table.from_data({"account": [first + i for i in range(8)]})
    model = untrained(TableEncoder.fit(table), NumberTarget(name="y", center=0, scale=1), [])
    file = build_file(model, model.weights, weights_only=False)
    outputs = OnnxSession(file.data).run(onnx_inputs(model, table))["value"]
    assert len(np.unique(outputs)) == 8
    np.testing.assert_allclose(outputs[:, 0], model.predict(table), atol=TOLERANCE)


def test_the_error_names_the_row() -> None:
    model, table = labelled(("a", "b"))
    other = untrained(model.encoder, model.target, [4], seed=1)
    file = build_file(other, other.weights, weights_only=False)
    with pytest.raises(TabNASError, match=r"predict the same as the model, within 0.0001, but"):
        check_parity(model, file, OnnxSession(file.data), table)


class Off:
    """A session that adds something to its values, on tables of so many rows."""

    name = "a runtime that is off"

    def __init__(self, data: bytes, rows: int, change: Callable[[np.ndarray], np.ndarray]) -> None:
        self._session = OnnxSession(data)
        self._rows = rows
        self._change = change

    def run(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        outputs = self._session.run(inputs)
        if len(outputs["value"]) == self._rows:
            outputs["value"] = self._change(outputs["value"])
        return outputs


def test_rows_given_are_compared_too_and_the_largest_difference_is_told() -> None:
    model, table = labelled(("a", "b"))
    model = untrained(model.encoder, NumberTarget(name="y", center=0, scale=2.0), [4])
    file = build_file(model, model.weights, weights_only=False)
    last = np.array([[0.0], [0.0], [0.0], [1.0]])
    off = Off(file.data, len(table), lambda value: value + 1.8 * TOLERANCE * last)
    found = check_parity(model, file, off, table)  # in units of the target's scale
    assert found.difference == pytest.approx(0.9 * TOLERANCE, rel=0.02)
    assert found.rows == 4
    off = Off(file.data, len(table), lambda value: value + 2.2 * TOLERANCE * last)
    with pytest.raises(TabNASError, match="row 4 of the given rows differs by"):
        check_parity(model, file, off, table)


def test_values_far_from_0_may_differ_by_their_last_digit() -> None:
    """Next to 1e12 the next float is 1e-4 away, but small the target's scale is."""
    model, table = labelled(("a", "b"))
    model = untrained(model.encoder, NumberTarget(name="y", center=1e12, scale=0.01), [4])
    file = build_file(model, model.weights, weights_only=False)
    for far, allowed in ((1, True), (100, False)):
        off = Off(file.data, len(table), lambda value, far=far: value + far * np.spacing(1e12))
        if allowed:
            check_parity(model, file, off, table)
        else:
            with pytest.raises(TabNASError, match="row 1 of the given rows"):
                check_parity(model, file, off, table)


@pytest.mark.parametrize("weights_only", [False, True])
def test_answers_that_are_not_finite_are_told(weights_only: bool) -> None:
    """NaN is neither more nor less than any tolerance."""
    model, table = labelled(("a", "b"))
    model = untrained(model.encoder, NumberTarget(name="y", center=0, scale=1), [4])
    weights = {name: np.array(array) for name, array in model.weights.items()}
    weights["head.1.bias"][:] = np.nan
    file = build_file(model, weights, weights_only=weights_only)
    session = OnnxSession(file.data)
    assert np.isnan(session.run(make_inputs(model, file, table))["value"]).all()
    with pytest.raises(TabNASError, match="row 1 of the synthetic rows differs by nan"):
        check_parity(model, file, session, table)


def test_encoded_rows_are_compared_on_the_network_alone() -> None:
    model, table = labelled(("a", "b"))
    encoded = model.encoder.encode(table)
    file = build_file(model, model.weights, weights_only=False)
    file = file, OnnxSession(file.data)
    right = build_file(model, model.weights, weights_only=True)
    found = check_parity(model, *file, encoded, network=(right, OnnxSession(right.data)))
    assert found.rows == len(table)
    other = untrained(model.encoder, model.target, [4], seed=1)
    wrong = build_file(other, other.weights, weights_only=True)
    with pytest.raises(TabNASError, match=r"row \d of the given rows differs"):
        check_parity(model, *file, encoded, network=(wrong, OnnxSession(wrong.data)))


def test_another_label_of_the_same_probabilities_is_an_error() -> None:
    model, table = labelled(("a", "b"))
    other = Model(
        encoder=model.encoder,
        target=ClassTarget(name="y", classes=("c", "d")),
        architecture=model.architecture,
        dimensions=model.dimensions,
        weights=model.weights,
    )
    file = build_file(other, other.weights, weights_only=False)
    with pytest.raises(TabNASError, match="must predict the same as the model"):
        check_parity(model, file, OnnxSession(file.data), table)


def test_made_up_rows_have_every_category_and_the_odd_ones() -> None:
    words = [f"w{i}" for i in range(200)]
    table = Table.from_data({"w": words, "x": np.arange(200.0), "b": [True, False] * 100})
    encoder = TableEncoder.fit(table, kinds={"w": "categorical"}, min_count=1)
    rows = make_probe_rows(encoder)
    made = rows.column("w").to_pylist()
    assert set(words) < set(made)
    assert None in made
    assert {None, 1e300} < set(rows.column("x").to_pylist())
    assert set(rows.column("b").to_pylist()) == {True, False, None}
    assert set(encoder.encode(rows).categorical[:, 0]) == set(range(201))


def many_columns(count: int) -> tuple[TableEncoder, Table]:
    rng = np.random.default_rng(0)
    table = Table.from_data({f"x{i}": rng.normal(size=20) for i in range(count)})
    return TableEncoder.fit(table), table


def test_made_up_rows_of_many_columns_are_few_and_have_every_odd_value_of_every_column() -> None:
    encoder, _ = many_columns(400)
    rows = make_probe_rows(encoder)
    assert len(rows) == 64 + MAX_ODD_ROWS
    for column in encoder.columns:
        values = rows.column(column.name).to_pylist()
        assert all(values.count(odd) == 1 for odd in ODD_NUMBERS)


def test_the_tolerance_does_not_grow_with_the_number_of_columns() -> None:
    """A difference of 3e-4 is a fault in tables of few and of many columns alike."""
    target = NumberTarget(name="y", center=0.0, scale=1.0)
    for count in (10, 600):
        encoder, table = many_columns(count)
        model = untrained(encoder, target, [16])
        assert np.median(rounding_amplification(model, encoder.encode(table))) < 4
        file = build_file(model, center_weights(model.weights), weights_only=False)
        found = check_parity(model, file, OnnxSession(file.data), table)
        assert found.tolerance < 1.5 * TOLERANCE
        off = Off(file.data, len(table), lambda value: value + 3 * TOLERANCE)
        with pytest.raises(TabNASError, match="of the given rows differs by"):
            check_parity(model, file, off, table)


def test_large_values_are_compared_by_their_size() -> None:
    """At 1,000 deviations float32 has digits left for 1e-4 of one, and not for much less."""
    table = Table.from_data({"x": np.linspace(-1.0, 1.0, 9)})
    encoder = TableEncoder.fit(table)
    model = untrained(encoder, NumberTarget(name="y", center=5.0, scale=2.0), [])
    weights = {name: np.array(array) for name, array in model.weights.items()}
    weights["head.0.bias"][:] = 1_000.0
    model = replace(model, weights=weights)
    file = build_file(model, center_weights(model.weights), weights_only=False)
    for size, fine in ((0.5e-5, True), (2e-5, False)):
        off = Off(file.data, len(table), lambda value, size=size: value * (1 + size))
        if fine:
            check_parity(model, file, off, table)
        else:
            with pytest.raises(TabNASError, match="of the given rows differs by"):
                check_parity(model, file, off, table)


def test_samples_are_spread() -> None:
    table = Table(pa.table({"x": np.arange(1000)}))
    assert subsample(table, 3).column("x").to_pylist() == [0, 499, 999]
    assert subsample(table, 1000) is table
