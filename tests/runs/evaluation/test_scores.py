"""Scores on test rows: reference models learn from the rows a network may use, weights count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from tabnas.data import Table
from tabnas.model import TreeInputs, TreeRows, fit_boosted_trees, score, trivial_prediction
from tabnas.runs import LabelledTable, PlannedRun, RunSettings, plan_run, split_rows
from tabnas.runs.candidates._candidate import Candidate, Trial
from tabnas.runs.evaluation._scores import score_references, score_test_rows
from tabnas.space import Architecture
from tests.runs.helpers import make_table


def make_weighted_rows() -> LabelledTable:
    """Return weighted rows, a third of them with the wrong class, so that trees overfit soon."""
    data = LabelledTable.from_table(make_table(200).drop(["value"]), "kind")
    rng = np.random.default_rng(0)
    weight, wrong = rng.uniform(0.1, 3.0, 200), rng.random(200) < 0.3
    return replace(data, y=data.y ^ wrong, weight=weight)


def make_run(**options: object) -> PlannedRun:
    settings = RunSettings(limits={"parameters": 300}, drop=("day", "house"), **options)
    return plan_run(make_weighted_rows(), settings)


def fit_expected_trees(run: PlannedRun):
    """Fit the expected boosted trees to the original rows of the table."""
    data = make_weighted_rows()
    split = split_rows(data, run.settings, has_validation=False, has_test=False)
    inputs = TreeInputs(run.data.encoder)
    development = run.data.train_and_validation.training_weight

    def rows(numbers: np.ndarray, weight: np.ndarray) -> TreeRows:
        matrix = inputs.encode(data.features, numbers)
        return TreeRows(inputs=matrix, y=data.y[numbers], weight=weight)

    test_inputs = [inputs.encode(data.features, split.test)]
    if run.plan.folds:
        development_rows = rows(np.concatenate([split.train, split.validation]), development)
        return fit_boosted_trees(
            data.target, inputs.is_category, development_rows, test_inputs, seed=0
        )
    train = rows(split.train, development[: len(split.train)])
    validation = rows(split.validation, development[len(split.train) :])
    return fit_boosted_trees(
        data.target, inputs.is_category, train, test_inputs, validation=validation, seed=0
    )


def ignore_progress(progress: object) -> None:
    """Ignore a progress report."""


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_with_folds_references_learn_from_all_development_rows(class_weight: str | None) -> None:
    run = make_run(class_weight=class_weight)
    assert run.plan.folds == 5
    prepared, development_rows, test = run.data, run.data.train_and_validation, run.data.test
    assert test is not None
    scored = score_references(run, ignore_progress)
    assert scored.boosted is not None
    assert scored.boosted.rows == len(development_rows)
    boosted = fit_expected_trees(run)
    np.testing.assert_array_equal(scored.boosted.predictions[0], boosted.predictions[0])
    trivial = trivial_prediction(
        prepared.target, development_rows.y, development_rows.weight, len(test)
    )
    for name, prediction in (("trivial", trivial), ("boosted trees", boosted.predictions[0])):
        expected = score(prepared.target, test.y, prediction, test.weight, seed=0)
        assert scored.scores[name] == expected
        assert expected != score(prepared.target, test.y, prediction, seed=0)  # weights matter


def test_without_folds_references_learn_from_training_rows_and_stop_by_validation_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("_prepare", "_fitted_encoder"):
        monkeypatch.setattr(f"tabnas.runs.prepare.{module}.MAX_CROSS_VALIDATED_ROWS", 10)
    run = make_run()
    assert run.plan.folds == 0
    prepared, test = run.data, run.data.test
    assert test is not None
    scored = score_references(run, ignore_progress)
    boosted = fit_expected_trees(run)
    assert scored.boosted is not None
    assert scored.boosted.rows == len(prepared.train)
    assert scored.boosted.trees == boosted.trees < 100
    np.testing.assert_array_equal(scored.boosted.predictions[0], boosted.predictions[0])
    trivial = trivial_prediction(
        prepared.target, prepared.train_in_memory.y, prepared.train_in_memory.weight, len(test)
    )
    assert scored.scores["trivial"] == score(prepared.target, test.y, trivial, test.weight, seed=0)


def test_the_score_of_the_network_is_weighted() -> None:
    run = make_run(reference_models=False)
    test = run.data.test
    assert test is not None
    linear = Architecture(())
    chosen = Candidate.diverged(Trial(linear))
    width = run.data.spec.inputs.width
    tables = {
        f"embedding.{k}": np.ones((one.categories, one.dimension), np.float32)
        for k, one in enumerate(run.data.spec.inputs.category_embeddings)
    }
    head = {
        "head.0.weight": np.full((width, 1), 0.3, np.float32),
        "head.0.bias": np.zeros(1, np.float32),
    }
    scores, notes = score_test_rows(run, tables | head, chosen)
    logits = 0.3 * (test.encoded.numeric.sum(axis=1) + width - test.encoded.numeric.shape[1])
    chance = 1 / (1 + np.exp(-logits.astype(np.float64)))
    prediction = np.stack([1 - chance, chance], axis=1)
    expected = score(run.data.target, test.y, prediction, test.weight, seed=0)
    assert not notes
    assert scores["network"]["log_loss"].value == pytest.approx(expected["log_loss"].value)
    assert scores["network"]["accuracy"] == expected["accuracy"]


# -- no limit, no scaling --------------------------------------------------------------------------


def make_shops(rows: int = 600) -> Table:
    """Return sales that depend on the shop, and a numeric column with one huge value."""
    rng = np.random.default_rng(0)
    shop, effect = rng.integers(0, 60, rows), rng.normal(size=60)
    x = rng.normal(size=rows)
    huge = np.where(np.arange(rows) == 3, 1e15, x)
    return Table.from_data(
        {
            "shop": [f"shop {k}" for k in shop],
            "x": huge,
            "sales": effect[shop] + np.sin(3 * x) + rng.normal(scale=0.1, size=rows),
        }
    )


def test_boosted_trees_depend_neither_on_limit_nor_on_scaling() -> None:
    data = LabelledTable.from_table(make_shops(), "sales")

    def predictions(limit: int, **options: object) -> np.ndarray:
        run = plan_run(data, RunSettings(limits={"parameters": limit}, **options))
        scored = score_references(run, ignore_progress)
        assert scored.boosted is not None
        return scored.boosted.predictions[0]

    expected = predictions(20_000)
    for limit, options in ((60, {}), (300, {}), (20_000, {"scaling": "standard"})):
        np.testing.assert_array_equal(predictions(limit, **options), expected)


def test_boosted_trees_match_those_fitted_on_the_raw_table() -> None:
    data = LabelledTable.from_table(make_shops(), "sales")
    run = plan_run(data, RunSettings(limits={"parameters": 60}))
    split = split_rows(data, run.settings, has_validation=False, has_test=False)
    development_rows = np.concatenate([split.train, split.validation])
    shop = data.features.column("shop").to_pandas().astype("category").cat.codes.to_numpy()
    matrix = np.stack([shop, data.features.column("x").to_numpy()], axis=1)
    trees = HistGradientBoostingRegressor(
        random_state=0, categorical_features=[True, False], early_stopping=False
    ).fit(matrix[development_rows], data.y[development_rows])
    errors = trees.predict(matrix[split.test]) - data.y[split.test]
    scored = score_references(run, ignore_progress).scores["boosted trees"]["rmse"].value
    assert scored == pytest.approx(float(np.sqrt((errors**2).mean())), rel=0.05)
