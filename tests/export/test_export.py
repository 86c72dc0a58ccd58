"""Exported files: metadata, atomic writes, errors and int8."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
import pytest

import tabnas
from tabnas.data import ClassTarget, NumberTarget, Table, TableEncoder, load_dataset
from tabnas.data.columns import NumericColumn
from tabnas.errors import InfeasibleError, TabNASError
from tabnas.export import OnnxSession, export_onnx, onnx_inputs
from tabnas.export._int8 import QuantizationResult
from tabnas.export._onnx_file import OnnxFile, build_file
from tabnas.latency import untrained_model
from tabnas.model import Int8Array, Model
from tabnas.model._limits import compute_network_costs
from tabnas.space import Architecture, Precision
from tests.export.strategies import make_untrained_model


def make_table(rows: int = 400) -> Table:
    rng = np.random.default_rng(0)
    size = rng.normal(size=rows)
    return Table.from_data(
        {
            "size": np.where(rng.random(rows) < 0.1, np.nan, size),
            "colour": rng.choice(["red", "blue", "green"], size=rows).tolist(),
            "kind": ["high" if value > 0 else "low" for value in size],
            "value": 100 + 3 * size,
        }
    )


@pytest.fixture
def model() -> Model:
    encoder = TableEncoder.fit(make_table(), drop=["kind", "value"])
    target = ClassTarget(name="kind", classes=("high", "low"))
    return make_untrained_model(encoder, target, [64, 32], parameters=4_000, latency_us=7.5)


def test_the_file_has_metadata(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "new" / "m.onnx"
    exported = export_onnx(model, path, check=make_table())
    assert exported.path == path
    assert exported.bytes == path.stat().st_size
    assert exported.parameters == model.costs["parameters"]
    assert exported.opsets == {"ai.onnx": 17, "ai.onnx.ml": 3}
    assert exported.parity.rows == 400
    assert exported.parity.difference < 1e-5
    json.dumps(exported.to_dict())
    loaded = onnx.load(path)
    assert [value.name for value in loaded.graph.output] == list(exported.outputs)
    assert (loaded.producer_name, loaded.producer_version) == ("tabnas", tabnas.__version__)
    metadata = {prop.key.removeprefix("tabnas."): prop.value for prop in loaded.metadata_props}
    assert metadata["architecture"] == "64-32"
    assert json.loads(metadata["costs"]) == model.costs
    assert json.loads(metadata["limits"]) == {"parameters": 4_000, "latency_us": 7.5}
    assert json.loads(metadata["classes"]) == ["high", "low"]
    assert (metadata["target"], metadata["task"], metadata["form"]) == ("kind", "binary", "table")
    floats = [t for t in loaded.graph.initializer if t.data_type == onnx.TensorProto.FLOAT]
    trained = [t for t in floats if t.name.startswith(("layer.", "head.", "embedding."))]
    assert sum(int(np.prod(t.dims)) for t in trained) == model.costs["parameters"]


def test_equal_models_give_equal_bytes(model: Model, tmp_path: Path) -> None:
    for name in ("a.onnx", "b.onnx"):
        export_onnx(model, tmp_path / name)
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


def test_weights_only_takes_encoded_rows(model: Model, tmp_path: Path) -> None:
    exported = export_onnx(model, tmp_path / "m.onnx", check=make_table(), weights_only=True)
    assert exported.inputs == {"numeric": "float32", "codes": "int64"}
    assert exported.outputs == {"raw": "float32", "probabilities": "float32"}
    data = (tmp_path / "m.onnx").read_bytes()
    metadata = {prop.key: prop.value for prop in onnx.load_from_string(data).metadata_props}
    assert json.loads(metadata["tabnas.numeric_features"]) == ["size", "size is missing"]
    assert json.loads(metadata["tabnas.code_columns"]) == ["colour"]
    encoder = TableEncoder.from_dict(json.loads(metadata["tabnas.encoder"]))
    encoded = encoder.encode(make_table())
    codes = encoded.categorical.astype(np.int64)
    outputs = OnnxSession(data).run({"numeric": encoded.numeric, "codes": codes})
    np.testing.assert_allclose(outputs["raw"], model.predict_raw(make_table()), atol=1e-5)


def test_weights_only_of_a_numeric_target_also_outputs_values(tmp_path: Path) -> None:
    encoder = TableEncoder.fit(make_table(), drop=["kind", "value", "colour"])
    model = make_untrained_model(encoder, NumberTarget(name="value", center=100, scale=3), [])
    exported = export_onnx(model, tmp_path / "m.onnx", weights_only=True)
    assert exported.inputs == {"numeric": "float32"}
    assert exported.outputs == {"raw": "float32", "value": "float64"}


# -- errors --------------------------------------------------------------------------------------


class ShiftedColumn(NumericColumn):
    """A numeric column that encodes differently from the exported file."""

    @classmethod
    def fit(cls, name: str, column: object) -> ShiftedColumn:
        fitted = NumericColumn.fit(name, column)
        return cls.from_dict({key: v for key, v in fitted.to_dict().items() if key != "kind"})

    def encode(self, column: object, numeric: np.ndarray, codes: np.ndarray) -> None:
        super().encode(column, numeric, codes)
        numeric[:, 0] += 0.5


def test_a_file_that_disagrees_is_not_written(tmp_path: Path) -> None:
    shifted = ShiftedColumn.fit("x", Table.from_data({"x": [1.0, 2.0, 5.0]}).column("x"))
    encoder = TableEncoder((shifted,), (), (), ("x",), True)
    model = make_untrained_model(encoder, NumberTarget(name="y", center=0, scale=1), [])
    with pytest.raises(TabNASError, match=r"of the synthetic rows differs .*; nothing was written"):
        export_onnx(model, tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())


def test_an_existing_file_is_kept_after_an_error(model: Model, tmp_path: Path) -> None:
    export_onnx(model, tmp_path / "m.onnx")
    before = (tmp_path / "m.onnx").read_bytes()
    with pytest.raises(TabNASError, match="int8 weights must be checked on rows with the target"):
        export_onnx(model, tmp_path / "m.onnx", int8=True)
    assert (tmp_path / "m.onnx").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_measured_limits_are_marked(tmp_path: Path) -> None:
    encoder = TableEncoder.fit(make_table(), drop=["kind", "value"])
    model = make_untrained_model(encoder, NumberTarget(name="value", center=100, scale=3), [8])
    export_onnx(model, tmp_path / "counted.onnx")
    metadata = {p.key: p.value for p in onnx.load(tmp_path / "counted.onnx").metadata_props}
    assert "tabnas.limits_measured" not in metadata
    limits = {"latency_us": 50.5, "parameters": 9_999}
    export_onnx(replace(model, limits=limits), tmp_path / "m.onnx")
    metadata = {p.key: p.value for p in onnx.load(tmp_path / "m.onnx").metadata_props}
    assert json.loads(metadata["tabnas.limits"]) == limits
    counted = set(json.loads(metadata["tabnas.costs"]))
    measured = json.loads(metadata["tabnas.limits_measured"])
    assert set(limits) - counted == set(measured) == {"latency_us"}
    assert "not checked again" in measured["latency_us"]


def test_the_limit_is_checked_again(model: Model, tmp_path: Path) -> None:
    object.__setattr__(model, "limits", MappingProxyType({"parameters": 10}))
    with pytest.raises(InfeasibleError, match="the limit on parameters is 10, but"):
        export_onnx(model, tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())


def test_classes_that_overflow_integers_are_refused(tmp_path: Path) -> None:
    encoder = TableEncoder.fit(make_table(), drop=["kind", "value"])
    model = make_untrained_model(encoder, ClassTarget(name="y", classes=(1, 2**63)), [])
    with pytest.raises(TabNASError, match="must fit into 64 bits"):
        export_onnx(model, tmp_path / "m.onnx")
    export_onnx(model, tmp_path / "m.onnx", weights_only=True)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("m.pb", {}, "must end in .onnx, got 'm.pb'"),
        ("folder.onnx", {}, "is a folder"),
        ("file/m.onnx", {}, "cannot be written"),
        ("m.onnx", {"margin": -1}, "margin must be a number of at least 0"),
        ("m.onnx", {"margin": float("nan")}, "margin must be a number of at least 0"),
        ("m.onnx", {"metric": "rmse"}, "metric of a binary target"),
        ("m.onnx", {"runtime": "onnxruntme"}, "did you mean 'onnxruntime'"),
        ("m.onnx", {"check": {"size": [1.0]}}, "must have the column 'colour'"),
        ("m.onnx", {"check": make_table(3), "y": ["high"]}, "for each of the 3 rows"),
    ],
)
def test_invalid_arguments_are_refused(
    model: Model, tmp_path: Path, name: str, options: dict[str, object], message: str
) -> None:
    (tmp_path / "folder.onnx").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(TabNASError, match=message):
        export_onnx(model, tmp_path / name, **options)  # type: ignore[arg-type]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder.onnx"]


def test_without_onnxruntime_the_reference_runtime_checks_the_file(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    exported = export_onnx(model, tmp_path / "m.onnx", check=make_table())
    assert exported.parity.runtime.endswith("(reference)")
    with pytest.raises(TabNASError, match=r"pip install 'tabnas\[onnxruntime\]'"):
        export_onnx(model, tmp_path / "m.onnx", runtime="onnxruntime")


# -- int8 ----------------------------------------------------------------------------------------


def test_int8_is_smaller_and_its_score_is_measured(model: Model, tmp_path: Path) -> None:
    exported = export_onnx(
        model, tmp_path / "m.onnx", check=make_table(), int8=True, margin=0.05, metric="log_loss"
    )
    small = exported.int8
    assert small is not None
    assert exported.bytes == (tmp_path / "m.onnx").stat().st_size
    assert exported.bytes < 0.6 * small.bytes_before
    assert small.rows == 400
    assert small.score_after != small.score_before
    assert abs(small.score_after - small.score_before) <= 0.05 * small.score_before
    metadata = {p.key: p.value for p in onnx.load(tmp_path / "m.onnx").metadata_props}
    assert metadata["tabnas.weights"] == "int8"
    as_int8 = compute_network_costs(model.spec, model.architecture, Precision.INT8)
    assert json.loads(metadata["tabnas.costs"]) == as_int8
    outputs = OnnxSession((tmp_path / "m.onnx").read_bytes()).run(onnx_inputs(model, make_table()))
    np.testing.assert_allclose(
        outputs["probabilities"], model.predict_proba(make_table()), atol=0.05
    )


def test_an_int8_file_is_compared_with_the_dequantized_model(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build_wrong_file(model: Model, weights: dict[str, Any], *, weights_only: bool) -> OnnxFile:
        head = weights["head.2.weight"]
        if isinstance(head, Int8Array):
            weights = weights | {"head.2.weight": replace(head, scale=1.1 * head.scale)}
        return build_file(model, weights, weights_only=weights_only)

    monkeypatch.setattr("tabnas.export._export.build_file", build_wrong_file)
    with pytest.raises(TabNASError, match="the file must predict the same as the model"):
        export_onnx(model, tmp_path / "m.onnx", check=make_table(), int8=True, margin=9.0)
    assert not list(tmp_path.iterdir())


def test_int8_that_is_no_smaller_is_an_error(tmp_path: Path) -> None:
    encoder = TableEncoder.fit(make_table(), drop=["kind", "value"])
    small = make_untrained_model(encoder, ClassTarget(name="kind", classes=("high", "low")), [2])
    with pytest.raises(TabNASError, match="must make the file smaller, but"):
        export_onnx(small, tmp_path / "m.onnx", check=make_table(), int8=True, margin=9.0)
    assert not list(tmp_path.iterdir())


def test_int8_over_the_limit_is_an_error(tmp_path: Path) -> None:
    """With its scales, int8 takes more bytes than float16 if layers have few inputs."""
    encoder = TableEncoder.fit(make_table(), drop=["kind", "value"])
    target = ClassTarget(name="kind", classes=("high", "low"))
    model = untrained_model(Architecture((16, 2)), encoder, target, (1,), (), Precision.FLOAT16)
    model = replace(model, limits={"bytes": model.costs["bytes"]})
    with pytest.raises(InfeasibleError, match=r"needs .* as int8"):
        export_onnx(model, tmp_path / "m.onnx", check=make_table(), int8=True, margin=9.0)
    assert not list(tmp_path.iterdir())


def test_int8_with_a_separate_target(model: Model, tmp_path: Path) -> None:
    table = make_table()
    kinds = table.column("kind").to_pylist()
    apart, together = (
        export_onnx(model, tmp_path / "m.onnx", int8=True, margin=9, check=rows, y=target).int8
        for rows, target in ((table.drop(["kind"]), kinds), (table, None))
    )
    assert apart == together


def test_int8_beyond_the_margin_is_an_error(tmp_path: Path) -> None:
    encoder = TableEncoder.fit(make_table(), drop=["kind", "value"])
    model = make_untrained_model(encoder, NumberTarget(name="value", center=100, scale=3), [64, 64])
    # y is the prediction of the model, so float32 has no error and int8 has some
    y = model.predict(make_table())
    with pytest.raises(TabNASError, match=r"must keep rmse within 1\.00% of .*, but it is"):
        export_onnx(model, tmp_path / "m.onnx", check=make_table(), y=y, int8=True)
    assert not list(tmp_path.iterdir())


def test_the_margin_of_int8_applies_to_metrics_that_are_maximised(
    model: Model, tmp_path: Path
) -> None:
    table = make_table()
    likely = model.predict_proba(table)[:, 1]
    labels = np.where(likely > np.median(likely), "low", "high")  # float32 ranks them correctly

    def export(margin: float) -> QuantizationResult:
        options = {"check": table, "y": labels, "metric": "auc", "margin": margin}
        result = export_onnx(model, tmp_path / "m.onnx", int8=True, **options).int8  # type: ignore[arg-type]
        assert result is not None
        return result

    small = export(0.1)
    lost = small.score_before - small.score_after
    assert small.score_before == 1.0
    assert 0 < lost < 0.1
    assert export(1.01 * lost).score_after == small.score_after
    with pytest.raises(TabNASError, match="must keep auc within"):
        export(0.99 * lost)


def test_int8_leaves_out_rows_without_a_target(model: Model, tmp_path: Path) -> None:
    kinds = ["high", "low", None, ""] * 100
    options = {"int8": True, "margin": 9.0, "check": make_table().drop(["kind"])}
    exported = export_onnx(model, tmp_path / "m.onnx", y=kinds, **options)  # type: ignore[arg-type]
    assert exported.int8 is not None
    assert exported.int8.rows == 200
    with pytest.raises(TabNASError, match="got none"):
        export_onnx(model, tmp_path / "m.onnx", y=[None] * 400, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "target"), [("adult", "income"), ("california_housing", None)])
def test_models_of_real_tables_can_be_exported(
    name: str, target: str | None, tmp_path: Path
) -> None:
    table = load_dataset(name).table
    target = target or table.names[-1]
    encoder = TableEncoder.fit(table, drop=[target], rows=np.arange(2_000))
    fitted = (
        ClassTarget(name=target, classes=("<=50K", ">50K"))
        if name == "adult"
        else NumberTarget(name=target, center=2.0, scale=1.0)
    )
    model = replace(make_untrained_model(encoder, fitted, [48, 24]), limits={"parameters": 20_000})
    for weights_only in (False, True):
        exported = export_onnx(model, tmp_path / "m.onnx", check=table, weights_only=weights_only)
        assert exported.parity.rows == 10_000
        assert exported.parity.difference < 2e-5
