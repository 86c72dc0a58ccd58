"""The classifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import compute_sample_weight

from tabnas.data import ClassTarget
from tabnas.errors import TabNASError
from tabnas.estimators._base import TabNASEstimator
from tabnas.estimators._features import check_features
from tabnas.estimators._targets import (
    check_sample_weight,
    check_y,
    compute_validation_weight,
    encode_classes,
    encode_validation_labels,
    make_labelled_table,
    target_name,
)
from tabnas.model import Model, probabilities
from tabnas.runs import LabelledTable
from tabnas.types import FloatArray, IntArray


class TabNASClassifier(ClassifierMixin, TabNASEstimator):  # type: ignore[misc]
    """Classifier: `fit` finds and trains the best network within hard limits.

    Tables may be pandas or polars frames, pyarrow tables, arrays or lists, with missing values,
    texts, dates and categories; numbers need no scaling.

    Parameters
    ----------
    max_parameters : int or None, default=None
        Maximum number of trained parameters, including embeddings. None means 20,000 if nothing
        else is limited, and no such limit otherwise.
    max_dense_parameters : int or None, default=None
        Maximum number of weights and biases of the dense layers.
    max_flops : int or None, default=None
        Maximum number of operations for one row.
    max_bytes : int or None, default=None
        Maximum size of the weights in bytes, as they are stored: see `precision`.
    max_ram_bytes : int or None, default=None
        Maximum memory for activations in bytes, while one row is predicted: the input and the
        output of a layer, as float32.
    max_latency_us : float or None, default=None
        Maximum microseconds of a call for one row, including preprocessing, of the exported model
        on one thread of this machine: see `runtime`. The fitted model is measured.
    max_batch_latency_us : float or None, default=None
        The same for a call of 256 rows.
    latency_table : str, Path or None, default=None
        A file written by `tabnas latency --out` on another machine, whose latency is then limited.
        It is predicted and not measured.
    runtime : {"onnxruntime", "c"}, default="onnxruntime"
        What limits on latency are measured in: the exported file in onnxruntime, with the call from
        Python, or the exported C code, compiled on this machine, without any call from Python.
    precision : {"auto", "float32", "float16", "int8"}, default="auto"
        How weights are stored. "auto" is float32; if bytes are limited, int8 or float32, whichever
        is better on rows held out from training. Predictions are those of the rounded weights.
    layers : int or None, default=None
        Maximum number of hidden layers; None means three.
    widths : sequence of int or None, default=None
        Candidate widths of every layer, where 0 makes a layer optional. None derives them from
        the limits.
    numeric_dimensions : sequence of int or None, default=None
        Candidate dimensions of the embeddings of numeric columns. With 0, networks can read numbers
        as they are; `(0,)` turns embeddings off. None stands for (0, 1, 2, 4, 8).
    knots : int or None, default=None
        Maximum number of knots of the embedding of a numeric column. None chooses 4 to 64, by the
        limit and the number of rows.
    teacher : "auto", "trees", "network", "none" or estimator, default="auto"
        Who teaches the networks: models without a limit, whose answers networks learn from if that
        helps. "auto" is boosted trees and a wide network. Any classifier with `predict_proba`
        is cloned and fitted out of fold on rows of X as they are passed; a `FrozenEstimator` is
        used as it is.
    metric : str or None, default=None
        The metric that candidates are chosen by: "log_loss" (the default), "accuracy",
        "balanced_error" or "auc".
    class_weight : dict, "balanced" or None, default=None
        Weights of classes by label. "balanced" gives all classes the same total weight in
        training.
    categorical_features : sequence of str, int or bool, or None, default=None
        Columns that are categorical although they hold numbers, by name, by position or as a
        mask. Texts and categorical columns of a frame are detected.
    validation_fraction : float, default=0.2
        Fraction of the rows on which the search evaluates architectures. Up to 3,000 rows,
        candidates are chosen by cross-validation on all rows, unless validation rows are given or
        there are fewer than ten groups. `fit` also takes `groups` that no split separates, and
        validation rows of your own, `X_val` and `y_val`.
    candidates : int or None, default=None
        How many of the most promising architectures of the search are trained from scratch to
        choose from, widened until they use up the limits. None means two, networks of equally wide
        layers that use up the limits (one, or up to three with numeric embeddings), and up to three
        simpler ones if there are few rows. If bytes are limited, one that fits as float32 may be
        added. With `widths`, None means three, or four with numeric embeddings, not widened.
    time : float or None, default=None
        Approximate number of seconds that `fit` may take. Results then depend on the machine. None
        means no limit.
    refit : bool, default=True
        Whether the chosen network is trained again on all rows, including the validation rows,
        for the best number of epochs. If candidates are cross-validated, it always is. `fit` holds
        out no test rows; `tabnas search --refit` trains on those, too, and only if asked for.
    n_jobs : int or None, default=None
        The number of threads, which does not affect the result unless `time` is set; None and -1
        mean all cores that the machine allows, -2 all but one.
    random_state : int, RandomState or None, default=None
        An integer makes `fit` reproducible bit for bit.
    verbose : int, default=0
        Whether progress is printed. It is always logged to the logger `tabnas` at level INFO.

    Attributes
    ----------
    architecture_ : Architecture
        The widths of the hidden layers, and the dimension of numeric embeddings; `str` gives
        "32-144-24", or "d2-32-144-24".
    model_ : Model
        The network and its encoder.
    costs_ : dict of str to float
        Every cost of the network; latencies are predicted ones.
    classes_ : ndarray
        The labels, in the order of `predict_proba`.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had any.
    n_iter_ : int
        Epochs of the final training.
    candidates_ : list of CandidateResult
        The architectures that were trained stand-alone, best first.
    history_ : list of Snapshot
        The course of the search.
    result_ : RunResult
        The result of the run, as `result.json` holds it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> flowers, species = load_iris(return_X_y=True)
    >>> classifier = TabNASClassifier(max_parameters=200, candidates=1, random_state=0)
    >>> classifier = classifier.fit(flowers, species)
    >>> classifier.costs_["parameters"] <= 200
    True
    >>> classifier.score(flowers, species) > 0.9
    True
    >>> classifier.predict_proba(flowers[:2]).shape
    (2, 3)
    """

    def __init__(
        self,
        max_parameters: int | None = None,
        *,
        max_dense_parameters: int | None = None,
        max_flops: int | None = None,
        max_bytes: int | None = None,
        max_ram_bytes: int | None = None,
        max_latency_us: float | None = None,
        max_batch_latency_us: float | None = None,
        latency_table: str | Path | None = None,
        runtime: str = "onnxruntime",
        precision: str = "auto",
        layers: int | None = None,
        widths: Sequence[int] | None = None,
        numeric_dimensions: Sequence[int] | None = None,
        knots: int | None = None,
        teacher: Any = "auto",
        metric: str | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
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
        self.max_ram_bytes = max_ram_bytes
        self.max_latency_us = max_latency_us
        self.max_batch_latency_us = max_batch_latency_us
        self.latency_table = latency_table
        self.runtime = runtime
        self.precision = precision
        self.layers = layers
        self.widths = widths
        self.numeric_dimensions = numeric_dimensions
        self.knots = knots
        self.teacher = teacher
        self.metric = metric
        self.class_weight = class_weight
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
        run_dir: str | Path | None = None,
        unlabelled: Any = None,
        groups: Any = None,
        X_val: Any = None,  # noqa: N803
        y_val: Any = None,
    ) -> Self:
        """Find and train the network.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            The features; at least 10 rows.
        y : array-like of shape (n_samples,)
            The labels: texts, integers, integral floats or booleans; at least two classes.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of rows, in training and evaluation. Rows of weight 0 are ignored.
        run_dir : str, Path or None, default=None
            A folder for checkpoints, model and result. If it holds an interrupted run of the same
            rows, groups and parameters, that run is continued, to the same bits. `random_state`
            must be an integer.
        unlabelled : table of shape (n_rows, n_features) or None, default=None
            More rows, whose target is not known. A teacher answers them, and the network learns
            from its answers if that helps by the validation rows. An estimator as the teacher reads
            them as they are, so pass the type of X. A `Pipeline` does not transform them.
        groups : array-like of shape (n_samples,) or None, default=None
            The group of each row: a patient, a household, a document. Rows of a group are never in
            two parts of a split: neither in training and validation rows nor in two folds, those of
            a teacher included. Two values are the same group if they would be the same category.
            Groups are not a feature, and `predict` does not need them.
        X_val : table of shape (n_rows, n_features) or None, default=None
            Validation rows of your own, with the columns of X, in place of `validation_fraction`
            and of cross-validation. Networks are chosen by them, and all rows of X are for
            training. With `refit`, as by default, the final network is trained on them, too. Each
            weighs as much as a row of X does on average, times the `class_weight` of its class.
            `groups` are those of X, and then only matter to the folds of a teacher; rows of X_val
            should be of other groups. An estimator as the teacher reads X_val as it is, so pass the
            type of X. A `Pipeline` transforms X_val only if its `transform_input` names it.
        y_val : array-like of shape (n_rows,) or None, default=None
            The labels of X_val, which must be among those of y.

        Returns
        -------
        self
            The fitted estimator.
        """
        table = check_features(self, X, reset=True)
        labels = check_y(self, y, len(table))
        classes, target, codes = encode_classes(labels, target_name(y))
        unbalanced = check_sample_weight(sample_weight, len(table))
        weight = self._apply_class_weight(unbalanced, labels)
        data = make_labelled_table(table, target, codes.astype(np.int32), weight, groups)
        present = np.unique(data.y)
        if len(present) < 2:
            raise TabNASError(
                "at least two classes must have a positive weight, but one class has all the "
                f"weight: {target.classes[present[0]]!r}"
            )
        validation = None
        checked = self._check_validation(X_val, y_val)
        if checked is not None:
            table_val, labels_val = checked
            codes_val = encode_validation_labels(labels_val, classes)
            weight_val = self._compute_validation_weight(unbalanced, classes, codes, codes_val)
            validation = LabelledTable(table_val, target, codes_val, weight_val)
        self._search(data, validation, run_dir, X=X, unlabelled=unlabelled, X_val=X_val)
        self.classes_ = classes
        return self

    def _apply_class_weight(
        self, weight: FloatArray | None, labels: NDArray[Any]
    ) -> FloatArray | None:
        """Return the weights of rows times those of a dict `class_weight`."""
        if not isinstance(self.class_weight, Mapping):
            return weight
        by_class = compute_sample_weight(dict(self.class_weight), labels)
        return check_sample_weight(by_class if weight is None else by_class * weight, len(labels))

    def _compute_validation_weight(
        self, weight: FloatArray | None, classes: NDArray[Any], codes: IntArray, codes_val: IntArray
    ) -> FloatArray | None:
        """Return the weights of validation rows, on the scale of those of rows of X."""
        weight_val = compute_validation_weight(weight, len(codes_val))
        if not isinstance(self.class_weight, Mapping):
            return weight_val
        by_class = np.array([self.class_weight.get(label, 1.0) for label in classes.tolist()])
        largest = (by_class[codes] * (1.0 if weight is None else weight)).max()
        by_row = by_class[codes_val] / largest
        return np.asarray(by_row if weight_val is None else weight_val * by_row)

    def _check_model(self, model: Model, folder: str) -> None:
        if not isinstance(model.target, ClassTarget):
            raise TabNASError(
                f"the model in {folder!r} must predict classes, but it predicts numbers; "
                "use TabNASRegressor.load"
            )

    def decision_function(self, X: Any) -> FloatArray:  # noqa: N803
        """Return the logit of the second class [rows], or those of all classes [rows, classes]."""
        raw = self._predict_raw(X).astype(np.float64)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Return the most probable label of each row, of the type of y."""
        logits = self.decision_function(X)
        codes = (logits > 0).astype(np.int64) if logits.ndim == 1 else logits.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803
        """Return the accuracy on these rows; y may be of every kind that `fit` accepts."""
        predicted = self.predict(X)
        labels = check_y(self, y, len(predicted))
        return float(accuracy_score(labels, predicted, sample_weight=sample_weight))

    def predict_proba(self, X: Any) -> FloatArray:  # noqa: N803
        """Return the probability of every class [rows, classes], in the order of `classes_`."""
        return probabilities(self._predict_raw(X))

    def predict_log_proba(self, X: Any) -> FloatArray:  # noqa: N803
        """Return the logarithm of `predict_proba`, accurate for tiny probabilities as well."""
        raw = self._predict_raw(X).astype(np.float64)
        if raw.shape[1] == 1:
            raw = np.concatenate([np.zeros_like(raw), raw], axis=1)
        return np.asarray(log_softmax(raw, axis=1))
