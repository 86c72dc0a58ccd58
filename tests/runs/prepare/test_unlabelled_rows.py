"""Rows without a target are encoded like the others, and influence nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tabnas.data import DataWarning, Table
from tabnas.errors import TabNASError
from tabnas.runs import LabelledTable, PreparedData, RunSettings, make_plan, prepare_data
from tabnas.runs.plan import _teacher_plan
from tabnas.runs.prepare._unlabelled_rows import MAX_UNLABELLED_RATIO
from tests.runs.helpers import make_table

SETTINGS = RunSettings(limits={"parameters": 500}, knots=5, drop=("day",), reference_models=False)


def make_rows(rows: int = 300, seed: int = 0, target: str = "kind") -> Table:
    return make_table(rows, seed).drop([{"kind": "value", "value": "kind"}[target]])


def hide(table: Table, rows: np.ndarray, target: str = "kind") -> Table:
    """Return the table with no target in these rows."""
    columns = {name: table.column(name).to_pylist() for name in table}
    for row in rows.tolist():
        columns[target][row] = None
    return Table.from_data(columns)


def read_bits(data: PreparedData) -> tuple[object, ...]:
    """Return everything that rows without a target must not change."""
    parts = (data.train_and_validation, data.test)
    arrays = [array.tobytes() for part in parts for array in (*part.examples.arrays, part.y)]
    return (
        data.encoder.to_dict(),
        data.target.to_dict(),
        data.spec,
        data.category_dimensions,
        arrays,
    )


@pytest.mark.parametrize("target", ["kind", "value"])
def test_they_change_no_bit_of_the_other_rows(target: str) -> None:
    data = LabelledTable.from_table(make_rows(target=target), target)
    others = make_rows(100, seed=1, target=target).drop([target])
    columns = {name: others.column(name).to_pylist() for name in others}
    columns["size"] = [1e6 + row for row in range(100)]
    columns["colour"] = ["red", "violet"] * 50
    more = prepare_data(data.with_unlabelled(Table.from_data(columns)), SETTINGS)
    without = prepare_data(data, SETTINGS)
    assert read_bits(more) == read_bits(without)
    assert without.unlabelled is None
    assert more.unlabelled is not None
    assert len(more.unlabelled) == 100


def test_rows_of_the_table_are_encoded_as_the_fitted_encoder_does() -> None:
    table = make_rows()
    hidden = np.arange(0, 300, 7)
    data = LabelledTable.from_table(hide(table, hidden), "kind")
    prepared = prepare_data(data, SETTINGS)
    expected = prepared.encoder.encode(table.drop(["kind"]), rows=hidden)
    assert prepared.unlabelled is not None
    assert np.array_equal(prepared.unlabelled.numeric, expected.numeric)
    assert np.array_equal(prepared.unlabelled.categorical, expected.categorical)
    assert len(prepared.all_rows) == 300 - len(hidden)
    (note,) = [note for note in prepared.notes if "the target" in note]
    assert note.startswith("43 rows without a value of 'kind', the target: networks may learn")


def test_rows_of_the_table_and_of_another_are_used_together() -> None:
    table = make_rows()
    data = LabelledTable.from_table(hide(table, np.arange(10)), "kind")
    other = make_rows(20, seed=1)
    more = data.with_unlabelled(other)
    assert "kind" not in more.unlabelled
    prepared = prepare_data(more, SETTINGS)
    parts = [prepared.encoder.encode(table, rows=np.arange(10)), prepared.encoder.encode(other)]
    numeric = np.concatenate([part.numeric for part in parts])
    assert np.array_equal(prepared.unlabelled.numeric, numeric)
    assert any(note.startswith("30 rows without a value") for note in prepared.notes)
    assert "the column 'kind' of the rows without a target was ignored" in prepared.notes


def test_a_limit_shortens_their_vocabularies_too() -> None:
    rng = np.random.default_rng(0)

    def make(rows: int) -> dict[str, object]:
        city = [f"c{number}" for number in rng.integers(0, 60, rows)]
        return {"city": city, "x": rng.normal(size=rows)}

    columns = make(900)
    data = LabelledTable.from_table(
        Table.from_data(columns | {"y": rng.integers(0, 2, 900)}), "y"
    ).with_unlabelled(other := Table.from_data(make(50)))
    prepared = prepare_data(data, RunSettings(limits={"parameters": 60}, reference_models=False))
    assert prepared.unlimited.encoder.n_categories > prepared.encoder.n_categories
    expected = prepared.encoder.encode(other).categorical
    assert np.array_equal(prepared.unlabelled.categorical, expected)


def test_the_seed_chooses_some_if_there_are_too_many() -> None:
    data = LabelledTable.from_table(make_rows(40), "kind")
    other = make_rows(400, seed=1)
    first, again, different = (
        prepare_data(data.with_unlabelled(other), replace(SETTINGS, seed=seed))
        for seed in (0, 0, 1)
    )
    maximum = MAX_UNLABELLED_RATIO * first.train_rows
    assert len(first.unlabelled) == maximum < 400
    assert np.array_equal(first.unlabelled.numeric, again.unlabelled.numeric)
    assert not np.array_equal(first.unlabelled.numeric, different.unlabelled.numeric)
    everything = first.encoder.encode(other).numeric.tolist()
    assert all(row in everything for row in first.unlabelled.numeric.tolist())
    assert any(f"of which {maximum} were chosen at random" in note for note in first.notes)


def test_they_are_part_of_the_identity_of_a_run() -> None:
    data = LabelledTable.from_table(make_rows(), "kind")
    digests = {
        prepare_data(rows, SETTINGS).digest()
        for rows in (
            data,
            data.with_unlabelled(make_rows(20, seed=1)),
            data.with_unlabelled(make_rows(20, seed=2)),
        )
    }
    assert len(digests) == 3


def test_many_unseen_categories_are_reported() -> None:
    data = LabelledTable.from_table(make_rows(), "kind")
    columns = {name: make_rows(50).column(name).to_pylist() for name in make_rows(50)}
    columns["colour"] = ["violet"] * 50
    with pytest.warns(DataWarning, match="in the unlabelled rows, all 50 values of the column"):
        prepared = prepare_data(data.with_unlabelled(Table.from_data(columns)), SETTINGS)
    assert any("in the unlabelled rows" in note for note in prepared.notes)


def test_without_a_teacher_rows_of_the_table_are_left_out() -> None:
    data = LabelledTable.from_table(hide(make_rows(), np.arange(20)), "kind")
    prepared = prepare_data(data, replace(SETTINGS, teacher="none"))
    assert prepared.unlabelled is None
    assert "20 rows without a value of 'kind', the target, left out" in prepared.notes


def test_without_a_teacher_rows_of_another_table_are_refused() -> None:
    data = LabelledTable.from_table(make_rows(), "kind").with_unlabelled(make_rows(20))
    with pytest.raises(TabNASError, match=r"must have a teacher.* but the teacher is none"):
        prepare_data(data, replace(SETTINGS, teacher="none"))


def test_a_line_of_totals_is_no_error() -> None:
    """Such rows were left out before there were teachers; another table must be right."""
    columns = {"x": [str(value) for value in range(60)], "y": ["a", "b"] * 30}
    totals = {"x": [*columns["x"], "12", "Total"], "y": [*columns["y"], None, None]}
    prepared = prepare_data(
        LabelledTable.from_table(Table.from_data(totals), "y"), RunSettings(limits={"flops": 50})
    )
    assert prepared.unlabelled is None
    (note,) = [note for note in prepared.notes if "left out" in note]
    assert note.startswith("2 rows without a value of 'y', the target, left out: the column 'x'")
    data = LabelledTable.from_table(Table.from_data(columns), "y")
    with pytest.raises(
        TabNASError,
        match=r"in the rows without a target, .*row 2 .*'Total'.*declare the column categorical",
    ):
        prepare_data(
            data.with_unlabelled(Table.from_data({"x": ["1", "Total"]})),
            RunSettings(limits={"flops": 50}),
        )


def test_an_empty_table_is_refused() -> None:
    data = LabelledTable.from_table(make_rows(), "kind")
    with pytest.raises(TabNASError, match="must have rows, but it has none"):
        data.with_unlabelled(make_rows().take(np.arange(0)))


def test_a_missing_column_is_refused() -> None:
    data = LabelledTable.from_table(make_rows(), "kind").with_unlabelled(make_rows().drop(["size"]))
    with pytest.raises(
        TabNASError, match=r"in the rows without a target, .* must have the column 'size'"
    ):
        prepare_data(data, SETTINGS)


def test_the_plan_counts_their_time() -> None:
    data = LabelledTable.from_table(make_rows(), "kind")
    few, many = (
        make_plan(prepare_data(rows, SETTINGS), SETTINGS)
        for rows in (data, data.with_unlabelled(make_rows(120, seed=1)))
    )
    assert few.teacher.rows_ratio == 1.0
    assert many.teacher.rows_ratio == 1.0 + 120 / 240  # of the rows that are cross-validated
    step = few.seconds_per_step
    few, many = (replace(plan, measure_step_seconds=lambda: step) for plan in (few, many))
    assert many.estimated_seconds["candidates"] > 1.2 * few.estimated_seconds["candidates"]
    assert many.estimated_seconds["search"] == few.estimated_seconds["search"]


def test_answers_that_take_too_much_memory_leave_them_out(
    monkeypatch: pytest.MonkeyPatch, default_trainings: None
) -> None:
    data = LabelledTable.from_table(make_rows(), "kind").with_unlabelled(make_rows(100, seed=1))
    prepared = prepare_data(data, SETTINGS)
    needed = _teacher_plan.ANSWER_COPIES * 4 * 400
    monkeypatch.setattr(_teacher_plan, "MAX_ANSWER_BYTES", needed)
    assert make_plan(prepared, SETTINGS).teacher.teachers
    monkeypatch.setattr(_teacher_plan, "MAX_ANSWER_BYTES", needed - 1)
    plan = make_plan(prepared, SETTINGS)
    assert not plan.teacher.teachers
    assert plan.notes[0].endswith("; rows without a target were left out")
