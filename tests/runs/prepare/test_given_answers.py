"""Columns with the answers of the user's own teacher: read, checked, and no features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tabnas.data import Table
from tabnas.errors import TabNASError
from tabnas.runs import LabelledTable, PreparedData, RunSettings, prepare_data
from tests.runs.helpers import LIMITS, make_table

ROWS = 200
RNG = np.random.default_rng(3)


def make_columns() -> dict[str, np.ndarray]:
    """Answers that are mostly right, for two and three classes and for a quantity."""
    table = make_table(ROWS)
    low = np.array(table.column("kind").to_pylist()) == "low"
    of_low = np.where(low, 0.8, 0.3) + RNG.uniform(-0.1, 0.1, ROWS)
    colours = np.array(table.column("colour").to_pylist())
    of_colour = np.stack([np.where(colours == c, 0.6, 0.2) for c in ("blue", "green", "red")])
    return {
        "p_high": 1 - of_low,
        "p_low": of_low,
        "p_blue": of_colour[0],
        "p_green": of_colour[1],
        "p_red": of_colour[2],
        "guess": table.column("value").to_numpy() + RNG.normal(size=ROWS),
    }


COLUMNS = make_columns()


def with_columns(rows: slice | None = None, **changes: Any) -> Table:
    arrow = make_table(ROWS).arrow
    for name, values in {**COLUMNS, **changes}.items():
        arrow = arrow.append_column(name, pa.array(values))
    return Table(arrow if rows is None else arrow.take(np.arange(ROWS)[rows]))


def prepare(
    target: str,
    *columns: str,
    table: Table | None = None,
    test: Table | None = None,
    validation: Table | None = None,
    **options: Any,
) -> PreparedData:
    data = LabelledTable.from_table(table or with_columns(), target)
    others = [name for name in COLUMNS if name not in columns]
    settings = RunSettings(
        limits=LIMITS, baselines=False, teacher_columns=columns, drop=others, **options
    )
    held_out = {
        name: LabelledTable.from_table(part, data.target)
        for name, part in (("validation", validation), ("test", test))
        if part is not None
    }
    return prepare_data(data, settings, **held_out)


def test_answers_are_in_the_order_of_the_rows_and_no_features() -> None:
    data = prepare("kind", "p_high", "p_low")
    given, numbers = data.given_answers, data.row_numbers
    n = len(data.train_and_validation)
    assert np.allclose(given.development[:, 0], COLUMNS["p_low"][numbers[:n]])
    assert np.allclose(given.test[:, 0], COLUMNS["p_low"][numbers[n:]])
    assert given.answers_test
    assert given.name == "columns p_high, p_low"
    assert not set(COLUMNS) & {column.name for column in data.encoder.columns}


def test_one_column_is_the_probability_of_the_second_class() -> None:
    one, two = prepare("kind", "p_low"), prepare("kind", "p_high", "p_low")
    assert np.allclose(one.given_answers.development, two.given_answers.development)
    assert one.given_answers.name == "column p_low"


def test_classes_are_in_sorted_order() -> None:
    data = prepare("colour", "p_blue", "p_green", "p_red")
    answers = data.given_answers.development
    assert answers.shape[1] == 3
    assert (answers.argmax(axis=1) == data.train_and_validation.y).all()


def test_predictions_are_scaled() -> None:
    data = prepare("value", "guess")
    rows = data.row_numbers[: len(data.train_and_validation)]
    expected = data.target.scale_values(COLUMNS["guess"][rows])
    assert np.allclose(data.given_answers.development[:, 0], expected)


def test_row_numbers_are_those_of_the_table_of_the_user() -> None:
    kinds = np.array(make_table(ROWS).column("kind").to_pylist(), dtype=object)
    kinds[::5] = None
    arrow = make_table(ROWS).arrow.drop_columns(["kind"]).append_column("kind", pa.array(kinds))
    data = LabelledTable.from_table(Table(arrow), "kind")
    assert (data.row_numbers == np.nonzero(kinds != None)[0]).all()  # noqa: E711
    weighted = LabelledTable(
        data.features, data.target, data.y, np.arange(len(data)) % 2.0, row_numbers=data.row_numbers
    )
    assert (weighted.drop_zero_weights().row_numbers == data.row_numbers[1::2]).all()
    prepared = prepare_data(weighted, RunSettings(limits=LIMITS, baselines=False))
    assert sorted(prepared.row_numbers) == data.row_numbers[1::2].tolist()
    y = np.array(data.target.classes)[prepared.train_and_validation.y]
    assert (y == kinds[prepared.row_numbers[: len(y)]]).all()


def test_files_of_test_and_validation_rows() -> None:
    fresh = make_table(80, seed=9)
    answers = np.where(np.array(fresh.column("kind").to_pylist()) == "low", 0.9, 0.2)
    with_answers = Table(fresh.arrow.append_column("p_low", pa.array(answers)))
    data = prepare("kind", "p_low", test=with_answers)
    assert data.given_answers.answers_test
    assert np.allclose(data.given_answers.test[:, 0], answers)
    assert data.row_numbers is None

    data = prepare("kind", "p_low", test=fresh)
    assert not data.given_answers.answers_test
    assert (data.given_answers.test[:, 0] == data.test.y).all()

    data = prepare("kind", "p_low", validation=with_answers)
    assert np.allclose(data.given_answers.development[-80:, 0], answers)
    data = prepare("kind", "p_low", validation=fresh)
    assert (data.given_answers.development[-80:, 0] == data.validation.y).all()
    with pytest.raises(TabNASError, match="all teacher columns or none, but they lack 'p_high'"):
        prepare("kind", "p_high", "p_low", test=with_answers)


def test_the_digest_has_the_answers() -> None:
    digest = prepare("kind", "p_low").digest()
    assert prepare("kind", "p_low").digest() == digest
    changed = COLUMNS["p_low"] * 0.99
    assert prepare("kind", "p_low", table=with_columns(p_low=changed)).digest() != digest


@pytest.mark.parametrize(
    ("target", "columns", "changes", "message"),
    [
        ("kind", ("p_low",), {"p_low": [None] * 3 + [0.5] * 197}, r"but \d of \d+ are missing"),
        ("kind", ("p_low",), {"p_low": 100 * COLUMNS["p_low"]}, "'low', must hold numbers from 0"),
        ("kind", ("p_low",), {"p_low": np.full(ROWS, -0.1)}, "from 0 to 1, .* like -0.1"),
        ("kind", ("p_high", "p_low"), {"p_high": COLUMNS["p_low"]}, "must add up to 1"),
        ("kind", ("p_low", "p_high"), {}, "'p_low', the probability of 'high'; .* order right?"),
        ("kind", ("p_high",), {}, "'p_high', the probability of 'low': is the order right?"),
        ("kind", ("p_low", "p_red", "p_blue"), {}, "in this order: 'high', 'low', or one column"),
        ("colour", ("p_blue", "p_red"), {}, "each of the 3 classes, .*'blue', 'green', 'red'; got"),
        ("colour", ("p_red", "p_green", "p_blue"), {}, "'p_red', the probability of 'blue'; 'p_gr"),
        ("value", ("guess",), {"guess": 10 * COLUMNS["guess"]}, "values of 'value': is its unit"),
        ("value", ("guess", "p_low"), {}, "must be one column of predictions, .* got 2"),
        ("kind", ("p_los",), {}, "there is no column 'p_los'; did you mean 'p_low'?"),
        ("kind", ("colour",), {}, "'colour' must hold numbers|is 'red'|could not"),
    ],
)
def test_wrong_answers_are_refused(
    target: str, columns: tuple[str, ...], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(TabNASError, match=message):
        prepare(target, *columns, table=with_columns(**changes))


def test_sure_answers_that_are_sometimes_wrong_are_taken() -> None:
    """The log loss of a wrong 0 or 1 is infinite, but such answers can teach."""
    right = np.array(make_table(ROWS).column("kind").to_pylist()) == "low"
    flipped = np.where(np.arange(ROWS) % 8 == 0, ~right, right).astype(float)
    data = prepare("kind", "p_low", table=with_columns(p_low=flipped))
    assert set(np.unique(data.given_answers.development)) == {0.0, 1.0}
