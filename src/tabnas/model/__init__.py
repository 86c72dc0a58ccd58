"""Trained models in memory and on disk, their scores, and reference models to compare with."""

from __future__ import annotations

from tabnas.model._calibration import apply_temperature, fit_temperature, smoothed_log_loss
from tabnas.model._files import load_model, save_model
from tabnas.model._metrics import METRICS, Metric, default_metric, get_metric, metrics_for
from tabnas.model._model import Model, decode_outputs, probabilities
from tabnas.model._network_spec import make_examples, make_network_spec
from tabnas.model._reference_models import (
    MAX_TREE_ROWS,
    MAX_TREE_VALIDATION_ROWS,
    BoostedTrees,
    TreeRows,
    fit_boosted_trees,
    import_boosted_trees,
    trivial_prediction,
)
from tabnas.model._rounding import (
    Int8Array,
    Weight,
    center_weights,
    dequantize,
    quantize_weights,
    round_network,
    round_weights,
)
from tabnas.model._scores import primary_loss, score
from tabnas.model._tree_inputs import EncodedTreeMatrix, TreeInputs, TreeMatrix
from tabnas.model._weights import weight_shapes
from tabnas.results import Score, Scores

__all__ = [
    "MAX_TREE_ROWS",
    "MAX_TREE_VALIDATION_ROWS",
    "METRICS",
    "BoostedTrees",
    "EncodedTreeMatrix",
    "Int8Array",
    "Metric",
    "Model",
    "Score",
    "Scores",
    "TreeInputs",
    "TreeMatrix",
    "TreeRows",
    "Weight",
    "apply_temperature",
    "center_weights",
    "decode_outputs",
    "default_metric",
    "dequantize",
    "fit_boosted_trees",
    "fit_temperature",
    "get_metric",
    "import_boosted_trees",
    "load_model",
    "make_examples",
    "make_network_spec",
    "metrics_for",
    "primary_loss",
    "probabilities",
    "quantize_weights",
    "round_network",
    "round_weights",
    "save_model",
    "score",
    "smoothed_log_loss",
    "trivial_prediction",
    "weight_shapes",
]
