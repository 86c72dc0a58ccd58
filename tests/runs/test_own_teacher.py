"""Runs whose teacher is the user's own: an estimator, or columns of answers."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tabnas.data import Table
from tabnas.errors import TabNASError
from tabnas.runs import (
    LabelledTable,
    PlannedRun,
    RunCheckpoint,
    RunSettings,
    plan_run,
    plan_tradeoff,
    run_in_folder,
)
from tabnas.runs._answers import LABELS_ONLY, Answers, Distillation
from tabnas.runs._job_pool import JobPool
from tabnas.runs._run_teacher import run_teacher
from tabnas.teachers import EstimatorTeacher
from tests.runs.helpers import LIMITS, SHORT, collect_bits, make_table

LARGE = 3_800  # rows; too many for cross-validation
FIELDS = ("size", "warmth")


def take_features(table: Table) -> np.ndarray:
    return np.stack([np.nan_to_num(table.column(name).to_numpy()) for name in FIELDS], axis=1)


def plan_with_estimator(rows: int, target: str = "kind", estimator: Any = None) -> PlannedRun:
    table = make_table(rows)
    default = DecisionTreeClassifier(max_depth=4) if target == "kind" else None
    teacher = EstimatorTeacher(
        estimator or default or DecisionTreeRegressor(max_depth=4), take_features(table)
    )
    other = "value" if target == "kind" else "kind"
    data = LabelledTable.from_table(table.drop([other]), target)
    return plan_run(data, make_settings(teacher="own"), teacher=teacher, saved_plan=SHORT)


def make_settings(**options: Any) -> RunSettings:
    return RunSettings(**{"limits": LIMITS, "reference_models": False, **options})


def make_answered_table(rows: int) -> Table:
    table = make_table(rows).drop(["value"])
    right = np.array(table.column("kind").to_pylist()) == "low"
    noise = np.random.default_rng(2).uniform(-0.3, 0.3, rows)
    return Table(table.arrow.append_column("p", pa.array(np.where(right, 0.7, 0.3) + noise)))


def plan_with_column(rows: int, **options: Any) -> PlannedRun:
    data = LabelledTable.from_table(make_answered_table(rows), "kind")
    return plan_run(data, make_settings(teacher_columns=["p"], **options), saved_plan=SHORT)


# rows without a target: of the table, and of another

HIDDEN = np.arange(5, 95, 9)
OTHERS = 70


def hide(table: Table) -> Table:
    kinds = np.array(table.column("kind").to_pylist(), dtype=object)
    kinds[HIDDEN] = None
    return Table(table.arrow.drop_columns(["kind"]).append_column("kind", pa.array(kinds)))


def plan_unlabelled_with_column(rows: int, **options: Any) -> PlannedRun:
    data = LabelledTable.from_table(hide(make_answered_table(rows)), "kind")
    other = make_table(OTHERS, seed=1).drop(["value", "kind"]).arrow
    answers = np.random.default_rng(3).uniform(size=OTHERS)
    data = data.with_unlabelled(Table(other.append_column("p", pa.array(answers))))
    return plan_run(data, make_settings(teacher_columns=["p"], **options), saved_plan=SHORT)


def plan_unlabelled_with_estimator(rows: int, estimator: Any = None) -> PlannedRun:
    table, other = make_table(rows).drop(["value"]), make_table(OTHERS, seed=1)
    teacher = EstimatorTeacher(
        estimator or DecisionTreeClassifier(max_depth=4), take_features(table), take_features(other)
    )
    data = LabelledTable.from_table(hide(table), "kind")
    data = data.with_unlabelled(other.drop(["value", "kind"]))
    return plan_run(data, make_settings(teacher="own"), teacher=teacher, saved_plan=SHORT)


def get_answers(run: PlannedRun) -> Answers:
    checkpoint = RunCheckpoint()
    answers, _ = run_teacher(run, lambda progress: None, checkpoint, JobPool(checkpoint))
    assert answers is not None
    return answers


@pytest.mark.parametrize("rows", [300, LARGE], ids=["cross-validated", "validation rows"])
@pytest.mark.parametrize("target", ["kind", "value"])
def test_an_estimator_is_fitted_out_of_fold(rows: int, target: str) -> None:
    """Each answer is that of a tree that was fitted on none but training rows of other folds."""
    seen: list[tuple[int, ...]] = []
    base = DecisionTreeClassifier if target == "kind" else DecisionTreeRegressor

    class Recorder(base):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:  # noqa: N803
            seen.append(tuple(map(tuple, X)))
            return super().fit(X, y)

    run = plan_with_estimator(rows, target, Recorder(max_depth=4))
    finished = run.execute()
    data = run.data
    features = take_features(make_table(rows))
    n = len(data.train_and_validation) if data.folds else data.train_rows
    allowed = set(map(tuple, features[data.row_numbers[:n]]))
    assert len(seen) == run.plan.teacher.fits == (15 if data.folds else 5)
    assert all(set(rows) < allowed for rows in seen)
    assert set.union(*map(set, seen)) == allowed
    assert [model.name for model in finished.teacher.models] == ["Recorder"]
    assert finished.teacher.models[0].share == 1
    assert "teacher" in finished.scores


def test_columns_are_used_without_a_fit() -> None:
    for rows in (300, LARGE):
        run = plan_with_column(rows)
        finished = run.execute()
        assert run.plan.teacher.fits == 0
        (model,) = finished.teacher.models
        assert model.name == "column p"
        n = len(run.data.train_and_validation) if run.data.folds else run.data.train_rows
        answers = run.data.given_answers.development[:n, 0].astype(float)
        right = np.where(run.data.train_and_validation.y[:n] == 1, answers, 1 - answers)
        assert model.out_of_fold_loss == pytest.approx(-np.log(right.clip(1e-7)).mean())
        assert any("out-of-fold answers teach better" in note for note in finished.notes)
        assert "teacher" in finished.scores
        table = make_answered_table(20)
        without = finished.model.predict_proba(table.drop(["p"]))
        assert (without == finished.model.predict_proba(table)).all()


@pytest.mark.parametrize("refit", [False, True])
def test_a_test_file_without_the_columns(refit: bool) -> None:
    data = LabelledTable.from_table(make_answered_table(300), "kind")
    test = LabelledTable.from_table(make_table(100, seed=5).drop(["value"]), data.target)
    settings = make_settings(teacher_columns=["p"], refit=refit)
    finished = plan_run(data, settings, test=test, saved_plan=SHORT).execute()
    assert "teacher" not in finished.scores
    assert any("the teacher was not scored" in note for note in finished.notes)
    assert finished.trained_on_all_rows == refit


def test_a_frozen_estimator_warns_and_answers_at_once() -> None:
    table = make_table(300)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    tree.fit(take_features(table), table.column("kind").to_pylist())
    with pytest.warns(UserWarning, match="DecisionTreeClassifier was used as it is"):
        run = plan_with_estimator(300, estimator=FrozenEstimator(tree))
    assert run.plan.teacher.fits == 0
    finished = run.execute()
    assert any("was used as it is" in note for note in finished.notes)
    assert finished.teacher.models[0].name == "DecisionTreeClassifier"


@pytest.mark.parametrize("rows", [300, LARGE], ids=["cross-validated", "validation rows"])
def test_estimators_answer_rows_without_a_target_by_the_mean_of_their_fits(rows: int) -> None:
    fitted: list[Any] = []

    class Recorder(DecisionTreeClassifier):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:  # noqa: N803
            fitted.append(super().fit(X, y))
            return self

    run = plan_unlabelled_with_estimator(rows, Recorder(max_depth=4))
    answers = get_answers(run)
    features = np.concatenate(
        [
            take_features(make_table(rows))[HIDDEN],
            take_features(make_table(OTHERS, seed=1)),
        ]
    )
    predicted = np.stack([tree.predict_proba(features)[:, 1] for tree in fitted])
    assert answers.unlabelled.shape == (len(HIDDEN) + OTHERS, 1)
    np.testing.assert_allclose(answers.unlabelled[:, 0], predicted[:5].mean(axis=0), rtol=1e-5)
    assert len(answers.folds) == run.data.folds
    pairs = [(a, b) for a in range(5) for b in range(a + 1, 5)]  # of the fits after the first five
    for fold, part in enumerate(answers.folds):
        fits = [5 + k for k, pair in enumerate(pairs) if fold in pair]
        of_fold = part[len(run.data.train_and_validation) :, 0]
        np.testing.assert_allclose(of_fold, predicted[fits].mean(axis=0), rtol=1e-5)


def test_a_frozen_estimator_answers_rows_without_a_target() -> None:
    table = make_table(300)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    tree.fit(take_features(table), table.column("kind").to_pylist())
    with pytest.warns(UserWarning, match="was used as it is"):
        run = plan_unlabelled_with_estimator(300, FrozenEstimator(tree))
    answers = get_answers(run)
    own, other = (tree.predict_proba(take_features(t)) for t in (table, make_table(OTHERS, seed=1)))
    expected = np.concatenate([own[HIDDEN], other])[:, 1:]
    assert np.array_equal(answers.unlabelled, expected.astype(np.float32))
    n = len(run.data.train_and_validation)
    for fold in answers.folds:
        assert np.array_equal(fold[n:], answers.unlabelled)
    assert np.array_equal(answers.development, own[run.data.row_numbers[:n], 1:].astype(np.float32))


def test_columns_answer_rows_without_a_target() -> None:
    run = plan_unlabelled_with_column(300)
    answers = get_answers(run)
    own = make_answered_table(300).column("p").to_numpy()[HIDDEN]
    expected = np.concatenate([own, np.random.default_rng(3).uniform(size=OTHERS)])
    assert np.array_equal(answers.unlabelled[:, 0], expected.astype(np.float32))
    n = len(run.data.train_and_validation)
    assert all(np.array_equal(fold[n:], answers.unlabelled) for fold in answers.folds)
    ratio = 1 + len(run.data.unlabelled) / n
    assert run.plan.teacher.rows_ratio == pytest.approx(ratio)


@pytest.mark.parametrize("plan", [plan_unlabelled_with_column, plan_unlabelled_with_estimator])
def test_validation_decides_whether_a_network_learns_from_them(plan: Any) -> None:
    finished = plan(300).execute()
    distillations = {candidate.distillation for candidate in finished.candidates}
    assert Distillation(0.7, uses_unlabelled=True) in distillations
    assert LABELS_ONLY in distillations
    assert finished.teacher.uses_unlabelled == finished.chosen.distillation.uses_unlabelled
    assert any(note.startswith("80 rows without a value of 'kind'") for note in finished.notes)


@pytest.mark.parametrize("is_frozen", [False, True])
def test_an_estimator_answers_validation_rows_of_another_table(is_frozen: bool) -> None:
    """Also if some of them have no weight, and with rows without a target of both kinds."""
    table, more, other = make_table(300), make_table(90, seed=4), make_table(OTHERS, seed=1)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    fitted: list[Any] = []

    class Recorder(DecisionTreeClassifier):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:  # noqa: N803
            fitted.append(super().fit(X, y))
            return self

    data = LabelledTable.from_table(hide(table.drop(["value"])), "kind")
    data = data.with_unlabelled(other.drop(["value", "kind"]))
    kept = np.arange(90) % 4 > 0
    validation = LabelledTable.from_table(more.drop(["value"]), data.target)
    validation = replace(validation, weight=kept.astype(float))
    estimator: Any = Recorder(max_depth=3)
    if is_frozen:
        tree.fit(take_features(table), table.column("kind").to_pylist())
        fitted, estimator = [tree], FrozenEstimator(tree)
    teacher = EstimatorTeacher(
        estimator, take_features(table), take_features(other), take_features(more)
    )
    settings = make_settings(teacher="own")
    options = {"teacher": teacher, "validation": validation, "saved_plan": SHORT}
    with pytest.warns(UserWarning, match="as it is") if is_frozen else nullcontext():
        run = plan_run(data, settings, **options)
    answers, n = get_answers(run), run.data.train_rows

    def predict(features: np.ndarray) -> np.ndarray:
        return np.mean([one.predict_proba(features)[:, 1] for one in fitted], axis=0)

    of_validation = predict(take_features(more)[kept])
    np.testing.assert_allclose(answers.development[n:, 0], of_validation, rtol=1e-5)
    expected = np.concatenate([take_features(table)[HIDDEN], take_features(other)])
    np.testing.assert_allclose(answers.unlabelled[:, 0], predict(expected), rtol=1e-5)
    if is_frozen:
        own = predict(take_features(table)[run.data.row_numbers[:n]])
        np.testing.assert_allclose(answers.development[:n, 0], own, rtol=1e-5)


def test_the_teacher_and_the_run_have_the_same_validation_rows() -> None:
    table, more = make_table(300), make_table(90, seed=4)
    data = LabelledTable.from_table(table.drop(["value"]), "kind")
    validation = LabelledTable.from_table(more.drop(["value"]), data.target)
    tree, features = DecisionTreeClassifier(), take_features(table)
    settings = make_settings(teacher="own")
    with pytest.raises(TabNASError, match="but only the run has some; pass them to Estimator"):
        plan_run(data, settings, teacher=EstimatorTeacher(tree, features), validation=validation)
    teacher = EstimatorTeacher(tree, features, validation=features)
    with pytest.raises(TabNASError, match="but only the teacher has some; pass them to Estimator"):
        plan_run(data, settings, teacher=teacher)
    teacher = EstimatorTeacher(tree, features, validation=features[:20])
    run = plan_run(data, settings, teacher=teacher, validation=validation)
    with pytest.raises(TabNASError, match="failed to read rows of the validation rows"):
        get_answers(run)


def test_weights_that_the_estimator_does_not_take_are_noted() -> None:
    class NoWeights(DecisionTreeClassifier):
        def fit(self, X: Any, y: Any) -> Any:  # noqa: N803
            return super().fit(X, y)

    table = make_table(300)
    data = LabelledTable.from_table(table.drop(["value"]), "kind")
    settings = make_settings(teacher="own", class_weight="balanced")
    teacher = EstimatorTeacher(NoWeights(), take_features(table))
    run = plan_run(data, settings, teacher=teacher, saved_plan=SHORT)
    assert any("NoWeights was fitted without the weights" in note for note in run.plan.notes)


def test_a_tradeoff_has_one_teacher() -> None:
    table = make_table(300)
    data = LabelledTable.from_table(table.drop(["value"]), "kind")
    teacher = EstimatorTeacher(DecisionTreeClassifier(max_depth=4), take_features(table))
    settings = make_settings(teacher="own", candidates=1)
    planned = plan_tradeoff(data, settings, (40, 80), teacher=teacher, saved_plan=SHORT)
    by_estimator = planned.execute()
    answered = LabelledTable.from_table(make_answered_table(300), "kind")
    settings = make_settings(teacher_columns=["p"], candidates=1)
    by_column = plan_tradeoff(answered, settings, (40, 80), saved_plan=SHORT).execute()
    for name, finished in (("DecisionTreeClassifier", by_estimator), ("column p", by_column)):
        assert [run.teacher.models[0].name for run in finished] == [name, name]
        assert finished[0].teacher.models == finished[1].teacher.models


# -- resume ----------------------------------------------------------------------------------------


class StopsAfterTeacher(RunCheckpoint):
    """A checkpoint that ends the run when a step of the teacher is recorded."""

    def __init__(self, folder: Path, run: PlannedRun, step: str) -> None:
        super().__init__(folder, identity=run.identity())
        self.last = step

    def record(self, name: str, *others: Any) -> None:
        super().record(name, *others)
        if name == self.last:
            self.save()
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("plan", "step"),
    [
        (plan_with_column, "teacher"),
        (plan_with_estimator, "teacher"),
        (plan_with_estimator, "teacher DecisionTreeClassifier without fold 2"),
        (plan_unlabelled_with_column, "teacher"),
        (plan_unlabelled_with_estimator, "teacher DecisionTreeClassifier without fold 2"),
    ],
)
def test_a_resumed_run_ends_with_the_same_bits(plan: Any, step: str, tmp_path: Path) -> None:
    expected = collect_bits(plan(300).execute())
    run = plan(300)
    with pytest.raises(KeyboardInterrupt):
        run.execute(checkpoint=StopsAfterTeacher(tmp_path, run, step))
    again = plan(300)
    checkpoint = RunCheckpoint(tmp_path, identity=again.identity())
    assert step in checkpoint
    assert collect_bits(again.execute(checkpoint=checkpoint)) == expected


def test_another_estimator_cannot_resume(tmp_path: Path) -> None:
    run = plan_with_estimator(300)
    with pytest.raises(KeyboardInterrupt):
        run.execute(checkpoint=StopsAfterTeacher(tmp_path, run, "teacher"))
    other = plan_with_estimator(300, estimator=DecisionTreeClassifier(max_depth=5))
    with pytest.raises(TabNASError, match="the teacher was Decision"):
        RunCheckpoint(tmp_path, identity=other.identity())


def test_in_a_folder(tmp_path: Path) -> None:
    table = make_table(300)
    data = LabelledTable.from_table(table.drop(["value"]), "kind")
    teacher = EstimatorTeacher(DecisionTreeClassifier(max_depth=4), take_features(table))
    settings = make_settings(teacher="own")
    run_in_folder(tmp_path / "run", data, settings, teacher=teacher, saved_plan=SHORT)
    assert '"DecisionTreeClassifier"' in (tmp_path / "run" / "result.json").read_text()
    assert 'teacher = "own"' in (tmp_path / "run" / "config.toml").read_text()


# -- refusals --------------------------------------------------------------------------------------


def test_a_teacher_is_given_once() -> None:
    table = make_table(300)
    data = LabelledTable.from_table(table.drop(["value"]), "kind")
    teacher = EstimatorTeacher(DecisionTreeClassifier(), take_features(table))
    with pytest.raises(TabNASError, match="the teacher 'own' must be given, got none"):
        plan_run(data, make_settings(teacher="own"))
    with pytest.raises(TabNASError, match="must be 'own' for DecisionTreeClassifier, got 'auto'"):
        plan_run(data, make_settings(), teacher=teacher)
    with pytest.raises(TabNASError, match="an estimator or columns of answers, got both"):
        plan_run(data, make_settings(teacher_columns=["size"]), teacher=teacher)
    fresh = LabelledTable.from_table(make_table(50, seed=5).drop(["value"]), data.target)
    with pytest.raises(TabNASError, match="must have all rows in one table"):
        plan_run(data, make_settings(teacher="own"), teacher=teacher, test=fresh)


def test_the_teacher_and_the_table_have_the_same_rows_without_a_target() -> None:
    table = make_table(300)
    data = LabelledTable.from_table(table.drop(["value"]), "kind")
    more = data.with_unlabelled(make_table(50, seed=1).drop(["value"]))
    tree, features = DecisionTreeClassifier(), take_features(table)
    settings = make_settings(teacher="own")
    with pytest.raises(TabNASError, match="but only the table has some; pass them to Estimator"):
        plan_run(more, settings, teacher=EstimatorTeacher(tree, features))
    with pytest.raises(TabNASError, match="but only the teacher has some; pass them to Estimator"):
        plan_run(data, settings, teacher=EstimatorTeacher(tree, features, features))
    run = plan_run(more, settings, teacher=EstimatorTeacher(tree, features, features[:20]))
    with pytest.raises(TabNASError, match="DecisionTreeClassifier failed to read rows of unlabell"):
        get_answers(run)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"teacher": "trees"}, "teacher must be 'own' if teacher_columns are given, got 'trees'"),
        ({"teacher_columns": ["p", " p"]}, "must be different columns, got 'p' twice"),
        ({"kinds": {"p": "numeric"}}, "neither features nor the column of the split, got 'p'"),
        ({"split": "group", "split_column": "p"}, "neither features nor the column of the split"),
        ({"teacher_columns": "p"}, "teacher_columns must be a list"),
        ({"teacher_columns": [3]}, "each name of teacher_columns must be a text"),
    ],
)
def test_settings_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TabNASError, match=message):
        make_settings(**{"teacher_columns": ["p"], **options})


def test_settings_say_that_the_teacher_is_the_users_own() -> None:
    settings = make_settings(teacher_columns=["p"])
    assert settings.teacher == "own"
    assert RunSettings.from_dict(settings.to_dict()) == settings
