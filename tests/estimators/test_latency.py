"""Limits on latency, as parameters of the estimators."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from tabnas.errors import InfeasibleError, TabNASError
from tabnas.estimators import TabNASClassifier, TabNASRegressor
from tests.latency.conftest import make_c_table, make_latency_table

FEATURES = {"a": np.linspace(-1, 1, 40), "b": np.tile(["x", "y"], 20)}
ANSWERS = np.arange(40) % 2


@pytest.fixture
def device(tmp_path: Path) -> Path:
    path = tmp_path / "device.json"
    path.write_text(make_latency_table().to_json())
    return path


@pytest.mark.parametrize("kind", [TabNASClassifier, TabNASRegressor])
def test_limits_hold_and_are_shown(kind: type, device: Path) -> None:
    estimator = kind(
        max_latency_us=30,
        max_batch_latency_us=300,
        latency_table=device,
        candidates=1,
        time=0.1,
        random_state=0,
    )
    fitted = clone(estimator).fit(FEATURES, ANSWERS)
    assert fitted.costs_["latency_us"] <= 30
    assert fitted.costs_["batch_latency_us"] <= 300
    assert fitted.model_.limits == {"latency_us": 30, "batch_latency_us": 300}
    assert any("was not measured" in note for note in fitted.result_.notes)
    with pytest.raises(InfeasibleError, match="the cheapest"):
        clone(estimator).set_params(max_latency_us=20).fit(FEATURES, ANSWERS)


def test_limits_in_c_hold(tmp_path: Path) -> None:
    path = tmp_path / "device.json"
    path.write_text(make_c_table().to_json())
    limits = {"max_latency_us": 0.5, "max_bytes": 4_000, "runtime": "c", "latency_table": path}
    fitted = TabNASClassifier(**limits, candidates=1, time=0.1, random_state=0)
    fitted.fit(FEATURES, ANSWERS)
    assert fitted.costs_["latency_us"] <= 0.5
    assert fitted.get_params()["runtime"] == "c"
    with pytest.raises(TabNASError, match="is of c; set runtime"):
        clone(fitted).set_params(runtime="onnxruntime").fit(FEATURES, ANSWERS)
    with pytest.raises(TabNASError, match="runtime c needs a limit on latency"):
        TabNASRegressor(runtime="c").fit(FEATURES, ANSWERS)


def test_a_loaded_estimator_keeps_its_limits(device: Path, tmp_path: Path) -> None:
    given = {"max_latency_us": 30.5, "latency_table": str(device)}
    fitted = TabNASClassifier(**given, candidates=1, time=0.1, random_state=0)
    fitted.fit(FEATURES, ANSWERS).save(tmp_path / "model")
    loaded = TabNASClassifier.load(tmp_path / "model")
    assert loaded.max_latency_us == 30.5
    assert loaded.max_batch_latency_us is None


def test_a_table_without_a_limit_is_a_mistake(device: Path) -> None:
    with pytest.raises(TabNASError, match="needs a limit on latency"):
        TabNASClassifier(latency_table=device).fit(FEATURES, ANSWERS)
