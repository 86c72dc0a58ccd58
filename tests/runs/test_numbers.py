"""Numbers of every size: a run ends with a finite model or with a clear error."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabnas.data import Table
from tabnas.decoding import to_builtins
from tabnas.errors import TabNASError
from tabnas.nets import SGD, Constant, Examples
from tabnas.runs import (
    FinishedRun,
    LabelledTable,
    PlannedRun,
    RunCheckpoint,
    RunSettings,
    build_run_result,
    plan_run,
)
from tests.runs.helpers import make_table

SHORT = {"search_epochs": 3, "epochs": 4, "candidates": 2}


def make_run(table: Table, target: str, weight: object = None, **options: object) -> PlannedRun:
    data = LabelledTable.from_table(table, target)
    if weight is not None:
        data = replace(data, weight=np.asarray(weight))
    settings = {"limits": {"parameters": 400}, "reference_models": False} | options
    return plan_run(data, RunSettings(**settings), saved_plan=SHORT)


def make_columns(rows: int = 120, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, rows))
    return {"x": x, "z": z, "y": x * z + x + 0.1 * rng.normal(size=rows)}


def assert_finite(finished: FinishedRun) -> None:
    assert all(np.isfinite(array).all() for array in finished.model.weights.values())
    assert all(np.isfinite(candidate.loss) for candidate in finished.candidates)
    json.dumps(to_builtins(build_run_result(finished)), allow_nan=False)
    for snapshot in finished.snapshots:
        json.dumps(to_builtins(snapshot), allow_nan=False)


# -- tables of every size ------------------------------------------------------------------------


@settings(max_examples=25)
@given(
    sizes=st.tuples(*[st.floats(-300, 300)] * 2),
    target=st.floats(-300, 300),
    outlier=st.floats(-10, 300),
    where=st.sampled_from(["x", "z", "y", None]),
    weight=st.one_of(st.none(), st.tuples(st.floats(-40, 0), st.floats(0, 38))),
    scaling=st.sampled_from(["robust", "standard", "none"]),
    classes=st.booleans(),
    seed=st.integers(0, 5),
)
def test_a_run_ends_with_a_finite_model_or_a_clear_error(
    sizes, target, outlier, where, weight, scaling, classes, seed
):
    columns = make_columns(seed=seed)
    rng = np.random.default_rng(seed)
    for name, size in zip("xzy", (*sizes, target), strict=True):
        columns[name] = columns[name] * 10.0**size
    if where is not None:
        columns[where][3] = 10.0**outlier
    if classes:
        columns["y"] = np.where(columns["y"] > 0, "high", "low")
    weights = None if weight is None else 10 ** rng.uniform(*weight, size=len(columns["x"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            finished = make_run(Table.from_data(columns), "y", weights, scaling=scaling).execute()
        except TabNASError:
            return
    assert_finite(finished)


@pytest.mark.parametrize("rows", [2, 3, 60])
def test_nearly_constant_labels(rows: int) -> None:
    columns = make_columns()
    columns["y"] = np.where(np.arange(120) < rows, "rare", "usual")
    assert_finite(make_run(Table.from_data(columns), "y").execute())


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_units_do_not_matter(size: float) -> None:
    """Other units of a column and of the target give the same network, up to rounding."""
    plain, scaled = make_columns(), make_columns()
    scaled["x"] = scaled["x"] * size
    scaled["y"] = scaled["y"] * size
    first, second = (
        make_run(Table.from_data(columns), "y").execute() for columns in (plain, scaled)
    )
    assert first.model.architecture == second.model.architecture
    assert second.chosen.loss / size == pytest.approx(first.chosen.loss, rel=0.02)


# -- trainings that diverge ----------------------------------------------------------------------


def make_unscaled_table() -> Table:
    """Return a column so large that the gradient of a linear network overflows float32."""
    columns = make_columns()
    columns["x"] = columns["x"] * 1e14
    return Table.from_data(columns)


def test_a_candidate_that_diverges_is_left_out_with_a_note() -> None:
    finished = make_run(make_unscaled_table(), "y", scaling="none").execute()
    assert "the candidate linear was left out: its training diverged" in finished.notes
    assert "linear" not in {str(candidate.architecture) for candidate in finished.candidates}
    assert finished.candidates
    assert all(one.one_shot_loss is not None for one in finished.candidates)
    assert_finite(finished)


def make_diverging(run: PlannedRun) -> PlannedRun:
    """Return the same run with a far too high learning rate for stand-alone networks."""
    training = replace(run.plan.training, schedule=Constant(1e25))
    return replace(run, plan=replace(run.plan, training=training, optimizer=SGD()))


@pytest.mark.parametrize("rows", [300, 3_900], ids=["folds", "validation"])
def test_if_all_candidates_diverge_the_error_names_the_largest_number(rows: int) -> None:
    run = make_diverging(make_run(make_table(rows).drop(["kind"]), "value"))
    with pytest.raises(TabNASError, match=r"candidates diverged.*the largest number .* in"):
        run.execute()


def test_the_error_of_a_diverged_search_names_the_largest_number() -> None:
    run = make_run(make_table(300).drop(["kind"]), "value")
    search = replace(run.plan.search, schedule=Constant(1e25), optimizer=SGD())
    run = replace(run, plan=replace(run.plan, search=search))
    with pytest.raises(TabNASError, match=r"search has diverged.*the largest number .* in the"):
        run.execute()


def with_huge_target(examples: Examples) -> Examples:
    """Return the rows, one of them with a target whose square overflows float32."""
    values = examples.values.copy()
    values[0] = 1e25
    return Examples(
        examples.spec, numeric=examples.numeric, categorical=examples.categorical, target=values
    )


def test_skipped_steps_are_reported_and_noted() -> None:
    """With folds, only the search uses the training part."""
    run = make_run(make_table(300).drop(["kind"]), "value")
    train_rows = run.data.train_in_memory
    prepared = replace(run.data)
    vars(prepared)["train_in_memory"] = replace(
        train_rows, examples=with_huge_target(train_rows.examples)
    )
    notes: list[str] = []
    finished = replace(run, data=prepared).execute(lambda progress: notes.append(progress.note))
    assert "skipped steps: 3" in notes  # once an epoch
    assert any("the search skipped 3 weight steps" in note for note in finished.notes)
    assert_finite(finished)


def test_a_refit_that_diverges_keeps_the_evaluated_model() -> None:
    run = make_run(make_table(300).drop(["kind"]), "value", refit=True)
    test = run.data.test
    prepared = replace(run.data, test=replace(test, examples=with_huge_target(test.examples)))
    checkpoint = RunCheckpoint()
    finished = replace(run, data=prepared).execute(checkpoint=checkpoint)
    assert not checkpoint.has_running_steps  # nothing waits for the state of the refit
    plain = make_run(make_table(300).drop(["kind"]), "value").execute()
    assert any("training on all rows diverged" in note for note in finished.notes)
    assert not finished.trained_on_all_rows
    for name, array in plain.model.weights.items():
        np.testing.assert_array_equal(finished.model.weights[name], array)
