"""The base class of both estimators: fitting by a run, saving, loading and exporting."""

from __future__ import annotations

from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tabnas.data import ClassTarget, Table
from tabnas.errors import TabNASError
from tabnas.estimators._features import categorical_kinds, check_features
from tabnas.estimators._progress_logger import ProgressLogger
from tabnas.estimators._run_settings import limit_names, make_run_settings, resolve_n_jobs
from tabnas.estimators._targets import check_y
from tabnas.model import Model, save_model
from tabnas.runs import (
    LabelledTable,
    build_run_result,
    load_result,
    load_run_model,
    plan_run,
    run_in_folder,
)
from tabnas.teachers import EstimatorTeacher
from tabnas.threads import limit_threads

if TYPE_CHECKING:
    from tabnas.export import CExportResult, ExportResult


class TabNASEstimator(BaseEstimator):  # type: ignore[misc]
    """The base class; scikit-learn reads the parameters from the `__init__` of subclasses."""

    def _search(
        self,
        data: LabelledTable,
        validation: LabelledTable | None,
        run_dir: str | Path | None,
        *,
        X: Any,  # noqa: N803
        unlabelled: Any,
        X_val: Any,  # noqa: N803
    ) -> Self:
        """Find the best architecture within the limits, train it, and set all attributes.

        `X`, `unlabelled` and `X_val` are tables as the user has passed them.
        """
        if run_dir is not None and not isinstance(self.random_state, Integral):
            raise TabNASError(
                "random_state must be an integer if run_dir is given, so that the run can be "
                f"resumed, got {self.random_state!r}"
            )
        if unlabelled is not None:
            data = data.with_unlabelled(check_features(self, unlabelled, reset=False))
        kinds = categorical_kinds(data.features, self.categorical_features)
        logger = ProgressLogger(self.verbose)
        settings = make_run_settings(self, kinds, has_groups=data.groups is not None)
        teacher = None
        if not isinstance(self.teacher, str):
            _refuse_masks(X, unlabelled, X_val)
            teacher = EstimatorTeacher(self.teacher, X, unlabelled, X_val)
            teacher.check(data.target)
        with limit_threads(resolve_n_jobs(self.n_jobs)):
            if run_dir is None:
                run = plan_run(
                    data, settings, validation=validation, teacher=teacher, on_progress=logger
                )
                logger.on_start(run)
                finished = run.execute(logger)
            else:
                finished = run_in_folder(
                    run_dir,
                    data,
                    settings,
                    on_progress=logger,
                    on_plan=logger.on_start,
                    validation=validation,
                    teacher=teacher,
                )
        logger.on_end(finished)
        self._set_model(finished.model)
        feasible = finished.plan.feasible
        budget = feasible.budget.at_precision(finished.model.precision)
        self.costs_ |= budget.costs(feasible.space, self.architecture_)
        self.n_iter_ = finished.chosen.stop_after
        self.result_ = build_run_result(finished) if run_dir is None else load_result(run_dir)
        self.candidates_ = list(self.result_.candidates)
        self.history_ = list(finished.snapshots)
        return self

    def _set_model(self, model: Model) -> None:
        self.model_ = model
        self.architecture_ = model.architecture
        self.costs_ = model.costs

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _check_features(self, features: Any) -> Table:
        """Return the rows to predict as a table."""
        check_is_fitted(self)
        return check_features(self, features, reset=False, encoder=self.model_.encoder)

    def _check_validation(
        self,
        X_val: Any,  # noqa: N803
        y_val: Any,
    ) -> tuple[Table, NDArray[Any]] | None:
        """Return the validation rows of the user as a table, and their checked y_val, if any."""
        if (X_val is None) != (y_val is None):
            missing, given = ("y_val", "X_val") if y_val is None else ("X_val", "y_val")
            raise TabNASError(
                f"X_val and y_val must be given together, got only {given}; add {missing}, or "
                "leave both out"
            )
        if X_val is None:
            return None
        try:
            table = check_features(self, X_val, reset=False)
        except ValueError as error:  # scikit-learn's errors call it X
            raise TabNASError(f"X_val must have rows with the columns of X: {error}") from error
        return table, check_y(self, y_val, len(table), suffix="_val")

    def _predict_raw(self, features: Any) -> NDArray[np.float32]:
        """Return the network's outputs for the rows to predict."""
        table = self._check_features(features)
        raw: NDArray[np.float32] = self.model_.predict_raw(table)
        return raw

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Write the fitted model to a folder, without pickle.

        Parameters
        ----------
        folder : str or Path
            A new or empty folder, or with `overwrite` the folder of another model.
        overwrite : bool, default=False
            Whether an existing model may be replaced.
        """
        check_is_fitted(self)
        save_model(self.model_, folder, overwrite=overwrite)

    def export_onnx(
        self,
        path: str | Path,
        X: Any = None,  # noqa: N803
        y: Any = None,
        *,
        weights_only: bool = False,
        int8: bool = False,
        margin: float = 0.01,
    ) -> ExportResult:
        """Write the fitted model as one ONNX file that takes the columns of X.

        It is written only if it predicts the same as `predict` and `predict_proba`.

        Parameters
        ----------
        path : str or Path
            Where to write; must end in .onnx. An existing file is replaced.
        X : table or array, optional
            Real rows to compare on, in addition to synthetic ones.
        y : array-like, optional
            Their target, needed for `int8`.
        weights_only : bool, default=False
            Whether to leave out preprocessing. The file then takes encoded rows and returns the
            network's outputs.
        int8 : bool, default=False
            Whether to store matrices in 8 bits, if that costs at most `margin` of the score.
        margin : float, default=0.01
            Relative to the log loss or RMSE.

        Returns
        -------
        ExportResult
            The inputs and outputs of the file, its size, and how it was checked.
        """
        from tabnas.export import export_onnx

        check_is_fitted(self)
        return export_onnx(
            self.model_,
            path,
            check=None if X is None else self._check_features(X),
            y=y,
            weights_only=weights_only,
            int8=int8,
            margin=margin,
        )

    def export_c(
        self,
        folder: str | Path,
        X: Any = None,  # noqa: N803
        *,
        prefix: str = "tabnas",
    ) -> CExportResult:
        """Write the fitted model as `model.h` and `model.c`, for devices without any runtime.

        `model_test.c` has synthetic rows with their predictions, to test a device.

        If there is a C compiler, they are written only if they predict the same as `predict` and
        `predict_proba`.

        Parameters
        ----------
        folder : str or Path
            Where to write. Files of these names are replaced.
        X : table or array, optional
            Real rows to compare on, in addition to synthetic ones.
        prefix : str, default="tabnas"
            What all names begin with, so that a program can use several models.

        Returns
        -------
        CExportResult
            The memory that the files need, and how they were checked.
        """
        from tabnas.export import export_c

        check_is_fitted(self)
        rows = None if X is None else self._check_features(X)
        return export_c(self.model_, folder, check=rows, prefix=prefix)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Load a fitted estimator from a folder that `save` or a run has written.

        It predicts the same as the saved one. Its limits are those of the model, all other
        parameters have their defaults, and the attributes `result_`, `history_`, `candidates_` and
        `n_iter_` are not set.

        Parameters
        ----------
        folder : str or Path
            The folder of a model or of a finished run.

        Returns
        -------
        TabNASClassifier or TabNASRegressor
            The fitted estimator.
        """
        model = load_run_model(folder)
        loaded = cls(**{f"max_{name}": model.limits.get(name) for name in limit_names(cls)})
        loaded._check_model(model, str(folder))
        loaded._set_model(model)
        if isinstance(model.target, ClassTarget):
            loaded.classes_ = model.target.labels
        names = [name for name in model.feature_names if name not in model.encoder.dropped]
        if model.encoder.has_names:
            loaded.feature_names_in_ = np.array(names, dtype=object)
        loaded.n_features_in_ = len(names)
        return loaded

    def _check_model(self, model: Model, folder: str) -> None:
        """Raise an error if the model has another task."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _refuse_masks(*tables: Any) -> None:
    """Raise an error if a table of a teacher has masked values, which scikit-learn would ignore."""
    if any(isinstance(one, np.ma.MaskedArray) and np.ma.is_masked(one) for one in tables):
        raise TabNASError(
            "X must have no masked values if the teacher is an estimator, which would take what is "
            "behind the mask; fill them in, or make them NaN"
        )
