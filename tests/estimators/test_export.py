from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError

from tabnas import TabNASClassifier, TabNASRegressor
from tabnas.export import OnnxSession, onnx_inputs


def test_a_classifier_as_a_file(tmp_path: Path) -> None:
    flowers, species = load_iris(return_X_y=True, as_frame=True)
    classifier = TabNASClassifier(2_000, widths=[32], layers=2, candidates=1, random_state=0)
    with pytest.raises(NotFittedError):
        classifier.export_onnx(tmp_path / "m.onnx")
    classifier.fit(flowers, species)
    exported = classifier.export_onnx(tmp_path / "m.onnx", flowers, species, int8=True, margin=1.0)
    assert exported.parity.rows == 150
    assert exported.int8 is not None
    assert exported.int8.rows == 150
    classifier.export_onnx(tmp_path / "m.onnx", flowers)
    inputs = {name: flowers[[name]].to_numpy() for name in flowers}
    outputs = OnnxSession((tmp_path / "m.onnx").read_bytes()).run(inputs)
    assert outputs["label"].tolist() == classifier.predict(flowers).tolist()
    np.testing.assert_allclose(
        outputs["probabilities"], classifier.predict_proba(flowers), atol=1e-5
    )


def test_a_regressor_on_arrays(tmp_path: Path) -> None:
    measured, progress = load_diabetes(return_X_y=True)
    regressor = TabNASRegressor(max_parameters=200, candidates=1, random_state=0)
    regressor.fit(measured, progress)
    exported = regressor.export_onnx(tmp_path / "m.onnx", measured[:50], weights_only=False)
    assert list(exported.inputs) == [f"x{i}" for i in range(10)]
    given = onnx_inputs(regressor.model_, measured)
    outputs = OnnxSession((tmp_path / "m.onnx").read_bytes()).run(given)
    np.testing.assert_allclose(outputs["value"][:, 0], regressor.predict(measured), atol=1e-2)


def test_estimators_as_c(tmp_path: Path) -> None:
    flowers, species = load_iris(return_X_y=True, as_frame=True)
    classifier = TabNASClassifier(200, candidates=1, random_state=0)
    with pytest.raises(NotFittedError):
        classifier.export_c(tmp_path)
    classifier.fit(flowers, species)
    exported = classifier.export_c(tmp_path, flowers, prefix="iris")
    assert list(exported.fields) == [
        "sepal_length_cm",
        "sepal_width_cm",
        "petal_length_cm",
        "petal_width_cm",
    ]
    assert exported.parity is not None
    assert exported.parity.rows == 150
    assert "iris_predict(const iris_row *row" in exported.header.read_text()
