"""Metrics, their names and their tasks."""

from __future__ import annotations

import pytest

from tabnas import TabNASError
from tabnas.model import METRICS, default_metric, get_metric, metrics_for


def test_every_metric_has_a_description():
    for name, metric in METRICS.items():
        assert metric.name == name
        assert len(metric.description) > 20
        assert metric.minimum < metric.maximum


def test_metrics_of_a_task():
    assert [m.name for m in metrics_for("regression")] == ["rmse", "mae", "r2"]
    assert metrics_for("binary") == metrics_for("multiclass")
    assert default_metric("binary") is default_metric("multiclass") is METRICS["log_loss"]
    assert default_metric("regression") is METRICS["rmse"]


def test_unknown_names_are_refused():
    assert get_metric("auc", "multiclass") is METRICS["auc"]
    with pytest.raises(TabNASError, match="did you mean 'accuracy'"):
        get_metric("acuracy", "binary")
    with pytest.raises(TabNASError, match="of a regression target must be one of rmse, mae, r2"):
        get_metric("auc", "regression")
    with pytest.raises(TabNASError, match="did you mean 'regression'"):
        default_metric("regresion")


def test_losses_are_minimised():
    assert METRICS["auc"].loss(0.9) < METRICS["auc"].loss(0.8)
    assert METRICS["rmse"].loss(0.8) < METRICS["rmse"].loss(0.9)
