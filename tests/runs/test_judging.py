"""What a network is compared with: fitted on the rows that it may learn from, scored by weight."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tabnas.model import boosted_prediction, score, trivial_prediction
from tabnas.runs import Labelled, PlannedRun, RunSettings, plan_run
from tabnas.runs._candidates import Candidate
from tabnas.runs._judging import References, compared, references
from tabnas.space import Architecture
from tests.runs.conftest import made_table


def planned(**said: object) -> PlannedRun:
    """Rows of which some weigh more, and a third have the wrong class: trees soon overfit."""
    data = Labelled.of(made_table(200).drop(["value"]), "kind")
    rng = np.random.default_rng(0)
    weight, wrong = rng.uniform(0.1, 3.0, 200), rng.random(200) < 0.3
    settings = RunSettings(limits={"parameters": 300}, drop=("day", "house"), **said)
    return plan_run(replace(data, truth=data.truth ^ wrong, weight=weight), settings)


def nobody(told: object) -> None:
    """Nobody is told."""


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_with_folds_references_learn_from_all_development_rows(class_weight: str | None) -> None:
    run = planned(class_weight=class_weight)
    assert run.plan.folds == 5
    parts, known, test = run.parts, run.parts.development, run.parts.test
    assert test is not None
    found = references(run, nobody)
    assert found.boosted is not None
    assert found.boosted.rows == len(known)
    boosted = boosted_prediction(
        parts.target, parts.encoder.categories, known.rows, [test.encoded], seed=0
    )
    np.testing.assert_array_equal(found.boosted.predictions[0], boosted.predictions[0])
    trivial = trivial_prediction(parts.target, known.truth, known.weight, len(test))
    for name, prediction in (("trivial", trivial), ("boosted trees", boosted.predictions[0])):
        expected = score(parts.target, test.truth, prediction, test.weight, seed=0)
        assert found.scores[name] == expected
        assert expected != score(parts.target, test.truth, prediction, seed=0)  # weights matter


def test_without_folds_they_learn_from_training_rows_and_stop_by_validation_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tabnas.runs._preparing.SMALL_TABLE", 10)
    run = planned()
    assert run.plan.folds == 0
    parts, test = run.parts, run.parts.test
    assert test is not None
    found = references(run, nobody)
    boosted = boosted_prediction(
        parts.target, parts.encoder.categories, parts.known.rows, [test.encoded],
        validation=parts.validation.rows, seed=0,
    )  # fmt: skip
    assert found.boosted is not None
    assert found.boosted.rows == len(parts.train)
    assert found.boosted.trees == boosted.trees < 100
    np.testing.assert_array_equal(found.boosted.predictions[0], boosted.predictions[0])
    trivial = trivial_prediction(parts.target, parts.known.truth, parts.known.weight, len(test))
    assert found.scores["trivial"] == score(parts.target, test.truth, trivial, test.weight, seed=0)


def test_the_network_is_scored_by_weight_too() -> None:
    run = planned(baselines=False)
    test = run.parts.test
    assert test is not None
    linear = Architecture(())
    chosen = Candidate.diverged(linear)
    width = run.parts.task.inputs.width
    tables = {
        f"embedding.{k}": np.ones((one.categories, one.dimension), np.float32)
        for k, one in enumerate(run.parts.task.inputs.embeddings)
    }
    head = {
        "head.0.weight": np.full((width, 1), 0.3, np.float32),
        "head.0.bias": np.zeros(1, np.float32),
    }
    scores, notes = compared(run, tables | head, chosen, References())
    logits = 0.3 * (test.encoded.numeric.sum(axis=1) + width - test.encoded.numeric.shape[1])
    chance = 1 / (1 + np.exp(-logits.astype(np.float64)))
    prediction = np.stack([1 - chance, chance], axis=1)
    expected = score(run.parts.target, test.truth, prediction, test.weight, seed=0)
    assert not notes
    assert scores["network"]["log_loss"].value == pytest.approx(expected["log_loss"].value)
    assert scores["network"]["accuracy"] == expected["accuracy"]
