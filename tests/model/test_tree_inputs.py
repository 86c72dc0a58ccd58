"""Inputs of boosted trees do not depend on the scaling of the encoder."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tabnas.data import Table, TableEncoder
from tabnas.model import EncodedTreeMatrix, TreeInputs
from tests.model.conftest import make_mixed_columns


def fit_encoder(table: Table, **options: object) -> TableEncoder:
    return TableEncoder.fit(table, min_count=1, **options)


@pytest.mark.parametrize("scaling", ["robust", "standard", "none"])
def test_numbers_keep_their_order_with_any_scaling(scaling: str) -> None:
    values = np.array([1.0, 1.0 + 1e-6, 1.5, 2.0, None, 1e12, -1e300, 1e300], object)
    table = Table.from_data({"x": values})
    (column,) = TreeInputs(fit_encoder(table, scaling=scaling)).encode(table).T
    assert np.isnan(column).tolist() == [value is None for value in values]
    present = column[~np.isnan(column)]
    expected = np.argsort(values[[value is not None for value in values]].astype(float))
    assert np.argsort(present, kind="stable").tolist() == expected.tolist()
    assert len(set(present.tolist())) == 7
    assert np.isfinite(present).all()


def test_scaling_does_not_change_the_inputs() -> None:
    table = Table.from_data(make_mixed_columns(200))
    robust, standard = (
        TreeInputs(fit_encoder(table, scaling=scaling)) for scaling in ("robust", "standard")
    )
    np.testing.assert_array_equal(robust.encode(table), standard.encode(table))
    assert robust.columns[:2] == ("age", "city")
    assert robust.is_category[:2] == (False, True)


def test_missing_values_are_nan() -> None:
    table = Table.from_data({"flag": [True, False, None, True], "city": ["a", "b", "a", None]})
    inputs = TreeInputs(fit_encoder(table, kinds={"flag": "boolean"}))
    actual = inputs.encode(table)
    assert np.isnan(actual).tolist() == [[False] * 2, [False] * 2, [True, False], [False, True]]


def test_numbers_of_another_table_may_have_another_decimal_mark() -> None:
    inputs = TreeInputs(fit_encoder(Table.from_data({"x": ["1,5", "2,25", "4,0"]})))
    column = Table.from_data({"x": ["1.5", "1.500", "10.25"]})
    np.testing.assert_allclose(inputs.encode(column)[:, 0], [1.5 - 2.25, 1.5 - 2.25, 8])


def test_many_categories_are_pooled_and_also_given_as_numbers() -> None:
    names = [f"c{k:03d}" for k in range(400) for _ in range(400 - k)]
    table = Table.from_data({"many": [*names, None], "few": ["a", "b"] * (len(names) // 2) + ["a"]})
    inputs = TreeInputs(fit_encoder(table))
    assert inputs.columns == ("many", "many", "few")
    assert inputs.is_category == (True, False, True)
    pooled, numbers, _ = inputs.encode(table).T
    assert np.nanmax(pooled) == 254
    assert len(np.unique(numbers[~np.isnan(numbers)])) == 400
    assert np.isnan([pooled[-1], numbers[-1]]).all()
    assert set(pooled[numbers > 254].tolist()) == {0.0}  # rare ones are pooled
    np.testing.assert_array_equal(pooled[numbers <= 254], numbers[numbers <= 254])


def test_encoded_rows_give_the_same_categories_and_the_same_order() -> None:
    table = Table.from_data(make_mixed_columns(200))
    inputs = TreeInputs(fit_encoder(table))
    expected = inputs.encode(table)
    lazy = EncodedTreeMatrix(inputs, inputs.encoder.encode(table))
    assert len(lazy) == 200
    actual = lazy[np.arange(200)]
    np.testing.assert_array_equal(np.isnan(actual), np.isnan(expected))
    for column, is_category in enumerate(inputs.is_category):
        if is_category:
            np.testing.assert_array_equal(actual[:, column], expected[:, column])
        elif inputs.columns[column] == "age":
            order = np.argsort(expected[:, column])
            assert (
                np.diff(actual[order, column][: int((~np.isnan(expected[:, column])).sum())]) >= 0
            ).all()
    np.testing.assert_array_equal(lazy[5:7], actual[5:7])


def test_a_limited_encoder_loses_categories() -> None:
    """Categories that the limit has pooled are lost, so trees need the full encoder."""
    table = Table.from_data({"shop": [f"s{k}" for k in range(40) for _ in range(3)]})
    encoder = fit_encoder(table)
    cut = replace(encoder, columns=tuple(c.with_max_categories(4) for c in encoder.columns))
    uncut, less = (np.unique(TreeInputs(one).encode(table)) for one in (encoder, cut))
    assert (len(uncut), len(less)) == (40, 5)
