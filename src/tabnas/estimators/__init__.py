"""Estimators with the interface of scikit-learn."""

from __future__ import annotations

from tabnas.estimators._classifier import TabNASClassifier
from tabnas.estimators._regressor import TabNASRegressor

__all__ = ["TabNASClassifier", "TabNASRegressor"]
