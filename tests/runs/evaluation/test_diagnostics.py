"""Diagnostics of the final network: confusion, reliability, residuals, importance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

from tabnas.data import Encoded
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
from tests.runs.helpers import made_table

SHORT = {"search_epochs": 3, "epochs": 15, "candidates": 1}


def diagnosed(target: str, rows: int = 400, **said: object):
    table = made_table(rows).drop(["value" if target == "kind" else "kind"])
    settings = {"limits": {"parameters": 800}, "baselines": False, "candidates": 1}
    run = plan_run(
        LabelledTable.from_table(table, target), RunSettings(**(settings | said)), resolved=SHORT
    )
    return build_run_result(run.execute())


def test_classes_are_counted_on_test_rows() -> None:
    result = diagnosed("kind")
    found = result.diagnostics
    counts = np.array(found.confusion.counts)
    assert found.split == "test"
    assert counts.sum() == found.rows == result.rows.test
    accuracy = result.scores["network"]["accuracy"].value
    assert np.trace(counts) / counts.sum() == pytest.approx(accuracy)
    assert sum(one.rows for one in found.reliability.bins) == found.rows


def test_quantities_have_residuals() -> None:
    result = diagnosed("value")
    found = result.diagnostics.residuals
    errors = np.array(found.y_true) - np.array(found.y_pred)
    rmse = result.scores["network"]["rmse"].value
    assert np.sqrt((errors**2).mean()) == pytest.approx(rmse, rel=1e-4)
    assert sum(found.histogram.counts) == result.rows.test
    assert result.diagnostics.confusion is None


def test_columns_that_matter_are_told_from_those_that_do_not() -> None:
    columns = diagnosed("value", 1_500).diagnostics.importance.columns
    assert set(columns) == {"size", "warmth", "colour", "day", "house"}
    for useful in ("size", "warmth"):
        for useless in ("day", "house"):
            assert columns[useful].increase > 5 * abs(columns[useless].increase)


def test_importance_is_what_shuffling_adds_to_the_loss() -> None:
    data = LabelledTable.from_table(made_table(60).drop(["value", "day", "house"]), "kind")
    prepared = prepare_data(data, RunSettings(limits={"parameters": 300}))
    whole = prepared.development
    losses = iter([1.0, *(1.5, 2.5, 2.0, 2.0, 2.0), *(1.0,) * 5, *(0.5,) * 5])
    seen: list[Encoded] = []

    def loss(encoded: Encoded) -> float:
        seen.append(Encoded(encoded.numeric.copy(), encoded.categorical.copy()))
        return next(losses)

    found = permutation_importance(whole, prepared.encoder, loss, seed=0)
    assert list(found) == ["size", "warmth", "colour"]
    size, warmth, colour = found.values()
    assert size.increase == pytest.approx(1.0)
    assert size.std == pytest.approx(np.std([0.5, 1.5, 1.0, 1.0, 1.0], ddof=1))
    assert (warmth.increase, warmth.std) == (0.0, 0.0)
    assert (colour.increase, colour.std) == (-0.5, 0.0)
    first, *shuffled = seen
    np.testing.assert_array_equal(first.numeric, whole.encoded.numeric)
    for k, now in enumerate(shuffled):  # one column at a time, all of its features together
        changed = (now.numeric != whole.encoded.numeric).any(axis=0).tolist()
        assert changed == [k < 5, 5 <= k < 10, 5 <= k < 10]  # warmth, and where it is missing
        assert (now.categorical != whole.encoded.categorical).any() == (k >= 10)
        rows = np.column_stack([now.numeric, now.categorical])
        expected = np.column_stack([whole.encoded.numeric, whole.encoded.categorical])
        np.testing.assert_array_equal(np.sort(rows, axis=0), np.sort(expected, axis=0))


def test_importance_is_by_the_weights_of_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    data = LabelledTable.from_table(made_table(120).drop(["value"]), "kind")
    weight = np.random.default_rng(0).uniform(0.1, 3.0, 120)
    run = plan_run(replace(data, weight=weight), RunSettings(limits={"parameters": 300}))
    prepared, test = run.data, run.data.test
    found: list[float] = []

    def loss_as_it_is(
        part: EncodedRows, encoder: object, loss: Callable[..., float], seed: int
    ) -> dict:
        found.append(loss(part.encoded))
        return {}

    monkeypatch.setattr("tabnas.runs.evaluation._diagnostics.permutation_importance", loss_as_it_is)
    linear = Architecture(())
    net = SuperNet.standalone(linear, prepared.task)
    diagnose(net, linear, prepared, run.plan, run.metric, 0)
    prediction = prepared.target_prediction(net.logits(linear, test.examples))
    expected = primary_loss(run.metric, prepared.target, test.truth, prediction, test.weight)
    assert found == [expected]


def test_without_test_rows_validation_rows_serve_or_nothing_does() -> None:
    from tabnas.data import Shares

    no_test = Shares(validation=0.2, test=0.0)
    assert diagnosed("kind", shares=no_test).diagnostics is None
    result = diagnosed("kind", 4_000, shares=no_test)
    assert result.diagnostics.split == "validation"
    assert result.diagnostics.rows == result.rows.validation


def test_a_confusion_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    truth, said = rng.integers(5, size=(2, 300))
    found = count_confusion(truth, said, tuple("abcde"))
    np.testing.assert_array_equal(found.counts, confusion_matrix(truth, said, labels=range(5)))
    assert found.pooled_classes == 0


def test_the_rarest_classes_are_one() -> None:
    rng = np.random.default_rng(0)
    truth = np.minimum(rng.geometric(0.05, size=5_000) - 1, 49)
    said = rng.permutation(truth)
    found = count_confusion(truth, said, tuple(range(50)))
    counts = np.array(found.counts)
    assert counts.shape == (MAX_CLASSES, MAX_CLASSES)
    assert counts.sum() == 5_000
    assert len(found.classes) + found.pooled_classes == 50
    assert counts[:-1].sum(axis=1).tolist() == [int((truth == c).sum()) for c in found.classes]
    assert found.correct == int((truth == said).sum())


def test_honest_probabilities_lie_within_their_intervals() -> None:
    rng = np.random.default_rng(0)
    chance = rng.random(20_000)
    truth = (rng.random(20_000) < chance).astype(np.int64)
    found = measure_reliability(truth, np.stack([1 - chance, chance], axis=1), ("no", "yes"))
    assert found.probability_of == "second class"
    assert found.calibration_error < 0.02
    inside = [one.observed_low <= one.predicted <= one.observed_high for one in found.bins]
    assert sum(inside) >= 9
    sure = measure_reliability(
        truth, np.stack([truth == 1, truth == 0], axis=1) * 1.0, ("no", "yes")
    )
    assert sure.calibration_error == 1.0


@pytest.mark.parametrize(("share", "rows"), [(0.0, 1), (1.0, 1), (0.3, 10), (1.0, 10**6)])
def test_an_interval_holds_its_share(share: float, rows: int) -> None:
    low, high = wilson_interval(share, rows)
    assert 0 <= low <= share + 1e-9
    assert share - 1e-9 <= high <= 1
    assert low < high


def test_many_rows_are_sampled_alike_every_time() -> None:
    rng = np.random.default_rng(0)
    truth, said = rng.normal(size=(2, 3_000))
    found = summarize_residuals(truth, said, seed=1)
    assert found == summarize_residuals(truth, said, seed=1)
    assert found.y_true != summarize_residuals(truth, said, seed=2).y_true
    assert len(found.y_true) == len(found.y_pred) == 500
    assert sum(found.histogram.counts) == 3_000


def test_residuals_that_are_all_the_same() -> None:
    found = summarize_residuals(np.ones(20), np.ones(20), seed=0)
    assert sum(found.histogram.counts) == 20
