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
from tabnas.decoding import to_builtins
from tabnas.errors import InfeasibleError, TabNASError
from tabnas.model import load_model, make_examples, probabilities, score
from tabnas.nets import SuperNet
from tabnas.runs import (
    FinishedRun,
    LabelledTable,
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
from tabnas.space import default_space
from tests.runs.helpers import make_table

QUICK = {"candidates": 2, "time": 0.5}


def make_labelled(target: str, rows: int = 400) -> LabelledTable:
    table = make_table(rows)
    return LabelledTable.from_table(
        table.drop([{"kind": "value", "value": "kind"}[target]]), target
    )


def run(data: LabelledTable, limit: int = 1_500, **options: object) -> FinishedRun:
    limits = {"parameters": limit}
    return plan_run(data, RunSettings(**({"limits": limits} | QUICK | options))).execute()


@pytest.fixture(scope="module")
def small() -> FinishedRun:
    """Run on so few rows that candidates are cross-validated."""
    return run(make_labelled("kind"))


@pytest.fixture(scope="module")
def large() -> FinishedRun:
    """Run on enough rows for a validation part."""
    return run(make_labelled("value", 4_500))


@pytest.mark.parametrize("which", ["small", "large"])
def test_the_model_keeps_its_limit_and_beats_the_trivial_prediction(
    which: str, request: pytest.FixtureRequest
) -> None:
    finished: FinishedRun = request.getfixturevalue(which)
    assert finished.model.costs["parameters"] <= 1_500
    budget, space = finished.plan.feasible.budget, finished.plan.feasible.space
    assert all(budget.admits(space, one.architecture) for one in finished.candidates)
    metric = {"small": "log_loss", "large": "rmse"}[which]
    assert finished.scores["network"][metric].value < 0.8 * finished.scores["trivial"][metric].value
    assert set(finished.scores) == {"network", "trivial", "boosted trees"}


def test_candidates_come_best_first(small: FinishedRun, large: FinishedRun) -> None:
    for finished in (small, large):
        losses = [one.loss for one in finished.candidates]
        assert losses == sorted(losses)
        assert finished.chosen.architecture == finished.model.architecture
    assert small.plan.folds == 5
    assert large.plan.folds == 0


def test_the_reported_score_is_that_of_the_model_on_test_rows(large: FinishedRun) -> None:
    test = large.data.test
    again = score(large.model.target, test.y, _predict(large, test))
    assert again == large.scores["network"]


def _predict(finished: FinishedRun, part) -> np.ndarray:
    model = finished.model
    examples = make_examples(model.spec, part.encoded)  # without knots, if it embeds no numbers
    return finished.data.target_prediction(model._net.logits(model.architecture, examples))


def test_one_seed_gives_the_same_bits() -> None:
    runs = [run(make_labelled("kind"), seed=seed, time=None, candidates=1) for seed in (5, 5, 6)]
    results = [replace(build_run_result(run), timings={}) for run in runs]
    assert results[0] == results[1]
    assert results[0] != results[2]
    for name, weights in runs[0].model.weights.items():
        np.testing.assert_array_equal(weights, runs[1].model.weights[name])


@pytest.mark.parametrize(("options", "layers"), [({}, 3), ({"knots": 5}, 4)])
def test_every_phase_is_reported(options: dict[str, int], layers: int) -> None:
    reports: list[Progress] = []
    limits = {"parameters": 1_000}
    data = make_labelled("kind")
    plan_run(data, RunSettings(limits=limits, **QUICK, **options)).execute(reports.append)
    phases = list(dict.fromkeys(report.phase for report in reports))
    assert phases == ["search", "candidates", "final training", "comparison"]
    for phase in phases:
        shares = [report.done for report in reports if report.phase == phase]
        assert shares == sorted(shares)
        assert shares[-1] == pytest.approx(1)
    last = [report for report in reports if report.snapshot][-1].snapshot
    assert 0 < last.feasible_probability <= 1
    assert last.most_likely_cost <= 1_000
    assert [sum(layer) for layer in last.probabilities] == pytest.approx([1] * layers, abs=1e-4)


def test_dimension_0_alone_is_the_space_without_an_input_layer() -> None:
    data = make_labelled("kind")
    settings = RunSettings(
        limits={"parameters": 1_000}, candidates=2, numeric_dimensions=(0,), knots=5
    )
    plain = plan_run(data, settings)
    expected = default_space(
        settings.computed_budget,
        inputs=plain.data.spec.inputs.width,
        outputs=plain.data.spec.outputs,
        embedding_parameters=plain.data.spec.inputs.embedding_parameters,
    )
    space = plain.plan.feasible.space
    assert space.layers == space.widths == expected.widths
    finished = plain.execute()
    assert finished.model.knots == ()
    assert not any(candidate.architecture.dimension for candidate in finished.candidates)
    assert "numeric_embedding" not in finished.model.weights
    result = build_run_result(finished)
    assert (result.plan.dimensions, result.plan.embedded_columns, result.plan.knots) == ((), 0, 0)


@pytest.mark.parametrize("target", ["kind", "value"])
def test_a_run_with_embeddings_alone(target: str) -> None:
    """Without dimension 0 every candidate embeds numbers, and the limit counts the tables."""
    finished = run(make_labelled(target), numeric_dimensions=(1, 2), knots=5, refit=True)
    model = finished.model
    assert all(candidate.architecture.dimension in (1, 2) for candidate in finished.candidates)
    inputs = model.spec.inputs
    assert max(map(len, model.knots)) == 5
    knots = sum(map(len, model.knots))
    assert model.weights["numeric_embedding"].shape == (model.architecture.dimension, knots)
    limit = finished.settings.limits["parameters"]
    assert sum(array.size for array in model.weights.values()) <= limit
    plan = build_run_result(finished).plan
    assert plan.dimensions == (1, 2)
    assert (plan.embedded_columns, plan.knots) == (len(inputs.embedded_numeric), knots)


def test_a_refit_learns_from_all_rows_and_keeps_the_scores() -> None:
    plain, refitted = (
        run(make_labelled("kind"), refit=refit, time=None, candidates=1) for refit in (False, True)
    )
    assert refitted.scores == plain.scores
    assert refitted.model.architecture == plain.model.architecture
    for name, weights in plain.model.weights.items():
        assert not np.array_equal(weights, refitted.model.weights[name])


def test_candidates_are_compared_by_the_given_metric() -> None:
    finished = run(make_labelled("kind"), metric="auc")
    assert finished.metric.name == "auc"
    result = build_run_result(finished)
    assert all(0.5 < one.score <= 1 for one in result.candidates)
    with pytest.raises(TabNASError, match="must be one of"):
        run(make_labelled("value"), metric="auc")


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from(["parameters", "dense_parameters", "flops", "bytes", "ram_bytes"]),
    st.integers(5, 4_000),
    st.sampled_from([None, (4, 8), (0, 3, 16)]),
)
def test_nothing_infeasible_is_ever_returned(
    cost: str, limit: int, widths: tuple[int, ...] | None
) -> None:
    try:
        finished = run(
            make_labelled("kind", 60), limits={cost: limit}, widths=widths, time=0.01, candidates=1,
            reference_models=False,
        )  # fmt: skip
    except InfeasibleError:
        return
    assert finished.model.costs[cost] <= limit


def test_a_run_folder_holds_everything(small: FinishedRun, tmp_path) -> None:
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
        RunSettings(limits=load_config(path)["settings"]["limits"]).computed_budget
        == small.settings.computed_budget
    )
    for line in (path / "history.jsonl").read_text().splitlines():
        assert json.loads(line)["most_likely_cost"] <= 1_500
    rows = make_table(20, seed=9)
    np.testing.assert_array_equal(
        load_run_model(path).predict_proba(rows), small.model.predict_proba(rows)
    )
    assert load_model(path / "model").architecture == small.model.architecture


def test_the_result_holds_costs_rows_scores_and_timings(large: FinishedRun) -> None:
    result = json.loads(json.dumps(to_builtins(build_run_result(large))))
    assert result["costs"]["parameters"]["limit"] == 1_500
    assert result["costs"]["flops"]["limit"] is None
    assert result["rows"] == {"training": 2_700, "validation": 900, "test": 900}
    assert result["scores"]["network"]["metrics"]["rmse"]["low"] > 0
    assert [effect["factor"] for effect in result["limit_effects"]] == [0.5, 1.0, 2.0]
    losses = [effect["one_shot_loss"] for effect in result["limit_effects"]]
    assert losses == sorted(losses, reverse=True)
    assert set(result["columns"]) == {"size", "warmth", "colour", "day", "house"}
    assert {"preparation", "search", "candidates", "comparison"} <= set(result["timings"])


def test_the_smallest_and_the_widest_tables() -> None:
    tiny = Table.from_data({"x": np.arange(12.0), "y": ["a", "b", "b"] * 4})
    assert run(LabelledTable.from_table(tiny, "y"), 50).model.costs["parameters"] <= 50
    rng = np.random.default_rng(0)
    wide = {f"x{k}": rng.normal(size=40) for k in range(500)} | {"y": [0, 1] * 20}
    assert (
        run(LabelledTable.from_table(Table.from_data(wide), "y"), 2_000).model.costs["parameters"]
        <= 2_000
    )


def test_iris_with_default_settings(default_trainings: None) -> None:
    iris = load_dataset("iris")
    finished = plan_run(
        LabelledTable.from_table(iris.table, iris.target), RunSettings(limits={"parameters": 200})
    ).execute()
    assert finished.scores["network"]["accuracy"].value >= 0.85


@pytest.mark.parametrize(("target", "rows"), [("kind", 300), ("kind", 3_900), ("value", 300)])
def test_the_model_does_not_depend_on_the_test_rows(target: str, rows: int) -> None:
    """Search, choice and training give the same bits whatever the test rows are."""
    table = make_table(rows)
    data = LabelledTable.from_table(
        table.drop([{"kind": "value", "value": "kind"}[target]]), target
    )
    settings = RunSettings(
        limits={"parameters": 900},
        candidates=1,
        reference_models=False,
        scaling="none",
        drop=("day",),
    )
    saved_plan = {"search_epochs": 2, "epochs": 2, "candidates": 1}
    run = plan_run(data, settings, saved_plan=saved_plan)
    test_sizes = run.data.test.encoded.numeric[:, run.data.encoder.features.index("size")]
    sizes = table.arrow.column("size").to_numpy()
    is_test = np.isin(sizes.astype(np.float32), test_sizes)
    assert is_test.sum() == len(run.data.test)
    y = data.y.copy()
    if target == "value":  # changed classes would change the split, which is stratified
        y[is_test] *= -3
    arrow = data.features.arrow.set_column(
        0, "size", pa.array(np.where(is_test, 9.0 - 100 * sizes, sizes))
    )
    colours = np.where(is_test, "never seen", np.array(arrow.column("colour").to_pylist()))
    arrow = arrow.set_column(arrow.column_names.index("colour"), "colour", pa.array(colours))
    other = plan_run(LabelledTable(Table(arrow), data.target, y), settings, saved_plan=saved_plan)
    first, second = run.execute(), other.execute()
    assert first.scores != second.scores
    assert first.model.architecture == second.model.architecture
    assert first.model.encoder.to_dict() == second.model.encoder.to_dict()
    for name, weights in first.model.weights.items():
        np.testing.assert_array_equal(weights, second.model.weights[name])


def test_a_metric_that_is_undefined_on_the_rows_is_refused_before_training() -> None:
    rows = 4_000
    table = Table.from_data(
        {"x": np.arange(rows) % 17, "t": np.arange(rows), "y": ["a", "b"] * 1_200 + ["a"] * 1_600}
    )
    settings = RunSettings(limits={"parameters": 300}, metric="auc", split="time", split_column="t")
    with pytest.raises(TabNASError, match="auc is undefined"):
        plan_run(LabelledTable.from_table(table, "y"), settings)


def test_a_baseline_that_fails_becomes_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_error(*arguments: object, **options: object) -> None:
        raise ValueError("no trees today")

    monkeypatch.setattr("tabnas.runs.evaluation._scores.fit_boosted_trees", raise_error)
    finished = run(make_labelled("kind"))
    assert finished.boosted is None
    assert set(finished.scores) == {"network", "trivial"}
    assert any("no trees today" in note for note in build_run_result(finished).notes)


def test_balanced_classes_are_calibrated_with_training_weights() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6_000, 2))
    rare = rng.random(6_000) < 0.2 / (1 + np.exp(-2 * x[:, 0]))
    table = Table.from_data({"a": x[:, 0], "b": x[:, 1], "kind": np.where(rare, "rare", "usual")})
    finished = run(
        LabelledTable.from_table(table, "kind"), limits={"parameters": 100},
        class_weight="balanced",
        reference_models=False,
    )  # fmt: skip
    test = finished.data.test
    assert test is not None
    net = SuperNet.standalone(finished.model.architecture, finished.data.spec)
    net.load_weights(finished.model.weights)
    chances = probabilities(net.logits(finished.model.architecture, test.examples))
    # with balanced weights, predicted and true shares agree
    weight = test.training_weight
    share = np.average(test.y == 0, weights=weight)
    assert np.average(chances[:, 0], weights=weight) == pytest.approx(share, abs=0.05)
    assert 0.5 < finished.chosen.temperature < 2
    assert any("equally frequent" in note for note in finished.notes)
