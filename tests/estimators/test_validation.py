"""`fit(X, y, X_val=..., y_val=...)`: validation rows of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.tree import DecisionTreeClassifier

from tabnas.data import ClassTarget, Shares, Table
from tabnas.errors import TabNASError
from tabnas.estimators import TabNASClassifier, TabNASRegressor, _base
from tabnas.runs import LabelledTable, RunSettings, plan_run, write_card
from tests.estimators.conftest import SMALL
from tests.estimators.test_groups import PassedOnError, same

OWN = {key: value for key, value in SMALL.items() if key != "teacher"}


def make_frame(rows: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(size=rows), "b": rng.choice(["x", "y"], size=rows)})
    noisy = frame["a"] + (frame["b"] == "x") + rng.normal(size=rows)
    return frame, np.where(noisy > 0.5, "yes", "no")


X, Y = make_frame(120)
X_VAL, Y_VAL = make_frame(50, seed=1)


@pytest.fixture
def passed(monkeypatch: pytest.MonkeyPatch) -> list[LabelledTable]:
    """Lists the validation rows of fits, which end when they are planned."""
    tables: list[LabelledTable] = []

    def plan(data: LabelledTable, *arguments: Any, validation: Any, **options: Any) -> None:
        tables.append(validation)
        raise PassedOnError

    monkeypatch.setattr(_base, "plan_run", plan)
    return tables


def fit(teacher: Any = "none", **options: Any) -> TabNASClassifier:
    parameters = {"refit": options.pop("refit")} if "refit" in options else {}
    classifier = TabNASClassifier(**OWN, teacher=teacher, **parameters)
    return classifier.fit(X, Y, X_val=X_VAL, y_val=Y_VAL, **options)


def test_networks_are_chosen_by_the_validation_rows() -> None:
    classifier = fit(refit=False)
    expected = log_loss(Y_VAL, classifier.predict_proba(X_VAL))
    assert classifier.candidates_[0].score == pytest.approx(expected, rel=1e-4)
    rows = classifier.result_.rows
    assert (rows.training, rows.validation, rows.test) == (120, 50, 0)
    assert classifier.result_.chosen_by == "validation rows"
    assert not classifier.result_.trained_on_all_rows
    # the validation rows themselves matter, too
    other = TabNASClassifier(**SMALL, refit=False).fit(X, Y, X_val=X_VAL[:25], y_val=Y_VAL[:25])
    assert other.candidates_[0].score != classifier.candidates_[0].score


def test_a_regressor_has_them_too() -> None:
    y, y_val = X["a"] ** 2, (X_VAL["a"] ** 2).to_numpy()
    regressor = TabNASRegressor(**SMALL, refit=False).fit(X, y, X_val=X_VAL, y_val=y_val)
    expected = root_mean_squared_error(y_val, regressor.predict(X_VAL))
    assert regressor.candidates_[0].score == pytest.approx(expected, rel=1e-4)
    with pytest.raises(TabNASError, match="y_val must hold numbers, got"):
        TabNASRegressor(**SMALL).fit(X, y, X_val=X_VAL, y_val=Y_VAL)
    with pytest.raises(ValueError, match="Input y_val contains NaN"):
        TabNASRegressor(**SMALL).fit(X, y, X_val=X_VAL, y_val=np.full(50, np.nan))


def test_fit_is_the_pipeline_with_validation_rows() -> None:
    target = ClassTarget(name="y", classes=("no", "yes"))
    data, validation = (
        LabelledTable(Table.from_data(frame), target, (y == "yes").astype(np.int32))
        for frame, y in ((X, Y), (X_VAL, Y_VAL))
    )
    settings = RunSettings(
        limits={"parameters": 200},
        layers=1,
        candidates=1,
        teacher="trees",
        shares=Shares(test=0.0),
        refit=True,
        reference_models=False,
    )
    by_hand = plan_run(data, settings, validation=validation).execute()
    assert same(fit("trees").model_, by_hand.model)


def test_with_refit_they_are_trained_on_too() -> None:
    refitted, evaluated = fit(), fit(refit=False)
    assert refitted.result_.trained_on_all_rows
    assert refitted.candidates_[0].score == evaluated.candidates_[0].score
    assert not same(refitted.model_, evaluated.model_)


# -- with other arguments --------------------------------------------------------------------------


def test_an_own_teacher_answers_them_and_does_not_learn_from_them() -> None:
    learned: list[set[float]] = []
    answered: list[Any] = []

    class Recorder(DecisionTreeClassifier):
        def fit(self, X: Any, y: Any) -> Any:  # noqa: N803
            learned.append(set(X["a"]))
            return super().fit(X, y)

        def predict_proba(self, X: Any) -> Any:  # noqa: N803
            answered.append(X)
            return super().predict_proba(X)

    frame, frame_val, more = X[["a"]], X_VAL[["a"]], make_frame(30, seed=2)[0][["a"]]
    classifier = TabNASClassifier(**OWN, teacher=Recorder(max_depth=2))
    classifier.fit(frame, Y, X_val=frame_val, y_val=Y_VAL, unlabelled=more)
    assert set.union(*learned) == set(frame["a"])
    assert len(learned) == 5
    # each fit answers rows of X that are not its own, then the others
    for fold, rows in enumerate(learned):
        ours, theirs, others = answered[3 * fold : 3 * fold + 3]
        assert set(ours["a"]) == set(frame["a"]) - rows
        pd.testing.assert_frame_equal(theirs, frame_val)
        pd.testing.assert_frame_equal(others, more)


def test_x_val_must_be_of_the_type_of_x_for_an_own_teacher() -> None:
    regressor = TabNASRegressor(**OWN, teacher=Ridge())
    values, values_val = X[["a"]].to_numpy(), X_VAL[["a"]].to_numpy()
    regressor.fit(values, values[:, 0], X_val=values_val, y_val=values_val[:, 0])
    assert regressor.result_.teacher.models[0].out_of_fold_loss < 0.01
    with pytest.raises(TabNASError, match="the teacher Ridge failed to"):
        regressor.fit(X[["a"]], X["a"], X_val={"a": X_VAL["a"].to_numpy()}, y_val=values_val[:, 0])


def test_groups_then_only_matter_to_the_folds_of_a_teacher() -> None:
    groups = np.arange(120) % 12
    plain, grouped = fit(), fit(groups=groups)
    assert same(plain.model_, grouped.model_)
    fit(groups=np.zeros(120))  # one group is enough
    learned: list[set[int]] = []
    answered: list[set[int]] = []
    group_of = dict(zip(X["a"], groups.tolist(), strict=True))

    class Recorder(DecisionTreeClassifier):
        def fit(self, X: Any, y: Any) -> Any:  # noqa: N803
            learned.append({group_of[a] for a in X["a"]})
            return super().fit(X, y)

        def predict_proba(self, X: Any) -> Any:  # noqa: N803
            answered.append({group_of.get(a, -1) for a in X["a"]})
            return super().predict_proba(X)

    classifier = TabNASClassifier(**OWN, teacher=Recorder(max_depth=2))
    classifier.fit(X[["a"]], Y, groups=groups, X_val=X_VAL[["a"]], y_val=Y_VAL)
    assert [learned[k] & answered[2 * k] for k in range(5)] == [set()] * 5
    assert answered[1::2] == [{-1}] * 5


def weights_of(passed: list[LabelledTable], **parameters: Any) -> Any:
    weight = parameters.pop("sample_weight", None)
    with pytest.raises(PassedOnError):
        TabNASClassifier(**SMALL, **parameters).fit(
            X, Y, X_val=X_VAL, y_val=Y_VAL, sample_weight=weight
        )
    return passed[-1].weight


def test_they_weigh_as_much_as_rows_of_x_on_average(passed: list[LabelledTable]) -> None:
    assert weights_of(passed) is None
    assert weights_of(passed, sample_weight=np.full(120, 3.0)) is None
    weight = np.where(np.arange(120) % 4, 10.0, 2.0)
    mean = weight.mean() / 10
    assert weights_of(passed, sample_weight=weight) == pytest.approx(np.full(50, mean))
    weight[::4] = 0  # these rows are ignored
    assert weights_of(passed, sample_weight=weight) == pytest.approx(np.full(50, 1.0))
    is_yes = Y_VAL == "yes"
    by_class = weights_of(passed, class_weight={"yes": 4.0})
    assert by_class == pytest.approx(np.where(is_yes, 1.0, 0.25))
    weight = np.where(Y == "yes", 1.0, 2.0)
    both = weights_of(passed, class_weight={"yes": 4.0, "no": 1.0}, sample_weight=weight)
    mean = weight.mean() / 2
    assert both == pytest.approx(np.where(is_yes, 1.0, 0.25) * 4 / 2 * mean)


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"X_val": X_VAL}, "given together, got only X_val; add y_val, or leave both out"),
        ({"y_val": Y_VAL}, "given together, got only y_val; add X_val, or leave both out"),
        (
            {"X_val": X_VAL[["a"]], "y_val": Y_VAL},
            "X_val must have rows with the columns of X: The feature names",
        ),
        ({"X_val": X_VAL.to_numpy()[:, :1], "y_val": Y_VAL}, "columns of X: X has 1 features"),
        ({"X_val": X_VAL[:0], "y_val": Y_VAL[:0]}, "X_val must have rows"),
        ({"X_val": X_VAL, "y_val": Y_VAL[:9]}, "each of the 50 rows of X_val, got 9"),
        ({"X_val": X_VAL, "y_val": [None, *Y_VAL[1:]]}, "y_val must have a value for every row"),
        (
            {"X_val": X_VAL, "y_val": ["maybe", *Y_VAL[1:]]},
            "y_val must have labels of y, which are 'no', 'yes', got 'maybe'; leave these rows out",
        ),
        ({"X_val": X_VAL, "y_val": np.zeros(50, int)}, "y_val must have labels of y, .* got 0"),
        ({"X_val": X, "y_val": Y}, "the validation rows must not be training rows"),
        (
            {"X_val": X_VAL.assign(a="?!"), "y_val": Y_VAL},
            "in the validation rows, the column 'a' must hold numbers, but row 1",
        ),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
def test_wrong_validation_rows_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TabNASError, match=message):
        TabNASClassifier(**SMALL).fit(X, Y, **options)


def test_labels_are_matched_by_value(passed: list[LabelledTable]) -> None:
    """Whatever their type is: booleans, integers and integral floats may be equal."""
    for y, y_val in (((Y == "yes") * 1, Y_VAL == "yes"), (Y == "yes", (Y_VAL == "yes") * 1.0)):
        with pytest.raises(PassedOnError):
            TabNASClassifier(**SMALL).fit(X, y, X_val=X_VAL, y_val=pd.Series(y_val))
        assert (passed[-1].y == (Y_VAL == "yes")).all()


# -- folders ---------------------------------------------------------------------------------------


def test_a_stopped_run_is_continued_with_the_same_validation_rows_only(
    tmp_path: Path, interrupted_after: Any
) -> None:
    whole = fit()
    with interrupted_after(150):
        fit(run_dir=tmp_path / "run")

    def resume(**options: Any) -> TabNASClassifier:
        return TabNASClassifier(**SMALL).fit(X, Y, run_dir=tmp_path / "run", **options)

    with pytest.raises(TabNASError, match="only as it began, but the table was"):
        resume(X_val=X_VAL[1:], y_val=Y_VAL[1:])
    with pytest.raises(TabNASError, match="only as it began, but the"):
        resume()
    assert same(resume(X_val=X_VAL, y_val=Y_VAL).model_, whole.model_)
    card = write_card(tmp_path / "run").read_text()
    assert "The validation rows came as a separate table." in card
    assert 'run_in_folder("again", data, settings, validation=validation)' in card
