"""The number of knots: by the target, the limit, the rows, and the user's number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas import Budget, TabNASError
from tabnas.data import KnotTarget, Table
from tabnas.runs import LabelledTable, RunSettings, plan_run, prepare_data
from tabnas.runs.prepare import _knot_rule
from tabnas.runs.prepare._knot_rule import KNOT_COUNTS, KnotRule
from tabnas.space import Precision
from tests.runs.helpers import make_table


def make_rule(rows: int, columns: int = 4, max_knots: int | None = None) -> KnotRule:
    """Return a rule for equal columns, on which the target depends in many places."""
    values = np.random.default_rng(0).permutation(rows) / rows
    numeric = np.repeat(values[:, None], columns, axis=1).astype(np.float32)
    square_wave = (40 * values % 2 < 1).astype(np.int64)
    return KnotRule.from_rows(numeric, KnotTarget(square_wave, 2), max_knots)


def count_knots(rule: KnotRule, **limits: float) -> list[int]:
    return [len(knots) for knots in rule.choose(Budget(**limits))]


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"parameters": 2_480}, 31),  # 4 x 31 knots are 5 % of it
        ({"parameters": 2_479}, 15),
        ({"parameters": 1_200}, 15),
        ({"parameters": 1_199}, 7),
        ({"parameters": 560}, 7),
        ({"parameters": 559}, 4),
        ({"parameters": 10}, 4),  # the dimension can be 0
        ({"bytes": 4 * 2_480}, 31),
        ({"bytes": 4 * 2_480 - 1}, 15),
        ({"bytes": 4 * 560, "parameters": 2_480}, 7),
        ({"flops": 10}, 31),
    ],
)
def test_the_limit_bounds_the_knots(limits: dict[str, float], expected: int) -> None:
    assert count_knots(make_rule(5_000), **limits) == [expected] * 4


@pytest.mark.parametrize(
    ("precision", "limit"),  # 4 x 31 knots with one dimension are a tenth of it
    [
        (Precision.FLOAT32, 10 * 124 * (4 + 4)),
        (Precision.FLOAT16, 10 * 124 * (4 + 2)),
        (Precision.INT8, 10 * 124 * (4 + 1)),
    ],
)
def test_a_limit_on_bytes_counts_knots_and_weights(precision: Precision, limit: int) -> None:
    for upper, expected in ((limit, 31), (limit - 1, 15)):
        knots = make_rule(5_000).choose(Budget(bytes=upper).at_precision(precision))
        assert [len(each) for each in knots] == [expected] * 4


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (6_400, 63), (6_399, 31), (3_200, 31), (3_199, 15), (1_600, 15), (1_599, 7), (800, 7),
        (400, 4), (399, 0), (1, 0),
    ],
)  # fmt: skip
def test_the_rows_bound_the_knots(rows: int, expected: int) -> None:
    knots = count_knots(make_rule(rows), parameters=10**6)
    assert knots == ([expected] * 4 if expected else [])


@pytest.mark.parametrize("max_knots", [3, 5, 9, 41])
def test_a_given_number_is_taken(max_knots: int) -> None:
    rule = make_rule(1_000, max_knots=max_knots)
    assert count_knots(rule, parameters=10) == [max_knots] * 4


def test_columns_that_need_few_knots_leave_them_to_the_others() -> None:
    """All of these columns together have fewer knots, so that the limit allows more of each."""
    rng = np.random.default_rng(0)
    numeric = rng.integers(0, 3, size=(5_000, 4)).astype(np.float32)
    numeric[:, :2] = rng.uniform(size=(5_000, 2))
    target = KnotTarget((40 * numeric[:, 0] % 2 < 1).astype(np.int64), 2)
    rule = KnotRule.from_rows(numeric, target)
    assert count_knots(rule, parameters=900) == [31, 6, 3, 3]


@given(
    st.integers(1, 9_000), st.integers(1, 6), st.integers(1, 20_000), st.sampled_from(["n", "3"])
)
def test_knots_fit_the_rows_and_the_limit_or_are_the_fewest(
    rows: int, columns: int, limit: int, kind: str
) -> None:
    rng = np.random.default_rng(rows)
    numeric = rng.normal(size=(rows, columns)) if kind == "n" else rng.integers(0, 3, (rows, 1))
    y = np.sin(9 * numeric.sum(axis=1)) + 0.1 * rng.normal(size=rows)
    rule = KnotRule.from_rows(numeric.astype(np.float32), KnotTarget(y, 0))
    counts = count_knots(rule, parameters=limit)
    assert max(counts, default=0) <= min(KNOT_COUNTS[0], rows / 100)
    assert bool(counts) == (rows >= 100 * KNOT_COUNTS[-1])
    if max(counts, default=0) > KNOT_COUNTS[-1]:
        assert sum(counts) <= 0.05 * limit


def test_of_many_rows_evenly_spaced_ones_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    numeric = np.random.default_rng(0).uniform(size=(10_000, 1)).astype(np.float32)
    target = KnotTarget(np.array([0, 5, 1, 9])[np.digitize(numeric[:, 0], [0.1, 0.3, 0.6])], 0)
    everything = KnotRule.from_rows(numeric, target).choose(Budget(parameters=10**6))
    assert len(everything[0]) == 9  # four leaves, three thresholds, the ends
    monkeypatch.setattr(_knot_rule, "MAX_KNOT_ROWS", 5_000)
    rule = KnotRule.from_rows(numeric, target)
    assert rule.rows == 10_000
    some = rule.choose(Budget(parameters=10**6))
    np.testing.assert_allclose(some[0], everything[0], atol=0.02)


def make_data(rows: int = 400) -> LabelledTable:
    return LabelledTable.from_table(make_table(rows).drop(["value"]), "kind")


def test_without_dimensions_there_are_no_knots() -> None:
    settings = RunSettings(limits={"parameters": 2_000}, numeric_dimensions=(0,), knots=8)
    run = plan_run(make_data(), settings)
    assert run.data.knot_rule is None
    assert run.data.spec.inputs.knots == ()
    assert run.plan.feasible.space.numeric_embeddings is None


def test_the_setting_bounds_the_knots_of_each_column() -> None:
    for knots in (3, 6):
        settings = RunSettings(limits={"parameters": 2_000}, knots=knots)
        inputs = prepare_data(make_data(), settings).spec.inputs
        assert max(map(len, inputs.knots)) == knots


def test_features_of_two_values_are_not_embedded() -> None:
    table = Table.from_data(
        {
            "x": np.arange(200) % 7,
            "flag": np.arange(200) % 2,
            "gaps": [None if i % 3 else float(i) for i in range(200)],
            "y": np.arange(200) % 5 > 2,
        }
    )
    settings = RunSettings(limits={"parameters": 2_000}, knots=8)
    data = prepare_data(LabelledTable.from_table(table, "y"), settings)
    inputs = data.spec.inputs
    named = dict(zip(data.encoder.features, map(len, inputs.knots), strict=True))
    assert named["x"] == 6
    assert named["flag"] == 0
    numeric = data.train_in_memory.encoded.numeric
    two_values = [len(np.unique(column)) < 3 for column in numeric.T]
    assert [not knots for knots in inputs.knots] == two_values
    assert sum(two_values) == 2  # `gaps` has a feature of its own that says where they are


def test_a_table_without_numbers_has_no_input_layer() -> None:
    rng = np.random.default_rng(0)
    columns = {name: rng.choice(["a", "b", "c"], 900).tolist() for name in ("x", "z", "y")}
    data = LabelledTable.from_table(Table.from_data(columns), "y")
    for options in ({}, {"knots": 8, "numeric_dimensions": (2,)}):
        run = plan_run(data, RunSettings(limits={"parameters": 500}, **options))
        assert run.plan.feasible.space.numeric_embeddings is None
        assert run.plan.equal_dimensions == (0,)


def test_a_table_of_few_rows_has_an_input_layer_only_if_asked_for() -> None:
    few = make_data(400)  # 240 for training
    limits = {"parameters": 2_000}
    assert plan_run(few, RunSettings(limits=limits)).plan.feasible.space.numeric_embeddings is None
    layer = plan_run(few, RunSettings(limits=limits, knots=4)).plan.feasible.space.layers[0]
    assert layer == (0, 1, 2, 4, 8)
    asked = plan_run(few, RunSettings(limits=limits, numeric_dimensions=(2,)))
    assert asked.plan.feasible.space.layers[0] == (2,)
    assert max(map(len, asked.data.spec.inputs.knots)) == 4
    many = plan_run(make_data(700), RunSettings(limits=limits))
    assert many.plan.feasible.space.layers[0] == (0, 1, 2, 4, 8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"knots": 2}, "knots must be an integer of at least 3, got 2"),
        ({"knots": -1}, "knots must be an integer of at least 3, got -1"),
        ({"knots": 513}, "knots must be at most 512, got 513"),
        ({"knots": 3.5}, "knots must be an integer"),
        (
            {"numeric_dimensions": (-1,)},
            "a dimension of numeric embeddings must be an integer of at least 0",
        ),
        ({"numeric_dimensions": (65,)}, "a dimension of numeric embeddings must be at most 64"),
        ({"numeric_dimensions": (0, "2")}, "a dimension of numeric embeddings must be an integer"),
        ({"numeric_dimensions": ()}, "numeric_dimensions must have at least one element, got none"),
        ({"numeric_dimensions": 2}, "numeric_dimensions must"),
        ({"numeric_dimensions": "2"}, "numeric_dimensions must"),
    ],
)
def test_invalid_settings_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(TabNASError, match=message):
        RunSettings(limits={"parameters": 100}, **options)
