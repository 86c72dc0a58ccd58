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
    unlabelled: Table | None = None,
    **options: Any,
) -> PreparedData:
    data = LabelledTable.from_table(table or with_columns(), target)
    if unlabelled is not None:
        data = data.with_unlabelled(unlabelled)
    others = [name for name in COLUMNS if name not in columns]
    settings = RunSettings(
        limits=LIMITS, reference_models=False, teacher_columns=columns, drop=others, **options
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
    prepared = prepare_data(weighted, RunSettings(limits=LIMITS, reference_models=False))
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


# -- rows without a target -------------------------------------------------------------------------

EVERY_THIRD = np.arange(0, ROWS, 3)


def hide(target: str, rows: np.ndarray = EVERY_THIRD, **changes: Any) -> Table:
    """Return the table with answers, and no target in these rows."""
    columns = {name: with_columns(**changes).column(name).to_pylist() for name in with_columns()}
    for row in rows.tolist():
        columns[target][row] = None
    return Table.from_data(columns)


def find_rows(data: PreparedData, table: Table) -> list[int]:
    """Return the number of each row without a target in this table, by its encoded values."""
    everything = data.encoder.encode(table).numeric
    return [int((everything == row).all(axis=1).argmax()) for row in data.unlabelled.numeric]


@pytest.mark.parametrize(
    ("target", "columns"),
    [
        ("kind", ("p_low",)),
        ("kind", ("p_high", "p_low")),
        ("colour", ("p_blue", "p_green", "p_red")),
        ("value", ("guess",)),
    ],
)
def test_rows_of_the_table_without_a_target_have_answers(
    target: str, columns: tuple[str, ...]
) -> None:
    data = prepare(target, *columns, table=hide(target))
    answers = data.given_answers.unlabelled
    expected = np.stack([COLUMNS[name][EVERY_THIRD] for name in columns], axis=1)
    if target == "value":
        expected = data.target.scale_values(expected)
    assert answers.shape == (len(EVERY_THIRD), data.spec.outputs)
    assert np.allclose(answers, expected[:, -data.spec.outputs :])
    assert answers.dtype == np.float32
    assert find_rows(data, with_columns()) == EVERY_THIRD.tolist()


def test_the_answers_are_those_of_the_rows_that_the_seed_chooses() -> None:
    other = make_table(500, seed=9)
    of_other = RNG.uniform(size=500)
    answered = Table(other.arrow.append_column("p_low", pa.array(of_other)))
    data = prepare("kind", "p_low", table=hide("kind"), unlabelled=answered)
    own, others = data.unlabelled_numbers
    assert len(own) + len(others) == len(data.unlabelled) == data.train_rows
    assert 0 < len(own) < len(EVERY_THIRD)
    expected = np.concatenate([COLUMNS["p_low"][own], of_other[others]])
    assert np.array_equal(data.given_answers.unlabelled[:, 0], expected.astype(np.float32))
    both = Table(pa.concat_tables([make_table(ROWS).arrow, other.arrow]))
    assert find_rows(data, both) == [*own, *(ROWS + others)]
    trees = RunSettings(limits=LIMITS, reference_models=False, drop=[*COLUMNS], teacher="trees")
    table = LabelledTable.from_table(hide("kind"), "kind").with_unlabelled(other)
    same = prepare_data(table, trees).unlabelled
    assert np.array_equal(data.unlabelled.numeric, same.numeric)


def test_rows_of_the_table_without_target_and_answer_are_left_out() -> None:
    some = COLUMNS["p_low"].astype(object)
    some[EVERY_THIRD[:5]] = None
    data = prepare("kind", "p_low", table=hide("kind", p_low=some))
    assert find_rows(data, with_columns()) == EVERY_THIRD[5:].tolist()
    assert len(data.given_answers.unlabelled) == len(EVERY_THIRD) - 5
    left_out = "5 rows without a value of 'kind', the target, left out: the teacher columns have no"
    assert any(note.startswith(left_out) for note in data.notes)
    some[EVERY_THIRD] = None
    data = prepare("kind", "p_low", table=hide("kind", p_low=some))
    assert data.unlabelled is None
    assert data.given_answers.unlabelled.shape == (0, 1)


def test_answers_to_rows_of_the_table_that_cannot_be_encoded_are_left_out_too() -> None:
    sizes = [f"{value:.3f}" for value in make_table(ROWS).column("size").to_pylist()]
    sizes[EVERY_THIRD[-1]] = "Total"
    columns = {name: hide("kind").column(name).to_pylist() for name in with_columns()}
    other = Table(make_table(10, seed=9).arrow.append_column("p_low", pa.array([0.25] * 10)))
    table = Table.from_data({**columns, "size": sizes})
    data = prepare("kind", "p_low", table=table, unlabelled=other)
    assert len(data.unlabelled) == 10
    assert np.array_equal(data.given_answers.unlabelled, np.full((10, 1), 0.25, np.float32))
    assert any("67 rows without a value of 'kind'" in note for note in data.notes)


def test_the_digest_has_the_answers_to_rows_without_a_target() -> None:
    changed = COLUMNS["p_low"].copy()
    changed[EVERY_THIRD[0]] = 0.5
    tables = [hide("kind"), hide("kind"), hide("kind", p_low=changed)]
    one, again, other = (prepare("kind", "p_low", table=table).digest() for table in tables)
    assert one == again != other


def test_answers_of_another_table_may_have_another_decimal_mark() -> None:
    def write(values: np.ndarray, mark: str) -> list[str]:
        return [f"{value:.2f}".replace(".", mark) for value in values]

    columns = {name: make_table(40, 9).column(name).to_pylist() for name in make_table(0)}
    answers = RNG.uniform(size=40)
    other = Table.from_data({**columns, "guess": write(100 + answers, ",")})
    data = prepare(
        "value",
        "guess",
        table=with_columns(guess=write(COLUMNS["guess"], ".")),
        unlabelled=other.drop(["value"]),
    )
    given = data.target.unscale_values(data.given_answers.unlabelled[:, 0])
    assert np.allclose(given, np.round(100 + answers, 2), atol=1e-4)


@pytest.mark.parametrize(
    ("columns", "changes", "message"),
    [
        (
            ("p_high", "p_low"),
            {"p_low": None},
            "must have all teacher columns, .* lacks 'p_low'; a",
        ),
        (
            ("p_high", "p_low"),
            {"p_high": None, "p_low": None},
            "lacks 'p_high', 'p_low'; add the teacher's answers to these rows, or leave the rows",
        ),
        (("p_low",), {"p_low": [None, *[0.5] * 39]}, "answer in every row, but 1 of 40 are missi"),
        (("p_low",), {"p_low": [1.2] * 40}, "must hold numbers from 0 to 1, but 40 of 40"),
        (("p_high", "p_low"), {"p_high": [0.7] * 40}, "must add up to 1 in every row, but in 40"),
        (("p_low",), {"p_low": ["0.5", "half"] * 20}, "row 2 is 'half'"),
    ],
)
def test_another_table_must_have_right_answers(
    columns: tuple[str, ...], changes: dict[str, Any], message: str
) -> None:
    answers = {"p_high": [0.5] * 40, "p_low": [0.5] * 40} | changes
    arrow = make_table(40, seed=9).arrow
    for name, values in answers.items():
        if values is not None:
            arrow = arrow.append_column(name, pa.array(values))
    with pytest.raises(TabNASError, match=f"^in the rows without a target, .*{message}"):
        prepare("kind", *columns, unlabelled=Table(arrow))


def test_wrong_answers_to_rows_of_the_table_are_refused() -> None:
    wrong = COLUMNS["p_low"].copy()
    wrong[EVERY_THIRD[4]] = 7
    with pytest.raises(TabNASError, match=r"^in the rows without a target, .* 0 to 1, but 1 of 67"):
        prepare("kind", "p_low", table=hide("kind", p_low=wrong))
    texts = [f"{value:.3f}" for value in COLUMNS["p_low"]]
    texts[EVERY_THIRD[4]] = "yes"
    with pytest.raises(
        TabNASError, match=r"^in the rows without a target, .* row 13 is 'yes'; .* empty$"
    ):
        prepare("kind", "p_low", table=hide("kind", p_low=texts))


def test_errors_about_answers_name_rows_of_the_table_of_the_user() -> None:
    texts = [f"{x:.3f}" for x in COLUMNS["p_low"]]
    texts[7] = "unsure"
    kinds = make_table(ROWS).column("kind").to_pylist()
    arrow = with_columns(p_low=texts).arrow
    without = pa.array([None, None, None, *kinds[3:]])
    arrow = arrow.set_column(arrow.column_names.index("kind"), "kind", without)
    with pytest.raises(TabNASError, match=r"^the column 'p_low' must hold numbers.* row 8 is 'uns"):
        prepare("kind", "p_low", table=Table(arrow))
    fresh = make_table(80, seed=9)
    answers = Table(fresh.arrow.append_column("p_low", pa.array(texts[:80])))
    with pytest.raises(TabNASError, match=r"^in the test rows, the column 'p_low'.* row 8 is 'uns"):
        prepare("kind", "p_low", test=answers)
