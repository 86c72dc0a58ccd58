"""Whole runs: the model keeps its limit, and the result describes it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabnas.data import Table, load_dataset
from tabnas.decoding import encode
from tabnas.errors import InfeasibleError, TabNASError
from tabnas.model import load_model, probabilities, score
from tabnas.nets import SuperNet
from tabnas.runs import (
    LabelledTable,
    Outcome,
    Progress,
    RunFolder,
    RunSettings,
    build_run_result,
    load_config,
    load_history,
    load_result,
    load_run_model,
    plan_run,
)
from tests.runs.helpers import make_table

QUICK = {"candidates": 2, "time": 0.5}


def labelled(target: str, rows: int = 400) -> LabelledTable:
    table = make_table(rows)
    return LabelledTable.from_table(
        table.drop([{"kind": "value", "value": "kind"}[target]]), target
    )


def outcome(data: LabelledTable, limit: int = 1_500, **said: object) -> Outcome:
    limits = {"parameters": limit}
    return plan_run(data, RunSettings(**({"limits": limits} | QUICK | said))).execute()


@pytest.fixture(scope="module")
def small() -> Outcome:
    """So few rows that candidates are cross-validated."""
    return outcome(labelled("kind"))


@pytest.fixture(scope="module")
def large() -> Outcome:
    """Enough rows for a validation part."""
    return outcome(labelled("value", 4_500))


@pytest.mark.parametrize("which", ["small", "large"])
def test_the_model_holds_its_limit_and_beats_knowing_nothing(
    which: str, request: pytest.FixtureRequest
) -> None:
    found: Outcome = request.getfixturevalue(which)
    assert found.model.costs["parameters"] <= 1_500
    assert all(one.architecture in found.plan.feasible for one in found.candidates)
    metric = {"small": "log_loss", "large": "rmse"}[which]
    assert found.scores["network"][metric].value < 0.8 * found.scores["trivial"][metric].value
    assert set(found.scores) == {"network", "trivial", "boosted trees"}


def test_candidates_come_best_first(small: Outcome, large: Outcome) -> None:
    for found in (small, large):
        losses = [one.loss for one in found.candidates]
        assert losses == sorted(losses)
        assert found.chosen.architecture == found.model.architecture
    assert small.plan.folds == 5
    assert large.plan.folds == 0


def test_the_reported_score_is_the_models_on_the_test_rows(large: Outcome) -> None:
    test = large.data.test
    again = score(large.model.target, test.truth, _predicted(large, test))
    assert again == large.scores["network"]


def _predicted(found: Outcome, part) -> np.ndarray:
    net = found.model._net
    return found.data.target_prediction(net.logits(found.model.architecture, part.examples))


def test_one_seed_gives_the_same_bits() -> None:
    runs = [outcome(labelled("kind"), seed=seed, time=None, candidates=1) for seed in (5, 5, 6)]
    results = [replace(build_run_result(run), timings={}) for run in runs]
    assert results[0] == results[1]
    assert results[0] != results[2]
    for name, weights in runs[0].model.weights.items():
        np.testing.assert_array_equal(weights, runs[1].model.weights[name])


def test_observers_hear_of_every_phase() -> None:
    heard: list[Progress] = []
    limits = {"parameters": 1_000}
    data = labelled("kind")
    plan_run(data, RunSettings(limits=limits, **QUICK)).execute(heard.append)
    phases = list(dict.fromkeys(told.phase for told in heard))
    assert phases == ["search", "candidates", "final training", "comparison"]
    for phase in phases:
        shares = [told.done for told in heard if told.phase == phase]
        assert shares == sorted(shares)
        assert shares[-1] == pytest.approx(1)
    last = [told for told in heard if told.snapshot][-1].snapshot
    assert 0 < last.feasible_probability <= 1
    assert last.favourite_cost <= 1_000
    assert [sum(layer) for layer in last.probabilities] == pytest.approx([1, 1, 1], abs=1e-4)


def test_a_refit_sees_all_rows_and_keeps_the_score() -> None:
    plain, refitted = (
        outcome(labelled("kind"), refit=refit, time=None, candidates=1) for refit in (False, True)
    )
    assert refitted.scores == plain.scores
    assert refitted.model.architecture == plain.model.architecture
    for name, weights in plain.model.weights.items():
        assert not np.array_equal(weights, refitted.model.weights[name])


def test_the_metric_chooses() -> None:
    found = outcome(labelled("kind"), metric="auc")
    assert found.metric.name == "auc"
    result = build_run_result(found)
    assert all(0.5 < one.score <= 1 for one in result.candidates)
    with pytest.raises(TabNASError, match="must be one of"):
        outcome(labelled("value"), metric="auc")


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from(["parameters", "dense_parameters", "flops", "bytes"]),
    st.integers(5, 4_000),
    st.sampled_from([None, (4, 8), (0, 3, 16)]),
)
def test_nothing_infeasible_is_ever_returned(
    cost: str, limit: int, widths: tuple[int, ...] | None
) -> None:
    try:
        found = outcome(
            labelled("kind", 60), limits={cost: limit}, widths=widths, time=0.01, candidates=1,
            baselines=False,
        )  # fmt: skip
    except InfeasibleError:
        return
    assert found.model.costs[cost] <= limit


def test_a_run_folder_holds_everything(small: Outcome, tmp_path) -> None:
    path = tmp_path / "runs" / "made"
    with RunFolder(path) as folder:
        folder.write_config({"settings": small.settings.to_dict()})
        result = folder.finish(small)
    assert sorted(p.name for p in path.iterdir()) == [
        "MODEL_CARD.md", "config.toml", "history.jsonl", "model", "report.html", "result.json",
    ]  # fmt: skip
    assert list(path.parent.iterdir()) == [path]
    assert load_result(path) == result
    assert load_history(path) == small.snapshots
    assert (
        RunSettings(limits=load_config(path)["settings"]["limits"]).budget == small.settings.budget
    )
    for line in (path / "history.jsonl").read_text().splitlines():
        assert json.loads(line)["favourite_cost"] <= 1_500
    rows = make_table(20, seed=9)
    np.testing.assert_array_equal(
        load_run_model(path).predict_proba(rows), small.model.predict_proba(rows)
    )
    assert load_model(path / "model").architecture == small.model.architecture


def test_result_json_says_what_people_ask(large: Outcome) -> None:
    facts = json.loads(json.dumps(encode(build_run_result(large))))
    assert facts["costs"]["parameters"]["limit"] == 1_500
    assert facts["costs"]["flops"]["limit"] is None
    assert facts["rows"] == {"training": 2_700, "validation": 900, "test": 900}
    assert facts["scores"]["network"]["metrics"]["rmse"]["low"] > 0
    assert [effect["factor"] for effect in facts["limit_effects"]] == [0.5, 1.0, 2.0]
    losses = [effect["one_shot_loss"] for effect in facts["limit_effects"]]
    assert losses == sorted(losses, reverse=True)
    assert set(facts["columns"]) == {"size", "warmth", "colour", "day", "house"}
    assert {"preparation", "search", "candidates", "comparison"} <= set(facts["timings"])


def test_the_smallest_and_the_widest_tables() -> None:
    tiny = Table.from_data({"x": np.arange(12.0), "y": ["a", "b", "b"] * 4})
    assert outcome(LabelledTable.from_table(tiny, "y"), 50).model.costs["parameters"] <= 50
    rng = np.random.default_rng(0)
    wide = {f"x{k}": rng.normal(size=40) for k in range(500)} | {"y": [0, 1] * 20}
    assert (
        outcome(LabelledTable.from_table(Table.from_data(wide), "y"), 2_000).model.costs[
            "parameters"
        ]
        <= 2_000
    )


def test_iris_by_default(default_trainings: None) -> None:
    iris = load_dataset("iris")
    found = plan_run(
        LabelledTable.from_table(iris.table, iris.target), RunSettings(limits={"parameters": 200})
    ).execute()
    assert found.scores["network"]["accuracy"].value >= 0.85


@pytest.mark.parametrize(("target", "rows"), [("kind", 300), ("kind", 3_900), ("value", 300)])
def test_whatever_the_test_rows_hold_the_model_is_the_same(target: str, rows: int) -> None:
    """Nothing of them reaches the search, the choice or the training: bit for bit."""
    table = make_table(rows)
    data = LabelledTable.from_table(
        table.drop([{"kind": "value", "value": "kind"}[target]]), target
    )
    settings = RunSettings(
        limits={"parameters": 900}, candidates=1, baselines=False, scaling="none", drop=("day",)
    )
    resolved = {"search_epochs": 2, "epochs": 2, "candidates": 1}
    run = plan_run(data, settings, resolved=resolved)
    shown = run.data.test.encoded.numeric[:, run.data.encoder.features.index("size")]
    sizes = table.arrow.column("size").to_numpy()
    tested = np.isin(sizes.astype(np.float32), shown)
    assert tested.sum() == len(run.data.test)
    truth = data.truth.copy()
    if target == "value":  # classes decide on the split itself, which deals them out evenly
        truth[tested] *= -3
    arrow = data.features.arrow.set_column(
        0, "size", pa.array(np.where(tested, 9.0 - 100 * sizes, sizes))
    )
    colours = np.where(tested, "never seen", np.array(arrow.column("colour").to_pylist()))
    arrow = arrow.set_column(arrow.column_names.index("colour"), "colour", pa.array(colours))
    other = plan_run(LabelledTable(Table(arrow), data.target, truth), settings, resolved=resolved)
    first, second = run.execute(), other.execute()
    assert first.scores != second.scores
    assert first.model.architecture == second.model.architecture
    assert first.model.encoder.to_dict() == second.model.encoder.to_dict()
    for name, weights in first.model.weights.items():
        np.testing.assert_array_equal(weights, second.model.weights[name])


def test_a_metric_that_the_rows_do_not_define_is_refused_before_the_work() -> None:
    rows = 4_000
    table = Table.from_data(
        {"x": np.arange(rows) % 17, "t": np.arange(rows), "y": ["a", "b"] * 1_200 + ["a"] * 1_600}
    )
    settings = RunSettings(limits={"parameters": 300}, metric="auc", order="time", order_column="t")
    with pytest.raises(TabNASError, match="auc is undefined"):
        plan_run(LabelledTable.from_table(table, "y"), settings)


def test_what_cannot_be_judged_is_a_note_and_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object, **options: object) -> None:
        raise ValueError("no trees today")

    monkeypatch.setattr("tabnas.runs.evaluation._scores.fit_boosted_trees", broken)
    found = outcome(labelled("kind"))
    assert found.boosted is None
    assert set(found.scores) == {"network", "trivial"}
    assert "no trees today" in build_run_result(found).notes[0]


def test_balanced_classes_are_calibrated_as_they_were_learned() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6_000, 2))
    rare = rng.random(6_000) < 0.2 / (1 + np.exp(-2 * x[:, 0]))
    table = Table.from_data({"a": x[:, 0], "b": x[:, 1], "kind": np.where(rare, "rare", "usual")})
    found = outcome(
        LabelledTable.from_table(table, "kind"), limits={"parameters": 100},
        class_weight="balanced",
        baselines=False,
    )  # fmt: skip
    test = found.data.test
    assert test is not None
    net = SuperNet.standalone(found.model.architecture, found.data.task)
    net.load_weights(found.model.weights)
    chances = probabilities(net.logits(found.model.architecture, test.examples))
    # weighed alike, classes come as often as they are said to
    weight = test.training_weight
    share = np.average(test.truth == 0, weights=weight)
    assert np.average(chances[:, 0], weights=weight) == pytest.approx(share, abs=0.05)
    assert 0.5 < found.chosen.temperature < 2
    assert any("equally frequent" in note for note in found.notes)
