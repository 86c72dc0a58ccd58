"""Models: predictions, limits and copies."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import joblib
import numpy as np
import pytest

from tabnas import InfeasibleError, TabNASError
from tabnas.data import ClassTarget, NumberTarget
from tabnas.model import Model, _model, make_examples
from tabnas.model._weights import weight_shapes
from tabnas.nets import SuperNet
from tabnas.space import COSTS, Architecture
from tests.model.conftest import Fitted, make_mixed_columns


def change_model(model: Model, **changes: object) -> Model:
    values = {field.name: getattr(model, field.name) for field in fields(model)}
    return Model(**(values | changes))


# -- predictions ---------------------------------------------------------------------------------


def test_raw_predictions_equal_the_outputs_of_the_network(fitted: Fitted):
    rows = make_examples(fitted.model.spec, fitted.encoded)
    expected = fitted.net.logits(fitted.model.architecture, rows)
    raw = fitted.model.predict_raw(fitted.table)
    assert raw.dtype == np.float32
    np.testing.assert_array_equal(raw, expected)


def test_probabilities_and_labels_agree(fitted: Fitted):
    model = fitted.model
    if isinstance(model.target, NumberTarget):
        return
    raw = model.predict_raw(fitted.table).astype(np.float64)
    logits = np.hstack([np.zeros_like(raw), raw]) if raw.shape[1] == 1 else raw
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    predicted = model.predict_proba(fitted.table)
    assert predicted.dtype == np.float64
    assert predicted.shape == (len(fitted.table), len(model.classes))
    np.testing.assert_allclose(predicted, shares, rtol=1e-12)
    np.testing.assert_allclose(predicted.sum(axis=1), 1, rtol=1e-15)
    labels = model.predict(fitted.table)
    assert labels.tolist() == [model.classes[i] for i in predicted.argmax(axis=1)]


def test_encoded_rows_give_the_same_predictions(fitted: Fitted):
    model, rows = fitted.model, fitted.table
    expected = model.predict_proba(rows) if model.classes else model.predict(rows)
    assert np.array_equal(model.predict_encoded(model.encoder.encode(rows)), expected)


def test_labels_keep_their_type(iris: Fitted, mixed: Fitted):
    assert set(iris.model.predict(iris.table)) <= {"setosa", "versicolor", "virginica"}
    labels = mixed.model.predict(mixed.table)
    assert labels.dtype.kind == "i"
    assert set(labels.tolist()) <= {2, 5} == set(mixed.model.classes)


def test_numeric_predictions_are_in_the_units_of_the_target(diabetes: Fitted):
    model = diabetes.model
    values = model.predict(diabetes.table)
    assert values.dtype == np.float64
    assert values.shape == (len(diabetes.table),)
    assert np.corrcoef(values, diabetes.y)[0, 1] > 0.5
    assert abs(values.mean() - diabetes.y.mean()) < 10
    with pytest.raises(TabNASError, match=r"predict_proba needs a target of classes.*use predict"):
        model.predict_proba(diabetes.table)


def test_extreme_logits_give_no_warning():
    raw = np.array([[-3e38], [-800.0], [0.0], [800.0], [3e38]], np.float32)
    binary = _model.probabilities(raw)
    np.testing.assert_array_equal(binary, [[1, 0], [1, 0], [0.5, 0.5], [0, 1], [0, 1]])
    several = _model.probabilities(np.array([[3e38, -3e38, 3e38]], np.float32))
    np.testing.assert_array_equal(several, [[0.5, 0, 0.5]])


@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_predictions_do_not_depend_on_chunks(
    fitted: Fitted, chunk: int, monkeypatch: pytest.MonkeyPatch
):
    model, table = fitted.model, fitted.table.take(np.arange(130))
    expected = model.predict_raw(table), model.predict(table)
    shares = model.predict_proba(table) if model.classes else None
    monkeypatch.setattr(_model, "MAX_CHUNK_ROWS", chunk)
    np.testing.assert_array_equal(model.predict_raw(table), expected[0])
    np.testing.assert_array_equal(model.predict(table), expected[1])
    if shares is not None:
        np.testing.assert_array_equal(model.predict_proba(table), shares)


def test_outputs_are_computed_in_chunks(fitted: Fitted, monkeypatch: pytest.MonkeyPatch):
    model, table = fitted.model, fitted.table.take(np.arange(130))
    expected = model.predict_raw(table)
    monkeypatch.setattr(_model, "MAX_CHUNK_ROWS", 50)
    pieces = list(model.map_outputs(lambda raw: raw, table))
    assert [len(piece) for piece in pieces] == [50, 50, 30]
    np.testing.assert_array_equal(np.concatenate(pieces), expected)


def test_chunks_of_wide_tables_have_fewer_rows():
    assert _model.chunk_rows(1) == _model.chunk_rows(32) == 65_536
    assert _model.chunk_rows(1_024) == 2_048
    assert _model.chunk_rows(100_000) == 1_024


def test_errors_name_the_row_of_the_table(iris: Fitted, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_model, "MAX_CHUNK_ROWS", 4)
    array = np.ones((10, 4))
    array[9, 2] = np.inf
    with pytest.raises(TabNASError, match=r"but row 10 is inf"):
        iris.model.predict(array)


def test_an_empty_table_gives_empty_predictions(fitted: Fitted):
    empty = fitted.table.take(np.zeros(0, np.int64))
    model = fitted.model
    assert model.predict_raw(empty).shape == (0, model.target.outputs)
    assert model.predict(empty).shape == (0,)
    assert model.predict(empty).dtype == model.predict(fitted.table).dtype
    if model.classes:
        assert model.predict_proba(empty).shape == (0, len(model.classes))


def test_data_frames_and_other_orders_of_columns(mixed: Fitted):
    import pandas as pd

    columns = make_mixed_columns(40, seed=5)
    expected = mixed.model.predict_proba(columns)
    shuffled = pd.DataFrame(columns)[["since", "color", "age", "member", "city"]]
    np.testing.assert_array_equal(mixed.model.predict_proba(shuffled), expected)
    with pytest.raises(TabNASError, match="must have the column 'city'"):
        mixed.model.predict(shuffled.drop(columns="city"))


def test_outputs_beyond_float32_are_refused(diabetes: Fitted):
    weights = dict(diabetes.model.weights)
    weights["head.0.weight"] = np.full_like(weights["head.0.weight"], 3e38)
    model = change_model(diabetes.model, weights=weights)
    with pytest.raises(TabNASError, match="outputs must be finite, but those of row"):
        model.predict(np.full((2, 10), 1e3))


# -- limits and weights --------------------------------------------------------------------------


def test_costs_equal_those_of_the_space(fitted: Fitted):
    model = fitted.model
    assert set(model.costs) == set(COSTS)
    assert model.costs["parameters"] == sum(array.size for array in model.weights.values())
    knots = 4 * sum(map(len, model.knots))
    assert model.costs["bytes"] == knots + sum(array.nbytes for array in model.weights.values())


@pytest.mark.parametrize("cost", sorted(COSTS))
def test_a_model_beyond_its_limit_cannot_be_created(fitted: Fitted, cost: str):
    needs = fitted.model.costs[cost]
    assert change_model(fitted.model, limits={cost: needs}).limits == {cost: needs}
    with pytest.raises(InfeasibleError, match=f"the limit on {cost} is"):
        change_model(fitted.model, limits={cost: needs - 1})


def test_a_limit_on_an_unknown_cost_is_an_error(fitted: Fitted, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(TabNASError, match="the limit on units cannot be checked"):
        change_model(fitted.model, limits={"units": 10_000})
    monkeypatch.setitem(COSTS, "units", COSTS["parameters"])
    assert change_model(fitted.model, limits={"units": 10_000}).limits == {"units": 10_000}
    with pytest.raises(InfeasibleError, match="the limit on units is 1, but the architecture"):
        change_model(fitted.model, limits={"units": 1})


def test_measured_limits_are_stored(mixed: Fitted):
    assert mixed.model.limits == {"parameters": 2_000, "latency_us": 5.5}


@pytest.mark.parametrize("upper", [-1, float("nan"), float("inf"), True, "20", None])
def test_limits_must_be_numbers(iris: Fitted, upper: object):
    with pytest.raises(TabNASError, match="the limit on parameters must be a number"):
        change_model(iris.model, limits={"parameters": upper})


def test_weights_must_fit_the_architecture(iris: Fitted):
    weights = dict(iris.model.weights)
    with pytest.raises(TabNASError, match=r"of the architecture, but head\.2\.bias is missing"):
        change_model(iris.model, weights={k: v for k, v in weights.items() if k != "head.2.bias"})
    with pytest.raises(TabNASError, match=r"head\.2\.bias must be floats of the shape \(3,\)"):
        change_model(iris.model, weights=weights | {"head.2.bias": np.zeros(4, np.float32)})
    with pytest.raises(TabNASError, match=r"head\.2\.bias must be finite"):
        change_model(iris.model, weights=weights | {"head.2.bias": np.array([0, np.nan, 0])})
    with pytest.raises(TabNASError, match=r"head\.2\.bias must be finite float32"):
        change_model(iris.model, weights=weights | {"head.2.bias": np.array([0, 1e39, 0])})


def test_the_target_must_be_a_target(iris: Fitted):
    with pytest.raises(TabNASError, match="must be a ClassTarget or a NumberTarget"):
        change_model(iris.model, target="species")


def test_weights_cannot_be_changed(iris: Fitted):
    with pytest.raises(ValueError, match="read-only"):
        iris.model.weights["head.2.bias"][0] = 1


def test_weight_shapes_equal_those_of_the_network(fitted: Fitted):
    spec = fitted.model.spec
    for widths, dimension in (((), 0), ((5,), 2), ((3, 7, 2), 1), ((), 4)):
        architecture = Architecture(widths, dimension if spec.inputs.knots else 0)
        net = SuperNet.standalone(architecture, spec)
        shapes = {name: array.shape for name, array in net.weights().items()}
        assert weight_shapes(spec, architecture) == shapes


@pytest.mark.parametrize(
    ("knots", "message"),
    [
        ([()] * 10, "the architecture d1-linear embeds numbers, but no feature"),
        ([], "the architecture d1-linear embeds numbers, but no feature"),
        ([(0, 1, 2)] * 9, "knots must be given for each of the 10 numeric columns, got 9"),
        ([(0, 2, 1)] * 10, "column 0 must be at least two finite numbers that ascend"),
        ([(0, 1, 1 + 1e-12)] * 10, "finite numbers that ascend in single precision"),
        ([(0, 1, np.nan)] * 10, "column 0 must be at least two finite numbers"),
        ([(0, 1, 1e39)] * 10, "column 0 must be at least two finite numbers"),
        ([(1,)] * 10, "column 0 must be at least two finite numbers"),
        ([(0, 1)] * 10, r"the weights numeric_embedding must be floats of the shape \(1, 20\)"),
    ],
)
def test_knots_must_fit_the_features_and_the_weights(
    embedded_diabetes: Fitted, knots: object, message: str
):
    with pytest.raises(TabNASError, match=message):
        change_model(embedded_diabetes.model, knots=knots, limits={})


def test_a_network_without_embeddings_has_no_knots(iris: Fitted):
    assert change_model(iris.model, knots=[(0, 1, 2)] * 4).knots == ()


def test_embeddings_count_for_every_limit(embedded: Fitted):
    """One dimension more is `knots` parameters, and `columns` inputs of the first layer, more."""
    model = embedded.model
    inputs = model.spec.inputs
    columns, knots = len(inputs.embedded_numeric), sum(map(len, inputs.knots))
    assert 0 < columns < inputs.numeric
    plain = sum(array.size for name, array in model.weights.items() if name != "numeric_embedding")
    assert model.costs["parameters"] == plain + 3 * knots
    assert model.weights["layer.1.weight"].shape[0] == inputs.width + 3 * columns


def test_a_pickle_of_a_model_beyond_its_limit_is_refused(embedded: Fitted):
    model = copy.copy(embedded.model)
    needs = int(model.costs["parameters"])
    object.__setattr__(model, "limits", {"parameters": needs - 1})
    with pytest.raises(InfeasibleError, match=f"the limit on parameters is {needs - 1:,}, but"):
        pickle.loads(pickle.dumps(model))


def test_repr_and_properties(iris: Fitted, diabetes: Fitted):
    assert repr(iris.model) == "<Model 8-4 for multiclass target 'target', 115 parameters>"
    assert iris.model.feature_names[0] == "sepal length (cm)"
    assert diabetes.model.classes == ()
    assert isinstance(iris.model.target, ClassTarget)


# -- copies --------------------------------------------------------------------------------------


def test_copies_predict_the_same(fitted: Fitted, tmp_path):
    model = fitted.model
    expected = model.predict_raw(fitted.table)  # the network is built by now
    joblib.dump(model, tmp_path / "model.joblib")
    copies = [
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        copy.copy(model),
        joblib.load(tmp_path / "model.joblib"),
    ]
    for other in copies:
        np.testing.assert_array_equal(other.predict_raw(fitted.table), expected)
        assert other.limits == model.limits
        assert other.costs == model.costs
        assert other.knots == model.knots
        assert not other.weights[next(iter(other.weights))].flags.writeable


def test_threads_can_share_a_model(iris: Fitted):
    model = copy.deepcopy(iris.model)  # without its network yet
    expected = iris.model.predict_raw(iris.table)
    with ThreadPoolExecutor(4) as pool:
        for raw in pool.map(lambda _: model.predict_raw(iris.table), range(40)):
            np.testing.assert_array_equal(raw, expected)
