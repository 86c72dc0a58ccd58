"""The whole way from a table to a model as scikit-learn's estimators."""

from __future__ import annotations

from tabnas.estimators._classifier import TabNASClassifier
from tabnas.estimators._regressor import TabNASRegressor

__all__ = ["TabNASClassifier", "TabNASRegressor"]
