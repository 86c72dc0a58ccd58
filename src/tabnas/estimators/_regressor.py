"""The regressor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from sklearn.base import RegressorMixin

from tabnas.data import NumberTarget
from tabnas.errors import TabNASError
from tabnas.estimators._answers import answers, labelled, quantities, row_weights, target_name
from tabnas.estimators._base import TabNASEstimator
from tabnas.estimators._features import checked_table
from tabnas.model import Model
from tabnas.types import FloatArray


class TabNASRegressor(RegressorMixin, TabNASEstimator):  # type: ignore[misc]
    """The best network for a quantity within hard limits, found and trained by `fit`.

    Tables may be pandas or polars frames, pyarrow tables, arrays or lists. Missing values, texts,
    dates and categories are welcome; neither features nor the quantity need scaling.

    Parameters
    ----------
    max_parameters : int or None, default=20_000
        The most numbers that the network may hold, embeddings of categories included. None is no
        such limit; at least one limit must be set.
    max_dense_parameters : int or None, default=None
        The most weights and biases of the dense layers.
    max_flops : int or None, default=None
        The most operations for one row.
    max_bytes : int or None, default=None
        The most bytes of weights.
    max_latency_us : float or None, default=None
        The most microseconds that a call for one row may take, from the table's columns to the
        answer, of the model as an ONNX file in onnxruntime, on one thread of this machine. The
        model that is returned was measured.
    max_batch_latency_us : float or None, default=None
        The same for a call of 256 rows.
    latency_table : str, Path or None, default=None
        A file of `tabnas latency --out` from another machine, to keep the latency there. Then it
        is predicted and cannot be measured.
    layers : int or None, default=None
        The most hidden layers; None is three.
    widths : sequence of int or None, default=None
        Candidate widths of every layer, where 0 makes layers optional. None follows from the
        limits.
    metric : str or None, default=None
        What candidates are chosen by: "rmse" (the default), "mae" or "r2".
    categorical_features : sequence of str, int or bool, or None, default=None
        Columns of categories, by name, by position or as a mask, where types do not tell: codes
        in numbers. Texts and a frame's own categories are found without.
    validation_fraction : float, default=0.2
        The share of rows that the search looks at to tell architectures apart. Up to 3,000 rows,
        candidates are chosen by cross-validation on all rows.
    candidates : int or None, default=None
        How many of the most promising architectures are trained alone to choose from; None is
        three, and up to three simpler ones where rows are few.
    time : float or None, default=None
        About how many seconds `fit` may take. With it, results depend on the machine; None does as
        much work as pays by default.
    refit : bool, default=True
        Whether the chosen network is trained once more on all rows, those of validation included,
        for as many epochs as did best. Up to 3,000 rows it always is.
    n_jobs : int or None, default=None
        How many architectures train side by side in a step of the search, which shapes the
        result; None is one, -1 as many as there are cores. Each needs an idle core: on busy ones,
        more are slower than one.
    random_state : int, RandomState or None, default=None
        An integer makes `fit` repeatable bit for bit.
    verbose : int, default=0
        Whether lines about the progress are printed. The logger `tabnas` gets them, at INFO, in
        any case.

    Attributes
    ----------
    architecture_ : Architecture
        The widths of the hidden layers; `str` gives "32-144-24".
    model_ : Model
        The network with its encoder.
    costs_ : dict of str to float
        What the network uses of every cost; latencies as predicted.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of str
        Their names, if X had such.
    n_iter_ : int
        Epochs of the final training.
    candidates_ : list of dict
        The architectures that were trained alone, best first.
    history_ : list of Snapshot
        The course of the search.
    result_ : dict
        All facts of the run, fit for JSON.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rooms, area = rng.integers(1, 6, 200), rng.uniform(20, 200, 200)
    >>> homes, rent = {"rooms": rooms, "area": area}, 300 + 8 * area + 50 * rooms
    >>> regressor = TabNASRegressor(max_bytes=1_000, candidates=1, random_state=0)
    >>> regressor = regressor.fit(homes, rent)
    >>> regressor.costs_["bytes"] <= 1_000
    True
    >>> regressor.score(homes, rent) > 0.9
    True
    """

    def __init__(
        self,
        max_parameters: int | None = 20_000,
        *,
        max_dense_parameters: int | None = None,
        max_flops: int | None = None,
        max_bytes: int | None = None,
        max_latency_us: float | None = None,
        max_batch_latency_us: float | None = None,
        latency_table: str | Path | None = None,
        layers: int | None = None,
        widths: Sequence[int] | None = None,
        metric: str | None = None,
        categorical_features: Sequence[Any] | None = None,
        validation_fraction: float = 0.2,
        candidates: int | None = None,
        time: float | None = None,
        refit: bool = True,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.max_parameters = max_parameters
        self.max_dense_parameters = max_dense_parameters
        self.max_flops = max_flops
        self.max_bytes = max_bytes
        self.max_latency_us = max_latency_us
        self.max_batch_latency_us = max_batch_latency_us
        self.latency_table = latency_table
        self.layers = layers
        self.widths = widths
        self.metric = metric
        self.categorical_features = categorical_features
        self.validation_fraction = validation_fraction
        self.candidates = candidates
        self.time = time
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,  # noqa: N803
        y: Any,
        sample_weight: Any = None,
        *,
        resume: str | Path | None = None,
    ) -> Self:
        """Find and train the network.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            The features; at least 10 rows.
        y : array-like of shape (n_samples,)
            The quantity.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            What each row weighs in training and in choosing. Rows that weigh nothing are left out.
        resume : str, Path or None, default=None
            A folder for the run: checkpoints while it goes on, model and result in the end. If it
            holds a run of the same table and parameters that was stopped, that one is gone on with,
            to the same bits. Parameters must then fix the seed by `random_state`.
        """
        table = checked_table(self, X, reset=True)
        values = quantities(answers(self, y, len(table)))
        weight = row_weights(sample_weight, len(table))
        if len(values) < 2:
            raise TabNASError(
                f"X must have rows to learn from and rows to choose by, got n_samples={len(values)}"
            )
        target = NumberTarget.fit(target_name(y), pa.chunked_array([values]))
        self._search(labelled(table, target, values, weight), resume)
        return self

    def _take(self, model: Model, folder: str) -> None:
        if not isinstance(model.target, NumberTarget):
            raise TabNASError(
                f"the model in {folder!r} must be of a quantity, but it predicts classes; "
                "take TabNASClassifier.load"
            )

    def predict(self, X: Any) -> FloatArray:  # noqa: N803
        """The quantity of each row, in its own units."""
        table = self._asked(X)
        values: FloatArray = self.model_.predict(table)
        return values
