from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from tabnas.data import ClassTarget, DataWarning, Shares, Table
from tabnas.errors import InfeasibleError, TabNASError
from tabnas.estimators import TabNASClassifier, TabNASRegressor, _base
from tabnas.estimators._run_settings import make_run_settings, resolve_n_jobs
from tabnas.runs import LabelledTable, RunSettings, plan_run
from tabnas.threads import available_threads, get_threads
from tests.estimators.conftest import SMALL

# -- what is learned -------------------------------------------------------------------------------


def test_the_category_of_a_code_does_not_depend_on_its_type() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(1, 5, 80)
    answers = np.where(codes > 2, "yes", "no")
    frame = pd.DataFrame({"code": codes, "n": rng.normal(size=80)})
    classifier = TabNASClassifier(**SMALL, categorical_features=["code"]).fit(frame, answers)
    expected = classifier.predict_proba(frame)
    for write in ("{:.1f}".format, "{:02d}".format, str):
        written = frame.assign(code=[write(code) for code in codes.tolist()])
        assert (classifier.predict_proba(written) == expected).all()
    assert (classifier.predict_proba(frame.assign(code=codes.astype(float))) == expected).all()
    with pytest.warns(DataWarning, match="all 80 values of the column 'code' are missing"):
        classifier.predict(frame.assign(code=[f"c{code}" for code in codes]))


def test_columns_keep_their_order_as_scikit_learn_has_it(
    birds: tuple[dict[str, Any], np.ndarray],
) -> None:
    """The model itself finds them by name, as on the command line."""
    features, kinds = birds
    frame = pd.DataFrame(features)
    classifier = TabNASClassifier(**SMALL).fit(frame, kinds)
    turned = frame[frame.columns[::-1]]
    with pytest.raises(ValueError, match="must be in the same order"):
        classifier.predict(turned)
    assert (classifier.model_.predict(turned) == classifier.predict(frame)).all()


def test_rows_without_a_target_can_be_added(birds: tuple[dict[str, Any], np.ndarray]) -> None:
    features, kinds = birds
    frame = pd.DataFrame(features)
    taught = TabNASClassifier(**(SMALL | {"teacher": "network"}))
    classifier = taught.fit(frame[:40], kinds[:40], unlabelled=frame[40:])
    assert any(candidate.uses_unlabelled for candidate in classifier.candidates_)
    note = "20 rows without a value of 'y', the target: networks may learn"
    assert any(text.startswith(note) for text in classifier.result_.notes)
    with pytest.raises(ValueError, match="feature names"):
        TabNASClassifier(**SMALL).fit(frame, kinds, unlabelled=frame.drop(columns="wing"))


def test_a_regressor_passes_rows_without_a_target_on(monkeypatch: pytest.MonkeyPatch) -> None:
    class PassedOnError(Exception): ...

    def plan(data: LabelledTable, *arguments: Any, **options: Any) -> None:
        assert data.unlabelled is not None
        assert np.array_equal(data.unlabelled.column("x1").to_numpy(), values[40:, 1])
        raise PassedOnError

    monkeypatch.setattr(_base, "plan_run", plan)
    values = np.random.default_rng(0).normal(size=(60, 3))
    with pytest.raises(PassedOnError):
        TabNASRegressor(**SMALL).fit(values[:40], values[:40, 0], unlabelled=values[40:])


def test_classes_are_told_apart(default_trainings: None) -> None:
    features, y = load_breast_cancer(return_X_y=True)
    classifier = TabNASClassifier(2_000, candidates=1, random_state=0)
    classifier.fit(features[::2], y[::2])
    assert classifier.score(features[1::2], y[1::2]) > 0.93


def test_numeric_predictions_are_in_the_units_of_the_target(default_trainings: None) -> None:
    features, y = load_diabetes(return_X_y=True)
    regressor = TabNASRegressor(**SMALL)
    regressor.fit(features[::2], y[::2])
    assert regressor.score(features[1::2], y[1::2]) > 0.3


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"parameters": 20_000}),
        ({"max_bytes": 90_000}, {"bytes": 90_000}),
        ({"max_parameters": 7, "max_flops": 9}, {"parameters": 7, "flops": 9}),
    ],
)
def test_parameters_are_limited_if_nothing_else_is(
    given: dict[str, int], expected: dict[str, int]
) -> None:
    assert make_run_settings(TabNASClassifier(**given), {}).limits == expected


def test_fitted_attributes() -> None:
    features, y = load_iris(return_X_y=True, as_frame=True)
    classifier = TabNASClassifier(300, candidates=2, random_state=0).fit(features, y)
    assert classifier.architecture_ == classifier.result_.architecture
    assert classifier.costs_ == classifier.model_.costs
    assert classifier.costs_["parameters"] <= 300
    assert classifier.model_.limits == {"parameters": 300}
    assert classifier.model_.target.name == "target"
    assert classifier.candidates_[0].epochs == classifier.n_iter_
    assert len(classifier.candidates_) == 2
    assert classifier.history_[-1].progress <= 1
    assert classifier.n_features_in_ == 4
    assert classifier.feature_names_in_.tolist() == features.columns.tolist()


def test_numbers_can_be_embedded(tmp_path: Path) -> None:
    features, y = load_diabetes(return_X_y=True)
    regressor = TabNASRegressor(**SMALL, numeric_dimensions=[1], knots=5).fit(features, y)
    model = regressor.model_
    assert model.architecture.dimension == 1
    assert str(regressor.architecture_).startswith("d1-")
    assert max(map(len, model.knots)) == 5
    assert model.weights["numeric_embedding"].shape == (1, sum(map(len, model.knots)))
    assert regressor.costs_["parameters"] <= 200
    regressor.save(tmp_path / "model")
    loaded = TabNASRegressor.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(features), regressor.predict(features))
    plain = TabNASRegressor(**SMALL, numeric_dimensions=[0], knots=5).fit(features, y)
    assert plain.model_.knots == ()


# -- one seed, one model ---------------------------------------------------------------------------


def same(first: Any, second: Any) -> bool:
    ours, theirs = first.weights, second.weights
    return ours.keys() == theirs.keys() and all(
        ours[name].tobytes() == theirs[name].tobytes() for name in ours
    )


def test_a_seed_fixes_the_model_bit_for_bit(birds: Any) -> None:
    first, second = (TabNASClassifier(**SMALL).fit(*birds) for _ in range(2))
    assert same(first.model_, second.model_)


def test_fit_is_the_pipeline(birds: Any) -> None:
    features, labels = birds
    target = ClassTarget(name="y", classes=("auk", "owl"))
    data = LabelledTable(Table.from_data(features), target, (labels == "owl").astype(np.int32))
    settings = RunSettings(
        limits={"parameters": 200},
        layers=1,
        candidates=1,
        shares=Shares(test=0.0),
        refit=True,
        reference_models=False,
    )
    by_hand = plan_run(data, settings).execute().model
    assert same(TabNASClassifier(**SMALL).fit(features, labels).model_, by_hand)


def test_random_states_are_sampled_from(birds: Any) -> None:
    def fitted(state: Any) -> TabNASClassifier:
        return TabNASClassifier(**SMALL | {"random_state": state}).fit(*birds)

    first, second = (fitted(np.random.RandomState(3)) for _ in range(2))
    assert same(first.model_, second.model_)
    state = np.random.RandomState(3)
    assert fitted(state).result_.seed != fitted(state).result_.seed
    assert isinstance(fitted(None).result_.seed, int)


def test_threads_follow_n_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    cores = available_threads()
    expected = {None: None, 1: 1, 3: 3, -1: cores, -2: max(1, cores - 1), -1_000: 1}
    assert {n_jobs: resolve_n_jobs(n_jobs) for n_jobs in expected} == expected
    seen: list[int] = []
    plan_run = _base.plan_run

    def record_threads(*arguments: object, **options: object) -> object:
        seen.append(get_threads())
        return plan_run(*arguments, **options)

    monkeypatch.setattr(_base, "plan_run", record_threads)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    models = [
        TabNASClassifier(max_parameters=100, candidates=1, n_jobs=n_jobs, random_state=0)
        .fit(x, x[:, 0] > 0)
        .model_
        for n_jobs in (1, 3)
    ]
    assert seen == [1, 3]
    assert same(*models)


def test_with_refit_all_rows_are_learned_from() -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(3_100, 2))  # more than are cross-validated
    y = features.sum(axis=1) > 0
    not_refitted, refitted = (
        TabNASClassifier(**SMALL | {"max_parameters": 20}, refit=refit).fit(features, y)
        for refit in (False, True)
    )
    assert not_refitted.n_iter_ == refitted.n_iter_
    assert not same(not_refitted.model_, refitted.model_)
    assert "refit" in refitted.result_.timings


# -- tables and answers of every kind --------------------------------------------------------------


@pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame, pa.table, pa.record_batch])
def test_tables_of_every_kind_are_accepted(birds: Any, form: Any) -> None:
    features, labels = birds
    expected = TabNASClassifier(**SMALL).fit(features, labels).predict_proba(features)
    classifier = TabNASClassifier(**SMALL).fit(form(features), labels)
    assert classifier.feature_names_in_.tolist() == ["weight", "food", "wing"]
    np.testing.assert_array_equal(classifier.predict_proba(form(features)), expected)


def test_lists_of_rows_keep_the_types_of_their_columns(birds: Any) -> None:
    features, labels = birds
    rows = [list(row) for row in zip(*features.values(), strict=True)]
    classifier = TabNASClassifier(**SMALL).fit(rows, labels.tolist())
    expected = TabNASClassifier(**SMALL).fit(features, labels).predict_proba(features)
    np.testing.assert_array_equal(classifier.predict_proba(rows), expected)
    assert not hasattr(classifier, "feature_names_in_")


def test_columns_named_by_numbers_go_by_position(birds: Any) -> None:
    features, labels = birds
    frame = pd.DataFrame(dict(enumerate(features.values())))
    classifier = TabNASClassifier(**SMALL).fit(frame, labels)
    assert not hasattr(classifier, "feature_names_in_")
    moved = frame.rename(columns={0: 7})
    np.testing.assert_array_equal(classifier.predict(moved), classifier.predict(frame))


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["auk", "owl", "tit"]),
        np.array(["auk", "owl", "tit"], object),
        np.array([3, 5, 8], np.int16),
        np.array([-1.0, 0.0, 2.0]),
        np.array([False, True]),
        np.array([1, 2, 3], object),
        np.array(["None", "mild", "severe"]),
    ],
    ids=lambda labels: f"{labels.dtype}-{labels[0]}",
)
def test_predicted_labels_have_their_original_type(labels: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    codes = np.arange(60) % len(labels)
    features = np.c_[codes, rng.normal(size=60)]
    classifier = TabNASClassifier(**SMALL).fit(features, labels[codes])
    predicted = classifier.predict(features)
    assert classifier.classes_.tolist() == labels.tolist()
    assert predicted.dtype == classifier.classes_.dtype
    assert labels.dtype in (predicted.dtype, object)
    assert (predicted == labels[codes]).mean() > 0.9
    np.testing.assert_array_equal(predicted, classifier.model_.predict(features))


@pytest.mark.parametrize("form", [pd.Series, pl.Series, pa.array, list, pd.Categorical])
def test_y_of_every_kind_is_accepted(birds: Any, form: Any) -> None:
    features, labels = birds
    classifier = TabNASClassifier(**SMALL).fit(features, form(labels.tolist()))
    assert classifier.classes_.tolist() == ["auk", "owl"]


@pytest.mark.parametrize("dtype", ["Int64", "int64[pyarrow]", "boolean", "category", object])
def test_labels_of_pandas_keep_their_type(birds: Any, dtype: Any) -> None:
    owls = birds[1] == "owl"
    values = owls if dtype in ("boolean", "category") else 2**53 + owls  # no float tells them apart
    labels = pd.Series(values).astype(dtype)
    classifier = TabNASClassifier(**SMALL).fit(birds[0], labels)
    assert classifier.classes_.dtype == values.dtype
    assert classifier.classes_.tolist() == sorted(set(values.tolist()))
    expected = np.mean(classifier.predict(birds[0]) == values)
    assert classifier.score(birds[0], labels) == expected > 0.9


def test_nullable_integers_are_labels(birds: Any) -> None:
    labels = pd.Series(birds[1] == "owl", name="owl").astype("Int64")
    classifier = TabNASClassifier(**SMALL).fit(birds[0], labels)
    assert classifier.classes_.tolist() == [0, 1]
    assert classifier.model_.target.name == "owl"


def test_codes_can_be_called_categories(birds: Any) -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(10, size=200)
    frame = pd.DataFrame({"noise": rng.normal(size=200), "code": codes})
    y = np.sin(7.0 * codes)
    for given in (["code"], [1], [False, True]):
        regressor = TabNASRegressor(**SMALL, categorical_features=given).fit(frame, y)
        assert regressor.model_.encoder.describe()["code"].startswith("categorical")
    for given in (["cod"], [2], [True]):
        with pytest.raises(TabNASError, match="column"):
            TabNASRegressor(**SMALL, categorical_features=given).fit(frame, y)


def test_a_class_of_one_row_is_learned_from() -> None:
    rng = np.random.default_rng(0)
    for rows in (30, 3_100):  # cross-validated and not
        labels = np.where(np.arange(rows) == 0, "rare", np.where(np.arange(rows) % 2, "a", "b"))
        features = rng.normal(size=(rows, 2))
        classifier = TabNASClassifier(**SMALL, metric="balanced_error").fit(features, labels)
        assert classifier.predict_proba(features[:1]).shape == (1, 3)
    with pytest.raises(TabNASError, match="auc is undefined on these rows"):
        TabNASClassifier(**SMALL, metric="auc").fit(features, labels)


# -- weights ---------------------------------------------------------------------------------------


def test_rows_of_weight_zero_are_ignored(birds: Any) -> None:
    features, labels = birds
    doubled = pd.concat([pd.DataFrame(features)] * 2, ignore_index=True)
    answers = np.r_[labels, labels[::-1]]
    weight = np.repeat([2.0, 0.0], 60)
    weighted = TabNASClassifier(**SMALL).fit(doubled, answers, sample_weight=weight)
    assert same(weighted.model_, TabNASClassifier(**SMALL).fit(features, labels).model_)


def test_weights_shift_the_predictions() -> None:
    rng = np.random.default_rng(0)
    features, labels = rng.normal(size=(200, 2)), np.arange(200) % 2

    def share(**given: Any) -> float:
        weight = given.pop("sample_weight", None)
        classifier = TabNASClassifier(**SMALL, **given).fit(features, labels, sample_weight=weight)
        return float(classifier.predict_proba(features)[:, 1].mean())

    assert share() == pytest.approx(0.5, abs=0.15)
    assert share(sample_weight=1 + 8 * labels) > 0.8
    assert share(class_weight={0: 9.0, 1: 1.0}) < 0.2
    assert share(class_weight="balanced", sample_weight=1 + 8 * labels) < 0.65


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"max_parameters": 2}, "parameters"),
        ({"metric": "rmse"}, "metric of a binary target"),
        ({"class_weight": "balance"}, "balanced"),
        ({"validation_fraction": 1.5}, "the share of validation"),
        ({"candidates": 0}, "candidates must be"),
        ({"n_jobs": 0}, "n_jobs must be a number of threads, or None or -1 for all cores, got 0"),
        ({"random_state": -1}, "random_state must be"),
        ({"time": -1.0}, "time must be"),
        ({"numeric_dimensions": (-1,)}, "a dimension of numeric embeddings must be an integer of"),
        ({"numeric_dimensions": 2}, "numeric_dimensions must be a list, got 2"),
        ({"numeric_dimensions": ()}, "numeric_dimensions must have at least one element"),
        ({"knots": 2}, "knots must be an integer of at least 3, got 2"),
        ({"knots": 2.5}, "knots must be an integer"),
        ({"refit": "no"}, "refit must be true or false, got .no."),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_parameters_are_checked_when_fitting(birds: Any, changed: Any, message: str) -> None:
    with pytest.raises(TabNASError, match=message):
        TabNASClassifier(**SMALL | changed).fit(*birds)


def test_an_estimator_whose_fit_has_failed_is_not_fitted(birds: Any) -> None:
    classifier = TabNASClassifier(**SMALL | {"max_parameters": 2})
    with pytest.raises(InfeasibleError):
        classifier.fit(*birds)
    with pytest.raises(NotFittedError):
        classifier.predict(birds[0])


@pytest.mark.parametrize("random_state", [None, np.random.RandomState(0)])
def test_a_run_in_a_folder_needs_a_seed(birds: Any, tmp_path: Path, random_state: Any) -> None:
    classifier = TabNASClassifier(**SMALL | {"random_state": random_state})
    with pytest.raises(TabNASError, match="random_state must be an integer if run_dir is given"):
        classifier.fit(*birds, run_dir=tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_y_is_checked(birds: Any) -> None:
    features, labels = birds
    classifier, regressor = TabNASClassifier(**SMALL), TabNASRegressor(**SMALL)
    for wrong, message in (
        (["owl"] * 60, "at least two classes, got one class: 'owl'"),
        (labels[:50], "each of the 60 rows"),
        ([None, *labels[1:]], "got None"),
        (pd.Series([None, *labels[1:]], dtype="string"), r"but 1 are missing \(NaN\); remove"),
        (pd.Series([None, *(labels[1:] == "owl")], dtype="boolean"), "but 1 are missing"),
        (np.where(labels == "owl", "a", "a "), "differ in more than the spaces"),
    ):
        with pytest.raises(TabNASError, match=message):
            classifier.fit(features, wrong)
    with pytest.raises(TabNASError, match="use TabNASClassifier for classes"):
        regressor.fit(features, labels)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        regressor.fit(features, np.where(np.arange(60) == 3, np.nan, 1.0))


def test_weights_are_checked(birds: Any) -> None:
    for wrong, message in (
        (np.ones(3), r"the shape \(60,\)"),
        (-np.ones(60), "at least zero"),
        (np.zeros(60), "every weight is zero"),
        (["a"] * 60, "hold numbers"),
        ((birds[1] == "owl") * 1.0, "one class has all the weight: 'owl'"),
    ):
        with pytest.raises(TabNASError, match=message):
            TabNASClassifier(**SMALL).fit(*birds, sample_weight=wrong)


def test_infinite_values_are_named(birds: Any) -> None:
    features, labels = birds
    wrong = features | {"wing": np.where(np.arange(60) == 4, np.inf, 1.0)}
    with pytest.raises(TabNASError, match="the column 'wing' must be finite, but row 5"):
        TabNASClassifier(**SMALL).fit(wrong, labels)


# -- logging -------------------------------------------------------------------------------------


def test_verbose_prints_a_line_a_step(birds: Any, capsys: Any, caplog: Any) -> None:
    with caplog.at_level(logging.INFO, logger="tabnas"):
        classifier = TabNASClassifier(**SMALL, verbose=1).fit(*birds)
    printed = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in printed] == [
        "[tabnas] search", "[tabnas] candidates", "[tabnas] final training", "[tabnas] found",
    ]  # fmt: skip
    assert str(classifier.architecture_) in printed[-1]
    assert [f"[tabnas] {record.getMessage()}" for record in caplog.records] == printed
    TabNASClassifier(**SMALL).fit(*birds)
    assert capsys.readouterr().out == ""


def test_an_interrupted_fit_resumes_to_the_same_bits(
    birds: Any, tmp_path: Any, interrupted_after: Any
) -> None:
    whole = TabNASClassifier(**SMALL).fit(*birds)
    with interrupted_after(400):
        TabNASClassifier(**SMALL).fit(*birds, run_dir=tmp_path / "run")
    assert (tmp_path / "run" / "checkpoint").is_dir()
    config = (tmp_path / "run" / "config.toml").read_bytes()
    other = TabNASClassifier(**(SMALL | {"max_parameters": 201}))
    with pytest.raises(TabNASError, match="only as it began, but the setting limits was"):
        other.fit(*birds, run_dir=tmp_path / "run")
    assert (tmp_path / "run" / "config.toml").read_bytes() == config
    resumed = TabNASClassifier(**SMALL).fit(*birds, run_dir=tmp_path / "run")
    assert same(whole.model_, resumed.model_)
    loaded = TabNASClassifier.load(tmp_path / "run")
    assert same(whole.model_, loaded.model_)
    with pytest.raises(TabNASError, match="is finished"):
        TabNASClassifier(**SMALL).fit(*birds, run_dir=tmp_path / "run")


def test_masked_values_are_missing() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, 2))
    y = np.where(values[:, 0] > 0, "a", "b")
    masked = np.ma.MaskedArray(values, mask=rng.random((60, 2)) < 0.2)
    filled = np.where(np.ma.getmaskarray(masked), np.nan, values)
    classifier = TabNASClassifier(**SMALL).fit(masked, y)
    expected = TabNASClassifier(**SMALL).fit(filled, y).predict_proba(filled)
    np.testing.assert_array_equal(classifier.predict_proba(masked), expected)
    with pytest.raises(TabNASError, match="groups must have a label for every row, but some are m"):
        classifier.fit(values, y, groups=np.ma.masked_equal(np.arange(60), 3))
    own = TabNASClassifier(**SMALL | {"teacher": DecisionTreeClassifier()})
    with pytest.raises(TabNASError, match="X must have no masked values if the teacher is an est"):
        own.fit(masked, y)
    few = np.arange(60) < 3
    with pytest.raises(TabNASError, match="y must have a value for every row, but 3 are masked"):
        classifier.fit(values, np.ma.MaskedArray(np.arange(60) % 2, mask=few))
    with pytest.raises(TabNASError, match=r"sample_weight must be finite .* but some are masked"):
        classifier.fit(values, y, sample_weight=np.ma.MaskedArray(np.ones(60), mask=few))
