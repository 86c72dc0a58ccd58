"""Files predict the same as their models, for any table, network and runtime."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings

from tabnas.data import ClassTarget, NumberTarget, Table, TableEncoder, fit_target, load_dataset
from tabnas.errors import TabNASError
from tabnas.export import OnnxSession, RuntimeName, _parity, onnx_inputs
from tabnas.export._int8 import select_labelled_rows
from tabnas.export._onnx_file import build_file
from tabnas.export._parity import (
    TOLERANCE,
    check_parity,
    choose_rows,
    make_inputs,
    rounding_amplification,
)
from tabnas.export._probes import MAX_ODD_ROWS, ODD_NUMBERS, make_probe_rows
from tabnas.model import Model, center_weights, dequantize, quantize_weights
from tests.export.strategies import (
    RandomModel,
    can_predict,
    choose_all_knots,
    make_untrained_model,
    models,
)

RUNTIMES: tuple[RuntimeName, ...] = ("onnxruntime", "reference")


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(case=models())
def test_files_of_any_model_predict_the_same(case: RandomModel) -> None:
    """Predictions agree with and without preprocessing, on every runtime, on any rows."""
    real = [
        rows if can_predict(case.model, rows) else None for rows in (case.training_rows, case.other)
    ]
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
    check_parity(replace(case.model, weights=dequantize(small)), file, OnnxSession(file.data), None)


@pytest.mark.parametrize(("widths", "dimension"), [([16, 8], 3), ([], 1), ([], 3), ([8], 1)])
@pytest.mark.parametrize("name", ["iris", "breast_cancer", "diabetes", "wine"])
def test_models_with_numeric_embeddings_of_real_tables(
    name: str, widths: list[int], dimension: int
) -> None:
    data = load_dataset(name)
    table = data.table.drop([data.target])
    encoder = TableEncoder.fit(table)
    target = fit_target(data.target, data.table.column(data.target))
    knots = choose_all_knots(encoder, table, 16)
    # other numbers of knots, and some features that are not embedded
    ragged = [() if i % 5 == 4 else own[: len(own) - i % 5] for i, own in enumerate(knots)]
    model = make_untrained_model(
        encoder, target, widths, numeric_dimension=dimension, knots=tuple(ragged)
    )
    assert model.architecture.dimension == dimension
    int8 = quantize_weights(center_weights(model.weights))
    for weights_only in (False, True):
        for weights, expected in (
            (center_weights(model.weights), model),
            (int8, replace(model, weights=dequantize(int8))),
        ):
            file = build_file(model, weights, weights_only=weights_only)
            onnx.checker.check_model(file.proto, full_check=True)
            for runtime in RUNTIMES:
                parity = check_parity(expected, file, OnnxSession(file.data, runtime), table)
                assert parity.difference < 1e-4


def test_checking_many_rows_takes_little_memory() -> None:
    """Not rows times columns times knots of all columns, which would be two gigabytes here."""
    table = Table.from_data(
        {f"x{i}": np.random.default_rng(i).normal(size=8_000) for i in range(30)}
    )
    encoder = TableEncoder.fit(table)
    knots = choose_all_knots(encoder, table, 32)
    target = NumberTarget(name="y", center=0, scale=1)
    model = make_untrained_model(encoder, target, [4], numeric_dimension=1, knots=knots)
    encoded = encoder.encode(table)
    tracemalloc.start()
    try:
        rounding_amplification(model, encoded)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


def test_int8_has_a_scale_for_each_unit() -> None:
    """A unit is rounded to 127ths of its own largest weight, not of the layer's."""
    weights = {
        "layer.1.weight": np.array([[1.0, 0.001, 0.0], [-0.3, -0.0004, 0.0]], np.float32),
        "embedding.0": np.array([[2.0, 0.01], [-1.0, 0.0]], np.float32),
        "layer.1.bias": np.array([1.0, 2.0, 3.0], np.float32),
    }
    small = quantize_weights(weights)
    layer, table = small["layer.1.weight"], small["embedding.0"]
    assert layer.values.tolist() == [[127, 127, 0], [-38, -51, 0]]
    np.testing.assert_allclose(layer.scale[:2], [1 / 127, 0.001 / 127], rtol=2.0**-16)
    assert table.values.tolist() == [[127, 1], [-63, 0]]  # an embedding has one scale
    assert table.scale.shape == ()
    assert small["layer.1.bias"] is weights["layer.1.bias"]
    for name in ("layer.1.weight", "embedding.0"):
        off_session = np.abs(small[name].dequantized - weights[name])
        assert (off_session <= 0.5001 * small[name].scale).all()


def test_the_tolerance_grows_for_nearly_equal_units() -> None:
    """Two nearly equal units are normalised to -1 and 1, which amplifies rounding errors."""
    table = Table.from_data({"x": np.linspace(-2.0, 2.0, 9), "y": np.linspace(1.0, 9.0, 9) ** 2})
    encoder = TableEncoder.fit(table)
    model = make_untrained_model(encoder, ClassTarget(name="z", classes=("no", "yes")), [2, 8])
    typical = rounding_amplification(model, encoder.encode(table))
    weights = {name: np.array(array) for name, array in model.weights.items()}
    weights["layer.1.weight"][:, 1] = weights["layer.1.weight"][:, 0] + 1e-4
    weights["layer.1.bias"][:] = 1.0
    tied = replace(model, weights=weights)
    assert rounding_amplification(tied, encoder.encode(table)).min() > 10 * np.median(typical)
    file = build_file(tied, center_weights(tied.weights), weights_only=False)
    parity = check_parity(tied, file, OnnxSession(file.data), table)
    assert parity.difference <= parity.tolerance
    assert parity.tolerance > TOLERANCE


def make_model(labels: tuple[object, ...]) -> tuple[Model, Table]:
    table = Table.from_data({"x": [0.1, 2.0, -3.0, 0.5], "c": ["a", "b", "a", None]})
    encoder = TableEncoder.fit(table, min_count=1)
    return make_untrained_model(encoder, ClassTarget(name="y", classes=labels), [4]), table


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("labels", [("no", "yes"), (3, 5), (0.5, 1.5, 2.5), (False, True)], ids=str)
def test_labels_keep_their_type(labels: tuple[object, ...], runtime: RuntimeName) -> None:
    model, table = make_model(labels)
    file = build_file(model, model.weights, weights_only=False)
    outputs = OnnxSession(file.data, runtime).run(onnx_inputs(model, table))
    assert outputs["label"].tolist() == model.predict(table).tolist()
    assert all(type(label) is type(labels[0]) for label in outputs["label"].tolist())


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_any_number_of_rows(rows: int, runtime: RuntimeName) -> None:
    model, table = make_model(("a", "b", "c"))
    few = Table(table.arrow.slice(0, rows))
    for weights_only in (False, True):
        file = build_file(model, model.weights, weights_only=weights_only)
        check_parity(model, file, OnnxSession(file.data, runtime), few)
    outputs = OnnxSession(build_file(model, model.weights, weights_only=False).data, runtime).run(
        onnx_inputs(model, few)
    )
    assert outputs["label"].shape == (rows,)
    assert outputs["probabilities"].shape == (rows, 3)


def test_values_have_one_column_in_the_units_of_the_target() -> None:
    model, table = make_model(("a", "b"))
    target = NumberTarget(name="y", center=1e12, scale=5.0)
    model = make_untrained_model(model.encoder, target, [4])
    file = build_file(model, model.weights, weights_only=False)
    value = OnnxSession(file.data).run(onnx_inputs(model, table))["value"]
    assert value.shape == (4, 1)
    assert value.dtype == np.float64
    np.testing.assert_allclose(value[:, 0], model.predict(table), rtol=0, atol=1e-3)


def test_integers_beyond_float32_are_exact() -> None:
    first = 2**40
    table = Table.from_data({"account": [first + i for i in range(8)]})
    model = make_untrained_model(
        TableEncoder.fit(table), NumberTarget(name="y", center=0, scale=1), []
    )
    file = build_file(model, model.weights, weights_only=False)
    outputs = OnnxSession(file.data).run(onnx_inputs(model, table))["value"]
    assert len(np.unique(outputs)) == 8
    np.testing.assert_allclose(outputs[:, 0], model.predict(table), atol=TOLERANCE)


def test_the_error_names_the_row() -> None:
    model, table = make_model(("a", "b"))
    other = make_untrained_model(model.encoder, model.target, [4], seed=1)
    file = build_file(other, other.weights, weights_only=False)
    with pytest.raises(TabNASError, match=r"predict the same as the model, within 0.0001, but"):
        check_parity(model, file, OnnxSession(file.data), table)


class OffSession:
    """A session that changes its values on tables of so many rows."""

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


def test_given_rows_are_compared_and_the_largest_difference_is_reported() -> None:
    model, table = make_model(("a", "b"))
    model = make_untrained_model(model.encoder, NumberTarget(name="y", center=0, scale=2.0), [4])
    file = build_file(model, model.weights, weights_only=False)
    last = np.array([[0.0], [0.0], [0.0], [1.0]])
    off_session = OffSession(file.data, len(table), lambda value: value + 1.8 * TOLERANCE * last)
    parity = check_parity(model, file, off_session, table)  # in units of the target's scale
    assert parity.difference == pytest.approx(0.9 * TOLERANCE, rel=0.02)
    assert parity.rows == 4
    off_session = OffSession(file.data, len(table), lambda value: value + 2.2 * TOLERANCE * last)
    with pytest.raises(TabNASError, match="row 4 of the given rows differs by"):
        check_parity(model, file, off_session, table)


def test_values_far_from_0_may_differ_by_their_last_digit() -> None:
    """Floats near 1e12 are 1e-4 apart, which is large compared with the target's scale."""
    model, table = make_model(("a", "b"))
    model = make_untrained_model(
        model.encoder, NumberTarget(name="y", center=1e12, scale=0.01), [4]
    )
    file = build_file(model, model.weights, weights_only=False)
    for far, allowed in ((1, True), (100, False)):
        off_session = OffSession(
            file.data, len(table), lambda value, far=far: value + far * np.spacing(1e12)
        )
        if allowed:
            check_parity(model, file, off_session, table)
        else:
            with pytest.raises(TabNASError, match="row 1 of the given rows"):
                check_parity(model, file, off_session, table)


@pytest.mark.parametrize("weights_only", [False, True])
def test_predictions_that_are_not_finite_are_refused(weights_only: bool) -> None:
    """NaN is neither above nor below a tolerance, and must be refused."""
    model, table = make_model(("a", "b"))
    model = make_untrained_model(model.encoder, NumberTarget(name="y", center=0, scale=1), [4])
    weights = {name: np.array(array) for name, array in model.weights.items()}
    weights["head.1.bias"][:] = np.nan
    file = build_file(model, weights, weights_only=weights_only)
    session = OnnxSession(file.data)
    assert np.isnan(session.run(make_inputs(model, file, table))["value"]).all()
    with pytest.raises(TabNASError, match="row 1 of the synthetic rows differs by nan"):
        check_parity(model, file, session, table)


def test_encoded_rows_are_compared_on_the_network_only() -> None:
    model, table = make_model(("a", "b"))
    encoded = model.encoder.encode(table)
    file = build_file(model, model.weights, weights_only=False)
    file = file, OnnxSession(file.data)
    right = build_file(model, model.weights, weights_only=True)
    parity = check_parity(model, *file, encoded, network=(right, OnnxSession(right.data)))
    assert parity.rows == len(table)
    other = make_untrained_model(model.encoder, model.target, [4], seed=1)
    wrong = build_file(other, other.weights, weights_only=True)
    with pytest.raises(TabNASError, match=r"row \d of the given rows differs"):
        check_parity(model, *file, encoded, network=(wrong, OnnxSession(wrong.data)))


def test_another_label_of_the_same_probabilities_is_an_error() -> None:
    model, table = make_model(("a", "b"))
    other = Model(
        encoder=model.encoder,
        target=ClassTarget(name="y", classes=("c", "d")),
        architecture=model.architecture,
        category_dimensions=model.category_dimensions,
        weights=model.weights,
    )
    file = build_file(other, other.weights, weights_only=False)
    with pytest.raises(TabNASError, match="must predict the same as the model"):
        check_parity(model, file, OnnxSession(file.data), table)


def test_probe_rows_have_every_category_and_odd_values() -> None:
    categories = [f"w{i}" for i in range(200)]
    table = Table.from_data({"w": categories, "x": np.arange(200.0), "b": [True, False] * 100})
    encoder = TableEncoder.fit(table, kinds={"w": "categorical"}, min_count=1)
    rows = make_probe_rows(encoder)
    probed = rows.column("w").to_pylist()
    assert set(categories) < set(probed)
    assert None in probed
    assert {None, 1e300} < set(rows.column("x").to_pylist())
    assert set(rows.column("b").to_pylist()) == {True, False, None}
    assert set(encoder.encode(rows).categorical[:, 0]) == set(range(201))


def make_many_columns(count: int) -> tuple[TableEncoder, Table]:
    rng = np.random.default_rng(0)
    table = Table.from_data({f"x{i}": rng.normal(size=20) for i in range(count)})
    return TableEncoder.fit(table), table


def test_probe_rows_of_many_columns_are_few_and_have_every_odd_value() -> None:
    encoder, _ = make_many_columns(400)
    rows = make_probe_rows(encoder)
    assert len(rows) == 64 + MAX_ODD_ROWS
    for column in encoder.columns:
        values = rows.column(column.name).to_pylist()
        assert all(values.count(odd) == 1 for odd in ODD_NUMBERS)


def test_the_tolerance_does_not_grow_with_the_number_of_columns() -> None:
    """A difference of 3e-4 is an error for few and for many columns."""
    target = NumberTarget(name="y", center=0.0, scale=1.0)
    for count in (10, 600):
        encoder, table = make_many_columns(count)
        model = make_untrained_model(encoder, target, [16])
        assert np.median(rounding_amplification(model, encoder.encode(table))) < 4
        file = build_file(model, center_weights(model.weights), weights_only=False)
        parity = check_parity(model, file, OnnxSession(file.data), table)
        assert parity.tolerance < 1.5 * TOLERANCE
        off_session = OffSession(file.data, len(table), lambda value: value + 3 * TOLERANCE)
        with pytest.raises(TabNASError, match="of the given rows differs by"):
            check_parity(model, file, off_session, table)


def test_large_values_are_compared_by_their_size() -> None:
    """At 1,000 deviations, float32 resolves about 1e-4 of one deviation."""
    table = Table.from_data({"x": np.linspace(-1.0, 1.0, 9)})
    encoder = TableEncoder.fit(table)
    model = make_untrained_model(encoder, NumberTarget(name="y", center=5.0, scale=2.0), [])
    weights = {name: np.array(array) for name, array in model.weights.items()}
    weights["head.0.bias"][:] = 1_000.0
    model = replace(model, weights=weights)
    file = build_file(model, center_weights(model.weights), weights_only=False)
    for size, fine in ((0.5e-5, True), (2e-5, False)):
        off_session = OffSession(file.data, len(table), lambda value, size=size: value * (1 + size))
        if fine:
            check_parity(model, file, off_session, table)
        else:
            with pytest.raises(TabNASError, match="of the given rows differs by"):
                check_parity(model, file, off_session, table)


def test_errors_name_the_row_of_the_whole_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_parity, "MAX_ROWS", 10)
    values = np.linspace(-1.0, 1.0, 91)
    encoder = TableEncoder.fit(Table.from_data({"x": values}))
    model = make_untrained_model(encoder, NumberTarget(name="y", center=5.0, scale=2.0), [])
    file = build_file(model, center_weights(model.weights), weights_only=False)
    texts = values.astype(str)
    texts[50] = "abc"
    with pytest.raises(TabNASError, match="row 51 "):
        check_parity(model, file, OnnxSession(file.data), Table.from_data({"x": texts}))

    def change_sixth(value: np.ndarray) -> np.ndarray:
        return value + np.where(np.arange(len(value)) == 5, 1, 0)[:, None]

    off_session = OffSession(file.data, 10, change_sixth)
    with pytest.raises(TabNASError, match="but row 51 of the given rows differs"):
        check_parity(model, file, off_session, Table.from_data({"x": values}))


def test_truths_may_be_written_as_digits() -> None:
    table = Table.from_data({"a": ["true", "false", "maybe"] * 5})
    encoder = TableEncoder.fit(table)
    model = make_untrained_model(encoder, NumberTarget(name="y", center=0.0, scale=1.0), [8])
    session = OnnxSession(build_file(model, center_weights(model.weights), weights_only=False).data)
    for text, same in (("1", "true"), ("0", "false")):
        raw, known = (
            session.run({"a": np.array([[value]], object)})["value"] for value in (text, same)
        )
        assert raw == known == pytest.approx(model.predict(Table.from_data({"a": [text]}))[0])


def test_targets_of_rows_to_check_have_the_decimal_mark_of_their_table() -> None:
    table = Table.from_data({"x": ["1,5", "2,5", "3,5"], "y": ["1,25", "2,25", "3,25"]})
    encoder = TableEncoder.fit(table.drop(["y"]))
    target = fit_target("y", table.column("y"), task="regression", decimals=table.decimals)
    model = make_untrained_model(encoder, target, [])
    other = Table.from_data({"x": ["1.5", "2.5"], "y": ["1.125", "2.125"]})
    _, y = select_labelled_rows(model, other, other.column("y"))
    assert y.tolist() == [1.125, 2.125]


def test_chosen_rows_are_spread_over_the_table() -> None:
    assert choose_rows(1000, 3).tolist() == [0, 499, 999]
    assert choose_rows(4, 1000).tolist() == [0, 1, 2, 3]
