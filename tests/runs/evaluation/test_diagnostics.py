"""Diagnostics of the final network: confusion, reliability, residuals, importance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

from tabnas.data import EncodedTable
from tabnas.model import primary_loss
from tabnas.nets import SuperNet
from tabnas.runs import LabelledTable, RunSettings, build_run_result, plan_run, prepare_data
from tabnas.runs.evaluation._diagnostics import (
    MAX_CLASSES,
    count_confusion,
    diagnose,
    measure_reliability,
    summarize_residuals,
    wilson_interval,
)
from tabnas.runs.evaluation._importance import permutation_importance
from tabnas.runs.prepare._encoded_rows import EncodedRows
from tabnas.space import Architecture
from tests.runs.helpers import make_table

SHORT = {"search_epochs": 3, "epochs": 15, "candidates": 1}


def diagnose_run(target: str, rows: int = 400, **options: object):
    table = make_table(rows).drop(["value" if target == "kind" else "kind"])
    settings = {"limits": {"parameters": 800}, "reference_models": False, "candidates": 1}
    run = plan_run(
        LabelledTable.from_table(table, target),
        RunSettings(**(settings | options)),
        saved_plan=SHORT,
    )
    return build_run_result(run.execute())


def test_confusion_and_reliability_are_counted_on_test_rows() -> None:
    result = diagnose_run("kind")
    actual = result.diagnostics
    counts = np.array(actual.confusion.counts)
    assert actual.split == "test"
    assert counts.sum() == actual.rows == result.rows.test
    accuracy = result.scores["network"]["accuracy"].value
    assert np.trace(counts) / counts.sum() == pytest.approx(accuracy)
    assert sum(one.rows for one in actual.reliability.bins) == actual.rows


def test_regression_has_residuals() -> None:
    result = diagnose_run("value")
    actual = result.diagnostics.residuals
    errors = np.array(actual.y_true) - np.array(actual.y_pred)
    rmse = result.scores["network"]["rmse"].value
    assert np.sqrt((errors**2).mean()) == pytest.approx(rmse, rel=1e-4)
    assert sum(actual.histogram.counts) == result.rows.test
    assert result.diagnostics.confusion is None


def test_useful_columns_are_more_important_than_useless_ones() -> None:
    columns = diagnose_run("value", 1_500).diagnostics.importance.columns
    assert set(columns) == {"size", "warmth", "colour", "day", "house"}
    for useful in ("size", "warmth"):
        for useless in ("day", "house"):
            assert columns[useful].increase > 5 * abs(columns[useless].increase)


def test_importance_is_what_shuffling_adds_to_the_loss() -> None:
    data = LabelledTable.from_table(make_table(60).drop(["value", "day", "house"]), "kind")
    prepared = prepare_data(data, RunSettings(limits={"parameters": 300}))
    development = prepared.train_and_validation
    losses = iter([1.0, *(1.5, 2.5, 2.0, 2.0, 2.0), *(1.0,) * 5, *(0.5,) * 5])
    seen: list[EncodedTable] = []

    def loss(encoded: EncodedTable) -> float:
        seen.append(EncodedTable(encoded.numeric.copy(), encoded.categorical.copy()))
        return next(losses)

    actual = permutation_importance(development, prepared.encoder, loss, seed=0)
    assert list(actual) == ["size", "warmth", "colour"]
    size, warmth, colour = actual.values()
    assert size.increase == pytest.approx(1.0)
    assert size.std == pytest.approx(np.std([0.5, 1.5, 1.0, 1.0, 1.0], ddof=1))
    assert (warmth.increase, warmth.std) == (0.0, 0.0)
    assert (colour.increase, colour.std) == (-0.5, 0.0)
    first, *shuffled = seen
    np.testing.assert_array_equal(first.numeric, development.encoded.numeric)
    for k, now in enumerate(shuffled):  # one column at a time, all of its features together
        changed = (now.numeric != development.encoded.numeric).any(axis=0).tolist()
        assert changed == [k < 5, 5 <= k < 10, 5 <= k < 10]  # warmth, and where it is missing
        assert (now.categorical != development.encoded.categorical).any() == (k >= 10)
        rows = np.column_stack([now.numeric, now.categorical])
        expected = np.column_stack([development.encoded.numeric, development.encoded.categorical])
        np.testing.assert_array_equal(np.sort(rows, axis=0), np.sort(expected, axis=0))


def test_importance_uses_the_weights_of_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    data = LabelledTable.from_table(make_table(120).drop(["value"]), "kind")
    weight = np.random.default_rng(0).uniform(0.1, 3.0, 120)
    run = plan_run(replace(data, weight=weight), RunSettings(limits={"parameters": 300}))
    prepared, test = run.data, run.data.test
    actual: list[float] = []

    def record_loss(
        part: EncodedRows, encoder: object, loss: Callable[..., float], seed: int
    ) -> dict:
        actual.append(loss(part.encoded))
        return {}

    monkeypatch.setattr("tabnas.runs.evaluation._diagnostics.permutation_importance", record_loss)
    linear = Architecture(())
    net = SuperNet.standalone(linear, prepared.spec)
    diagnose(net, linear, prepared, run.plan, run.metric, 0)
    prediction = prepared.target_prediction(net.logits(linear, test.examples))
    expected = primary_loss(run.metric, prepared.target, test.y, prediction, test.weight)
    assert actual == [expected]


def test_without_test_rows_validation_rows_are_used_if_there_are_any() -> None:
    from tabnas.data import Shares

    no_test = Shares(validation=0.2, test=0.0)
    assert diagnose_run("kind", shares=no_test).diagnostics is None
    result = diagnose_run("kind", 4_000, shares=no_test)
    assert result.diagnostics.split == "validation"
    assert result.diagnostics.rows == result.rows.validation


def test_confusion_equals_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    y, predicted = rng.integers(5, size=(2, 300))
    actual = count_confusion(y, predicted, tuple("abcde"))
    np.testing.assert_array_equal(actual.counts, confusion_matrix(y, predicted, labels=range(5)))
    assert actual.pooled_classes == 0


def test_the_rarest_classes_are_pooled() -> None:
    rng = np.random.default_rng(0)
    y = np.minimum(rng.geometric(0.05, size=5_000) - 1, 49)
    predicted = rng.permutation(y)
    actual = count_confusion(y, predicted, tuple(range(50)))
    counts = np.array(actual.counts)
    assert counts.shape == (MAX_CLASSES, MAX_CLASSES)
    assert counts.sum() == 5_000
    assert len(actual.classes) + actual.pooled_classes == 50
    assert counts[:-1].sum(axis=1).tolist() == [int((y == c).sum()) for c in actual.classes]
    assert actual.correct == int((y == predicted).sum())


def test_calibrated_probabilities_lie_within_their_intervals() -> None:
    rng = np.random.default_rng(0)
    chance = rng.random(20_000)
    y = (rng.random(20_000) < chance).astype(np.int64)
    actual = measure_reliability(y, np.stack([1 - chance, chance], axis=1), ("no", "yes"))
    assert actual.probability_of == "second class"
    assert actual.calibration_error < 0.02
    inside = [one.observed_low <= one.predicted <= one.observed_high for one in actual.bins]
    assert sum(inside) >= 9
    overconfident = measure_reliability(y, np.stack([y == 1, y == 0], axis=1) * 1.0, ("no", "yes"))
    assert overconfident.calibration_error == 1.0


@pytest.mark.parametrize(("share", "rows"), [(0.0, 1), (1.0, 1), (0.3, 10), (1.0, 10**6)])
def test_an_interval_holds_its_share(share: float, rows: int) -> None:
    low, high = wilson_interval(share, rows)
    assert 0 <= low <= share + 1e-9
    assert share - 1e-9 <= high <= 1
    assert low < high


def test_many_rows_are_sampled_reproducibly() -> None:
    rng = np.random.default_rng(0)
    y, predicted = rng.normal(size=(2, 3_000))
    actual = summarize_residuals(y, predicted, seed=1)
    assert actual == summarize_residuals(y, predicted, seed=1)
    assert actual.y_true != summarize_residuals(y, predicted, seed=2).y_true
    assert len(actual.y_true) == len(actual.y_pred) == 500
    assert sum(actual.histogram.counts) == 3_000


def test_constant_residuals() -> None:
    actual = summarize_residuals(np.ones(20), np.ones(20), seed=0)
    assert sum(actual.histogram.counts) == 20
