"""The user's own teacher: any classifier or regressor with the interface of scikit-learn."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.data import ClassTarget, NumberTarget, Target
from tabnas.decoding import to_python
from tabnas.errors import TabNASError
from tabnas.formatting import shorten
from tabnas.teachers._rows import TABLE, UNLABELLED_TABLE, VALIDATION_TABLE, TeacherRows
from tabnas.teachers._teacher import MAX_ROUNDING, MAX_SUM_ERROR, StepCallback, do_nothing
from tabnas.types import FloatArray, IntArray

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


@dataclass(frozen=True, eq=False)
class EstimatorTeacher:
    """An estimator that is cloned and fitted out of fold, or a `FrozenEstimator` as it is.

    It reads the rows as the user has them, so it can be a pipeline with its own preprocessing.

    Parameters
    ----------
    estimator
        A classifier with `predict_proba`, or a regressor.
    features
        X: a frame or an array with the rows of the table, in its order and without the target.
    unlabelled
        The rows of `LabelledTable.with_unlabelled`, if any, of the same type as X.
    validation
        The validation rows of the run, if they are in a table of their own, of the same type as X.
    """

    estimator: Any
    features: Any
    unlabelled: Any = None
    validation: Any = None

    @property
    def name(self) -> str:
        """The class of the estimator, with that of the last step of a pipeline.

        >>> from sklearn.frozen import FrozenEstimator
        >>> from sklearn.linear_model import Ridge
        >>> from sklearn.pipeline import make_pipeline
        >>> EstimatorTeacher(FrozenEstimator(Ridge()), []).name
        'Ridge'
        >>> EstimatorTeacher(make_pipeline(Ridge()), []).name
        'Pipeline (Ridge)'
        """
        from sklearn.pipeline import Pipeline

        inner = self.estimator.estimator if self.is_frozen else self.estimator
        name = type(inner).__name__
        return f"{name} ({type(inner[-1]).__name__})" if isinstance(inner, Pipeline) else name

    @property
    def is_frozen(self) -> bool:
        """Whether it is fitted already, and used as it is."""
        from sklearn.frozen import FrozenEstimator

        return isinstance(self.estimator, FrozenEstimator)

    @property
    def takes_weights(self) -> bool:
        """Whether its `fit` takes weights of rows."""
        return bool(self._weight_parameter)

    @property
    def identity(self) -> str:
        """The class and all parameters, also of steps; a resumed run must have the same."""
        parameters = self.estimator.get_params(deep=True)
        shown = (
            f"{key}={type(value).__name__ if hasattr(value, 'get_params') else repr(value)}"
            for key, value in sorted(parameters.items())
        )
        return ADDRESS.sub("", f"{type(self.estimator).__name__}({', '.join(shown)})")

    def check(self, target: Target) -> None:
        """Raise an error if the estimator cannot predict the target."""
        from sklearn.base import is_classifier

        estimator = self.estimator
        if isinstance(estimator, type) or not all(
            hasattr(estimator, method) for method in ("fit", "predict", "get_params")
        ):
            raise TabNASError(
                "teacher must be 'auto', 'trees', 'network', 'none' or an estimator of "
                f"scikit-learn, got {shorten(repr(estimator), 80)}"
            )
        if isinstance(target, ClassTarget):
            if not hasattr(estimator, "predict_proba"):
                raise TabNASError(
                    "teacher must be a classifier that has predict_proba, got "
                    f"{self.name}; wrap it in CalibratedClassifierCV, or use another"
                )
        elif is_classifier(estimator):
            raise TabNASError(
                f"teacher must be a regressor, since the target is numeric, got {self.name}"
            )

    def fit_predict(
        self,
        rows: TeacherRows,
        train: IntArray,
        answered: IntArray,
        *,
        seed: int,
        on_step: StepCallback = do_nothing,
    ) -> NDArray[np.float32]:
        """Fit a clone on the rows `train` and answer the rows `answered`; see `Teacher`.

        Random states that are None are set by the seed.
        """
        fitted = self.estimator if self.is_frozen else self._fit(rows, train, seed)
        assert rows.row_numbers is not None
        answers = np.empty((len(answered), rows.spec.outputs), np.float32)
        of_table = np.full(len(answered), TABLE) if rows.tables is None else rows.tables[answered]
        for table, name, features in (
            (TABLE, "X", self.features),
            (VALIDATION_TABLE, "the validation rows", self.validation),
            (UNLABELLED_TABLE, "unlabelled", self.unlabelled),
        ):
            chosen = of_table == table
            if chosen.any():
                numbers = rows.row_numbers[answered[chosen]]
                taken = self._take(name, features, numbers)
                answers[chosen] = self._predict(fitted, rows, taken, len(numbers))
        return answers

    def _predict(
        self, fitted: Any, rows: TeacherRows, features: Any, count: int
    ) -> NDArray[np.float32]:
        """Return the checked answers of a fitted estimator to `count` rows."""
        if isinstance(rows.target, NumberTarget):
            with self._name_errors("predict"):
                values = np.asarray(fitted.predict(features), np.float64)
            if values.shape not in ((count,), (count, 1)):
                self._refuse(f"one number for each of {count:,} rows", f"{values.shape}")
            if not np.isfinite(values).all():
                self._refuse("finite numbers", f"{values[~np.isfinite(values)][0]}")
            return np.asarray(rows.target.scale_values(values.reshape(-1, 1)), np.float32)
        assert isinstance(rows.target, ClassTarget)
        with self._name_errors("predict_proba"):
            probabilities = np.asarray(fitted.predict_proba(features), np.float64)
        matched = self._match_classes(fitted, rows.target, probabilities, count)
        return np.asarray(matched[:, -rows.spec.outputs :], np.float32)

    def _fit(self, rows: TeacherRows, train: IntArray, seed: int) -> Any:
        """Return a clone that has learned from these rows."""
        from sklearn.base import clone

        estimator = clone(self.estimator)
        unset = {
            key: seed % 2**32
            for key, value in estimator.get_params(deep=True).items()
            if value is None and (key == "random_state" or key.endswith("__random_state"))
        }
        y = rows.y[train]
        if isinstance(rows.target, ClassTarget):
            y = rows.target.decode(y)
        weight = {}
        if rows.weight is not None and self.takes_weights:
            weight = {self._weight_parameter: np.asarray(rows.weight[train], np.float64)}
        assert rows.row_numbers is not None
        features = self._take("X", self.features, rows.row_numbers[train])
        with self._name_errors("fit"):
            estimator.set_params(**unset)
            estimator.fit(features, y, **weight)
        return estimator

    def _match_classes(
        self, fitted: Any, target: ClassTarget, probabilities: FloatArray, rows: int
    ) -> FloatArray:
        """Return the probability of each class of the target; one that a fold lacks has 0."""
        classes = list(map(to_python, getattr(fitted, "classes_", ())))
        if probabilities.shape != (rows, len(classes)):
            self._refuse(
                f"a probability for each of {rows:,} rows and of the {len(classes)} classes_",
                f"the shape {probabilities.shape}",
            )
        positions = {label: index for index, label in enumerate(target.classes)}
        for label in classes:
            if label not in positions:
                known = ", ".join(map(repr, target.classes[:5]))
                self._refuse(f"classes of the target, which has {known}", f"the class {label!r}")
        wrong = ~((probabilities >= -MAX_ROUNDING) & (probabilities <= 1 + MAX_ROUNDING))
        if wrong.any():
            self._refuse("probabilities from 0 to 1", f"{probabilities[wrong][0]}")
        sums = probabilities.sum(axis=1, keepdims=True)
        off = np.abs(sums - 1) > MAX_SUM_ERROR
        if off.any():
            self._refuse("probabilities that add up to 1 in each row", f"{sums[off][0]:g}")
        matched = np.zeros((rows, len(target.classes)))
        matched[:, [positions[label] for label in classes]] = probabilities.clip(0, 1) / sums
        return matched

    def _take(self, name: str, features: Any, numbers: IntArray) -> Any:
        """Return rows of a table as the user has passed it."""
        from sklearn.utils import _safe_indexing

        if not hasattr(features, "__getitem__"):  # an array by `__array__`, say
            features = np.asarray(features)
        with self._name_errors(f"read rows of {name}"):
            return _safe_indexing(features, numbers)

    @property
    def _weight_parameter(self) -> str:
        """The parameter of `fit` for weights: for a pipeline, that of its last step; "" if none."""
        from sklearn.pipeline import Pipeline
        from sklearn.utils.validation import has_fit_parameter

        steps, estimator = "", self.estimator
        while isinstance(estimator, Pipeline):
            step, estimator = estimator.steps[-1]
            steps += f"{step}__"
        return f"{steps}sample_weight" if has_fit_parameter(estimator, "sample_weight") else ""

    @contextmanager
    def _name_errors(self, what: str) -> Iterator[None]:
        """Turn errors of the estimator into ones that name it."""
        try:
            yield
        except Exception as error:
            raise TabNASError(
                f"the teacher {self.name} failed to {what}: {type(error).__name__}: "
                f"{shorten(str(error), 500)}"
            ) from error

    def _refuse(self, must: str, got: str) -> None:
        raise TabNASError(f"the teacher {self.name} must answer with {must}, got {got}")
