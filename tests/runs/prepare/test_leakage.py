"""Columns that give the target away are named; ordinary ones are not."""

from __future__ import annotations

import numpy as np
import pytest

from tabnas.data import Table, load_dataset
from tabnas.runs import LabelledTable, RunSettings, build_run_result, plan_run, prepare_data


def notes(columns: dict[str, object], target: str = "y", **said: object) -> tuple[str, ...]:
    settings = RunSettings(limits={"parameters": 500}, baselines=False, **said)
    return prepare_data(LabelledTable.from_table(Table.from_data(columns), target), settings).notes


def made(rows: int = 300) -> tuple[np.random.Generator, dict[str, object]]:
    rng = np.random.default_rng(0)
    return rng, {"a": rng.normal(size=rows), "b": rng.choice(["x", "y", "z"], rows)}


def test_a_number_that_tells_the_class() -> None:
    rng, columns = made()
    truth = rng.choice(["no", "yes"], 300)
    score = np.where(truth == "yes", 5.0, 2.0) + rng.random(300)
    assert notes(columns | {"y": truth}) == ()
    (note,) = notes(columns | {"score": score, "y": truth})
    assert "the column 'score' alone predicts the target 'y'" in note
    assert "drop it" in note


def test_codes_and_names_that_tell_the_class() -> None:
    rng, columns = made()
    truth = rng.integers(0, 3, 300)
    leaking = {"code": np.array([7, 3, 5])[truth], "name": np.array(["u", "v", "w"])[truth]}
    found = notes(columns | leaking | {"y": [f"class {k}" for k in truth]})
    assert [note.split("'")[1] for note in found] == ["code", "name"]


def test_a_value_that_is_missing_for_one_class_alone() -> None:
    rng, columns = made()
    closed = rng.random(300) < 0.4
    reason = [rng.choice(["moved", "price"]) if one else None for one in closed]
    day = [float(rng.normal()) if one else None for one in closed]
    found = notes(columns | {"reason": reason, "day": day, "y": closed.tolist()})
    assert [note.split("'")[1] for note in found] == ["reason", "day"]


@pytest.mark.parametrize("rows", [80, 2_000])
def test_a_quantity_in_another_unit(rows: int) -> None:
    rng, columns = made(rows)
    price = np.exp(rng.normal(size=rows))
    leaking = {"gross": 1.19 * price + 3, "root": np.sqrt(price)}
    assert len(notes(columns | leaking | {"y": price})) == 2
    noisy = {"gross": price + 0.3 * rng.normal(size=rows)}
    assert notes(columns | noisy | {"y": price}) == ()


def test_huge_quantities_raise_no_alarm() -> None:
    rng, columns = made()
    assert notes(columns | {"y": 1e308 * rng.uniform(-1, 1, 300)}) == ()


def test_what_is_learned_by_heart_is_no_leak() -> None:
    rng, columns = made(2_000)
    ids = rng.permutation(2_000)
    names = {"number": ids // 2, "name": [f"n{k}" for k in ids // 2]}
    assert notes(columns | names | {"y": rng.choice(["no", "yes"], 2_000)}) == ()


def test_a_rare_class_needs_more_than_a_good_guess() -> None:
    _, columns = made(400)
    rare = np.arange(400) < 8
    assert (
        notes(columns | {"y": rare.tolist(), "flag": (rare ^ (np.arange(400) == 2)).tolist()}) == ()
    )


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "diabetes"])
def test_ordinary_tables_raise_no_alarm(name: str) -> None:
    dataset = load_dataset(name)
    data = LabelledTable.from_table(dataset.table, dataset.target)
    for seed in range(10):
        settings = RunSettings(limits={"parameters": 500}, baselines=False, seed=seed)
        assert prepare_data(data, settings).notes == ()


def test_the_note_reaches_the_result() -> None:
    rng, columns = made(120)
    truth = rng.choice(["no", "yes"], 120)
    table = Table.from_data(columns | {"copy": truth, "y": truth})
    settings = RunSettings(limits={"parameters": 200}, baselines=False, candidates=1)
    outcome = plan_run(LabelledTable.from_table(table, "y"), settings).execute()
    assert any("'copy' alone predicts" in note for note in build_run_result(outcome).notes)
