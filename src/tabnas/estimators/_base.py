"""What both estimators share: the run behind `fit`, and the model on disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tabnas.data import Table
from tabnas.estimators._choices import limited, run_settings
from tabnas.estimators._features import categorical_kinds, checked_table
from tabnas.estimators._telling import Telling
from tabnas.model import Model, save_model
from tabnas.runs import LabelledTable, describe_outcome, load_run_model, plan_run, run_in_folder

if TYPE_CHECKING:
    from tabnas.export import Exported


class TabNASEstimator(BaseEstimator):  # type: ignore[misc]
    """The common part; scikit-learn finds the parameters in the classes' own `__init__`."""

    def _search(self, data: LabelledTable, folder: str | Path | None) -> Self:
        """Find the best architecture within the limits, train it, and keep what was found."""
        kinds = categorical_kinds(data.features, self.categorical_features)
        telling = Telling(self.verbose)
        settings = run_settings(self, kinds)
        if folder is None:
            run = plan_run(data, settings, on_progress=telling)
            telling.begin(run)
            outcome = run.execute(telling)
        else:
            outcome = run_in_folder(
                folder, data, settings, on_progress=telling, on_plan=telling.begin
            )
        telling.end(outcome)
        self._keep(outcome.model)
        feasible = outcome.plan.feasible
        self.costs_ |= feasible.budget.costs(feasible.space, self.architecture_)
        self.n_iter_ = outcome.chosen.stop_after
        self.result_ = describe_outcome(outcome)
        self.candidates_ = self.result_["candidates"]
        self.history_ = list(outcome.snapshots)
        return self

    def _keep(self, model: Model) -> None:
        self.model_ = model
        self.architecture_ = model.architecture
        self.costs_ = model.costs

    def _asked(self, features: Any) -> Table:
        """Rows to predict."""
        check_is_fitted(self)
        return checked_table(self, features, reset=False)

    def _raw(self, features: Any) -> NDArray[np.float32]:
        """The network's outputs for rows to predict."""
        table = self._asked(features)
        raw: NDArray[np.float32] = self.model_.raw(table)
        return raw

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Write the fitted model to a folder of its own; no pickle.

        Parameters
        ----------
        folder : str or Path
            New or empty; with `overwrite` it may hold another model.
        overwrite : bool, default=False
            Whether a model that is there already may be replaced.
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
    ) -> Exported:
        """Write the fitted model as one ONNX file, from the columns of X to the answers.

        It is written only if it answers as `predict` and `predict_proba` do.

        Parameters
        ----------
        path : str or Path
            Where to write; ends in .onnx. A file there is replaced.
        X : table or array, optional
            Real rows to compare on, besides rows made up of what the model knows.
        y : array-like, optional
            Their target, which `int8` is measured by.
        weights_only : bool, default=False
            Without preprocessing: encoded rows in, the network's outputs out.
        int8 : bool, default=False
            Store matrices in 8 bits, if it costs at most `margin` of the score.
        margin : float, default=0.01
            As a share of the log loss, or of the RMSE.
        """
        from tabnas.export import export_onnx

        check_is_fitted(self)
        return export_onnx(
            self.model_,
            path,
            check=None if X is None else self._asked(X),
            answers=y,
            weights_only=weights_only,
            int8=int8,
            margin=margin,
        )

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """A fitted estimator from a folder that `save`, or a run of the command line, has written.

        It predicts as the saved one did. Of its parameters, the limits are those of the model and
        all others the defaults; how the model was found (`result_`, `history_`, `candidates_`,
        `n_iter_`) is not in the folder.

        Parameters
        ----------
        folder : str or Path
            The folder of a model, or of a finished run.
        """
        model = load_run_model(folder)
        loaded = cls(**{f"max_{name}": model.limits.get(name) for name in limited(cls)})
        loaded._take(model, str(folder))
        loaded._keep(model)
        loaded.n_features_in_ = len(model.feature_names)
        if model.encoder.named:
            loaded.feature_names_in_ = np.array(model.feature_names, dtype=object)
        return loaded

    def _take(self, model: Model, folder: str) -> None:
        """Refuse a model of another task."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
