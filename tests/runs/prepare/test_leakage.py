"""Columns that leak the target are named in a note; ordinary columns are not."""

from __future__ import annotations

import numpy as np
import pytest

from tabnas.data import Table, load_dataset
from tabnas.runs import LabelledTable, RunSettings, build_run_result, plan_run, prepare_data


def prepare_notes(
    columns: dict[str, object], target: str = "y", **options: object
) -> tuple[str, ...]:
    settings = RunSettings(limits={"parameters": 500}, reference_models=False, **options)
    return prepare_data(LabelledTable.from_table(Table.from_data(columns), target), settings).notes


def make_columns(rows: int = 300) -> tuple[np.random.Generator, dict[str, object]]:
    rng = np.random.default_rng(0)
    return rng, {"a": rng.normal(size=rows), "b": rng.choice(["x", "y", "z"], rows)}


def test_a_number_that_determines_the_class_is_noted() -> None:
    rng, columns = make_columns()
    y = rng.choice(["no", "yes"], 300)
    score = np.where(y == "yes", 5.0, 2.0) + rng.random(300)
    assert prepare_notes(columns | {"y": y}) == ()
    (note,) = prepare_notes(columns | {"score": score, "y": y})
    assert "the single column 'score' predicts the target 'y'" in note
    assert "drop it" in note


def test_codes_and_names_that_determine_the_class_are_noted() -> None:
    rng, columns = make_columns()
    y = rng.integers(0, 3, 300)
    leaking = {"code": np.array([7, 3, 5])[y], "name": np.array(["u", "v", "w"])[y]}
    notes = prepare_notes(columns | leaking | {"y": [f"class {k}" for k in y]})
    assert [note.split("'")[1] for note in notes] == ["code", "name"]


def test_a_value_that_is_missing_for_one_class_only_is_noted() -> None:
    rng, columns = make_columns()
    closed = rng.random(300) < 0.4
    reason = [rng.choice(["moved", "price"]) if is_closed else None for is_closed in closed]
    day = [float(rng.normal()) if is_closed else None for is_closed in closed]
    notes = prepare_notes(columns | {"reason": reason, "day": day, "y": closed.tolist()})
    assert [note.split("'")[1] for note in notes] == ["reason", "day"]


@pytest.mark.parametrize("rows", [80, 2_000])
def test_the_target_in_another_unit_is_noted(rows: int) -> None:
    rng, columns = make_columns(rows)
    price = np.exp(rng.normal(size=rows))
    leaking = {"gross": 1.19 * price + 3, "root": np.sqrt(price)}
    assert len(prepare_notes(columns | leaking | {"y": price})) == 2
    noisy = {"gross": price + 0.3 * rng.normal(size=rows)}
    assert prepare_notes(columns | noisy | {"y": price}) == ()


def test_huge_numbers_are_not_noted() -> None:
    rng, columns = make_columns()
    assert prepare_notes(columns | {"y": 1e308 * rng.uniform(-1, 1, 300)}) == ()


def test_identifiers_are_not_noted() -> None:
    rng, columns = make_columns(2_000)
    ids = rng.permutation(2_000)
    names = {"number": ids // 2, "name": [f"n{k}" for k in ids // 2]}
    assert prepare_notes(columns | names | {"y": rng.choice(["no", "yes"], 2_000)}) == ()


def test_a_good_guess_of_a_rare_class_is_not_noted() -> None:
    _, columns = make_columns(400)
    rare = np.arange(400) < 8
    assert (
        prepare_notes(
            columns | {"y": rare.tolist(), "flag": (rare ^ (np.arange(400) == 2)).tolist()}
        )
        == ()
    )


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "diabetes"])
def test_ordinary_tables_have_no_notes(name: str) -> None:
    dataset = load_dataset(name)
    data = LabelledTable.from_table(dataset.table, dataset.target)
    for seed in range(10):
        settings = RunSettings(limits={"parameters": 500}, reference_models=False, seed=seed)
        assert prepare_data(data, settings).notes == ()


def test_the_note_is_in_the_result() -> None:
    rng, columns = make_columns(120)
    y = rng.choice(["no", "yes"], 120)
    table = Table.from_data(columns | {"copy": y, "y": y})
    settings = RunSettings(limits={"parameters": 200}, reference_models=False, candidates=1)
    finished = plan_run(LabelledTable.from_table(table, "y"), settings).execute()
    assert any("'copy' predicts" in note for note in build_run_result(finished).notes)
