"""Rows are split, encoded and weighted; test rows influence nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tabnas.data import NumberTarget, Shares, Table, split_by_group
from tabnas.errors import TabNASError
from tabnas.runs import LabelledTable, RunSettings, make_plan, prepare_data
from tabnas.runs.candidates._training import split_folds
from tabnas.runs.prepare._prepared_data import MAX_CROSS_VALIDATED_ROWS
from tests.runs.helpers import made_table

LIMITS = {"parameters": 2_000}


def labelled(table: Table, target: str = "kind") -> LabelledTable:
    return LabelledTable.from_table(
        table.drop([{"kind": "value", "value": "kind"}[target]]), target
    )


def settings(**said: object) -> RunSettings:
    return RunSettings(limits=LIMITS, **said)


def test_every_row_is_in_one_part(table: Table) -> None:
    prepared = prepare_data(labelled(table), settings(shares=Shares(validation=0.25, test=0.1)))
    sizes = [len(prepared.train), len(prepared.validation), len(prepared.test)]
    assert sum(sizes) == 400
    assert sizes == pytest.approx([260, 100, 40], abs=2)
    assert len(prepared.development) == sizes[0] + sizes[1]
    assert len(prepared.all_rows) == 400


def test_parts_share_the_memory_of_the_development_rows(table: Table) -> None:
    prepared = prepare_data(labelled(table), settings())
    for part in (prepared.train, prepared.validation):
        assert np.shares_memory(part.examples.numeric, prepared.development.examples.numeric)


def test_the_test_part_shapes_nothing() -> None:
    """Whatever the test rows hold, the encoder and the target's units stay as they are."""
    table = made_table()
    first = prepare_data(labelled(table, "value"), settings())
    second = prepare_data(labelled(_spoilt(table, "test"), "value"), settings())
    assert second.encoder.to_dict() == first.encoder.to_dict()
    assert second.target == first.target
    for name in ("numeric", "categorical"):
        before, after = (getattr(p.development.encoded, name) for p in (first, second))
        np.testing.assert_array_equal(before, after)


def test_validation_rows_of_a_large_table_shape_nothing() -> None:
    """Only small tables, which train their final network on them, are encoded by them, too."""
    table = made_table(4_000)
    first = prepare_data(labelled(table, "value"), settings())
    second = prepare_data(labelled(_spoilt(table, "validation"), "value"), settings())
    assert len(first.development) > MAX_CROSS_VALIDATED_ROWS
    assert second.encoder.to_dict() == first.encoder.to_dict()
    assert second.target == first.target
    for name in ("numeric", "categorical"):
        before, after = (getattr(p.train_in_memory.encoded, name) for p in (first, second))
        np.testing.assert_array_equal(before, after)


def _spoilt(table: Table, part: str) -> Table:
    """The table with other values in the rows that the seed gives to a part."""
    rows = _rows_of(table, part)
    arrow = table.arrow
    for name in ("size", "warmth", "value"):
        values = arrow.column(name).to_numpy().copy()
        values[rows] = values[rows] * 1_000 - 5
        arrow = arrow.set_column(arrow.column_names.index(name), name, pa.array(values))
    colours = np.array(arrow.column("colour").to_pylist(), dtype=object)
    colours[rows] = "never seen"
    return Table(arrow.set_column(2, "colour", pa.array(colours, pa.string())))


def _rows_of(table: Table, part: str) -> np.ndarray:
    """Which rows the seed gives to a part, found by their sizes."""
    prepared = prepare_data(labelled(table, "value"), settings(scaling="none"))
    column = prepared.encoder.features.index("size")
    sizes = table.arrow.column("size").to_numpy().astype(np.float32)
    return np.isin(sizes, getattr(prepared, part).encoded.numeric[:, column])


def sizes_of(part, encoder) -> set[float]:
    """What tells rows apart: their sizes, as they were."""
    return set(part.encoded.numeric[:, encoder.features.index("size")].tolist())


def test_a_split_by_time_tests_on_the_latest(table: Table) -> None:
    said = settings(order="time", order_column="day", scaling="none")
    prepared = prepare_data(labelled(table), said)
    assert not any("day" in feature for feature in prepared.encoder.features)
    days = table.arrow.column("day").to_numpy()
    sizes = table.arrow.column("size").to_numpy().astype(np.float32)
    when = dict(zip(sizes.tolist(), days, strict=True))
    train, validation, test = (
        {when[size] for size in sizes_of(part, prepared.encoder)}
        for part in (prepared.train, prepared.validation, prepared.test)
    )
    assert max(train) < min(validation)
    assert max(validation) < min(test)
    assert len(prepared.test) == pytest.approx(80, abs=5)
    assert prepared.folds == 0  # folds would mix what comes before with what comes after


def test_a_split_by_group_keeps_groups_together(table: Table) -> None:
    said = settings(order="group", order_column="house", drop=("day",), scaling="none")
    prepared = prepare_data(labelled(table), said)
    assert not any("house" in feature for feature in prepared.encoder.features)
    houses = table.arrow.column("house").to_numpy()
    sizes = table.arrow.column("size").to_numpy().astype(np.float32)
    of = dict(zip(sizes.tolist(), houses, strict=True))
    groups = [
        {of[size] for size in sizes_of(part, prepared.encoder)}
        for part in (prepared.train, prepared.validation, prepared.test)
    ]
    assert sum(map(len, groups)) == len(set(houses)) == 20
    development = prepared.development.encoded.numeric[:, prepared.encoder.features.index("size")]
    pairs = {
        (of[s], g) for s, g in zip(development.tolist(), prepared.groups.tolist(), strict=True)
    }
    assert len(pairs) == len(groups[0] | groups[1])  # every row has the number of its own house
    plan = make_plan(prepared, said)
    assert plan.folds == 5
    seen: list[int] = []
    for inside, outside in split_folds(prepared, plan):
        assert not set(prepared.groups[inside]) & set(prepared.groups[outside])
        seen += outside.tolist()
    assert sorted(seen) == list(range(len(prepared.development)))
    with pytest.raises(TabNASError, match="must tell when each row was"):
        prepare_data(labelled(table), settings(order="time", order_column="colour"))


def test_no_group_is_torn_apart_by_how_it_is_written(table: Table) -> None:
    house = table.arrow.column("house").to_numpy()
    padded = [f"{' ' * (row % 3)}house {one}" for row, one in enumerate(house)]
    place = table.names.index("house")
    written = Table.from_data(table.arrow.set_column(place, "house", pa.array(padded)))
    said = settings(order="group", order_column="house", drop=("day",), scaling="none")
    prepared = prepare_data(labelled(written), said)
    sizes = table.arrow.column("size").to_numpy().astype(np.float32)
    of = dict(zip(sizes.tolist(), house, strict=True))
    train, validation, test = (
        {of[size] for size in sizes_of(part, prepared.encoder)}
        for part in (prepared.train, prepared.validation, prepared.test)
    )
    assert len(train) + len(validation) + len(test) == len(train | validation | test)
    assert len(set(prepared.groups.tolist())) == len(train | validation)


@pytest.mark.parametrize(("houses", "count"), [(9, 0), (10, 5)])
def test_too_few_groups_are_not_dealt_to_folds(houses: int, count: int) -> None:
    arrow = made_table().arrow
    house = pa.array(np.arange(400) % houses)
    table = Table(arrow.set_column(arrow.column_names.index("house"), "house", house))
    said = settings(order="group", order_column="house", shares=Shares(test=0.0))
    assert prepare_data(labelled(table), said).folds == count


def test_large_groups_leave_parts_near_their_shares() -> None:
    groups = np.repeat([0, 1, 2, 3, 4, 5], [900, 20, 20, 20, 20, 20])
    for seed in range(12):
        split = split_by_group(groups, Shares(), np.random.default_rng(seed))
        assert len(split.train) >= 900
        assert len(split.validation)
        assert len(split.test)


def test_balanced_classes_weigh_the_same(table: Table) -> None:
    prepared = prepare_data(labelled(table), settings(class_weight="balanced"))
    weight, truth = prepared.train.examples.weight, prepared.train.truth
    assert weight[truth == 0].sum() == pytest.approx(weight[truth == 1].sum(), rel=1e-5)
    assert weight.sum() == pytest.approx(len(truth), rel=1e-5)
    assert prepared.test is not None
    assert prepared.test.weight is None  # scores count rows as they come
    with pytest.raises(TabNASError, match="is numeric"):
        prepare_data(labelled(table, "value"), settings(class_weight="balanced"))


def test_a_class_of_two_rows_does_not_weigh_as_much_as_hundreds() -> None:
    rng = np.random.default_rng(0)
    kinds = np.array(["a"] * 200 + ["b"] * 180 + ["rare"] * 4 + ["scarce"] * 4)
    own = LabelledTable.from_table(
        Table.from_data({"x": rng.normal(size=388), "kind": kinds}), "kind"
    )
    prepared = prepare_data(own, settings(class_weight="balanced"))
    weight, truth = prepared.train_in_memory.examples.weight, prepared.train_in_memory.truth
    rows = np.bincount(truth)
    totals = np.bincount(truth, weight)
    assert (rows[2:] < 10).all()
    np.testing.assert_allclose(totals[1], totals[0], rtol=1e-5)
    np.testing.assert_allclose(totals[2:], totals[0] * rows[2:] / 10, rtol=1e-5)
    (note,) = prepared.notes
    assert "fewer than 10 training rows weigh less" in note
    assert f"'rare' ({rows[2]}), 'scarce' ({rows[3]})" in note
    unbalanced = prepare_data(own, settings())
    assert unbalanced.notes == ()


def test_balanced_classes_weigh_the_same_by_the_users_weights(table: Table) -> None:
    data = labelled(table)
    weight = np.where(data.truth == 0, 0.5, 2.0) * np.linspace(0.5, 1.5, 400)
    prepared = prepare_data(replace(data, weight=weight), settings(class_weight="balanced"))
    for part in (prepared.train_in_memory, prepared.validation, prepared.test):
        assert part is not None
        ratio = part.examples.weight / part.weight
        for label in (0, 1):  # within a class, rows weigh what the user says
            np.testing.assert_allclose(ratio[part.truth == label], ratio[part.truth == label][0])
    training, truth = prepared.train_in_memory.examples.weight, prepared.train_in_memory.truth
    assert training[truth == 0].sum() == pytest.approx(training[truth == 1].sum(), rel=1e-5)
    sizes = [len(prepared.train), len(prepared.validation), len(prepared.test)]
    held = [prepared.train_in_memory.weight, prepared.validation.weight, prepared.test.weight]
    assert [len(one) for one in held] == sizes
    assert sorted(np.concatenate(held)) == sorted(weight)


def test_own_rows_of_one_part_leave_the_other_its_share() -> None:
    train, own = (labelled(made_table(n, n), "kind") for n in (300, 100))
    shares = Shares(validation=0.3, test=0.1)
    prepared = prepare_data(train, settings(shares=shares), validation=own)
    assert [len(prepared.train), len(prepared.validation), len(prepared.test)] == [270, 100, 30]
    prepared = prepare_data(train, settings(shares=shares), test=own)
    assert [len(prepared.train), len(prepared.validation), len(prepared.test)] == [210, 90, 100]


def test_own_rows_that_weigh_nothing_are_left_out() -> None:
    train, *own = (
        labelled(made_table(n, seed), "kind") for n, seed in ((300, 1), (100, 2), (100, 3))
    )
    validation, test = (replace(one, weight=np.arange(100) % 2 * 2.5) for one in own)
    prepared = prepare_data(train, settings(), validation=validation, test=test)
    assert [len(prepared.validation), len(prepared.test)] == [50, 50]
    for part in (prepared.validation, prepared.test):
        assert (part.weight == 2.5).all()
    everything = prepared.all_rows  # rows of the table, validation rows, test rows
    assert everything.weight.tolist() == [1.0] * 300 + [2.5] * 100
    assert everything.examples.weight.tolist() == everything.weight.tolist()


def test_own_validation_and_test_rows_replace_the_shares() -> None:
    train, validation, test = (labelled(made_table(n, n), "kind") for n in (300, 100, 50))
    prepared = prepare_data(train, settings(), validation=validation, test=test)
    assert [len(prepared.train), len(prepared.validation), len(prepared.test)] == [300, 100, 50]
    column = prepared.encoder.features.index("size")
    assert np.isin(
        prepared.validation.encoded.numeric[:, column], prepared.development.encoded.numeric
    ).all()


def test_own_rows_must_fit_the_table() -> None:
    train = labelled(made_table(300), "kind")
    nothing = LabelledTable(train.features.take(np.arange(0)), train.target, train.truth[:0])
    with pytest.raises(TabNASError, match="the test part must have rows"):
        prepare_data(train, settings(), test=nothing)
    other = LabelledTable.from_table(made_table(50).drop(["kind"]), "value")
    with pytest.raises(TabNASError, match="must have the target of the table"):
        prepare_data(train, settings(), validation=other)


def test_weights_of_one_part_survive_another_without() -> None:
    train, validation = (labelled(made_table(n, n), "kind") for n in (300, 100))
    weight = np.linspace(0.0, 2.0, 300)
    weighted = LabelledTable(train.features, train.target, train.truth, weight)
    prepared = prepare_data(weighted, settings(shares=Shares(test=0.0)), validation=validation)
    assert len(prepared.train) == 299  # the row that weighs nothing is left out
    np.testing.assert_allclose(prepared.train.examples.weight, weight[1:], rtol=1e-6)
    assert (prepared.validation.examples.weight == 1).all()
    assert prepared.folds == 0  # whoever brings validation rows wants them to choose


def test_unscaled_columns_beyond_what_networks_bear_are_named(table: Table) -> None:
    arrow = table.arrow.set_column(0, "size", pa.array(np.full(400, 1e20) * np.arange(400)))
    with pytest.raises(TabNASError, match="the unscaled column 'size' must stay below 1e"):
        prepare_data(labelled(Table(arrow)), settings(scaling="none"))


def test_regression_is_scaled_inside_and_judged_in_its_own_units(table: Table) -> None:
    prepared = prepare_data(labelled(table, "value"), settings())
    assert isinstance(prepared.target, NumberTarget)
    values = prepared.development.examples.values[:, 0]
    assert values.mean() == pytest.approx(0, abs=1e-4)
    assert values.std() == pytest.approx(1, abs=1e-4)
    np.testing.assert_allclose(
        prepared.target_prediction(prepared.test.examples.values), prepared.test.truth, rtol=1e-5
    )


def test_rows_without_a_target_are_left_out() -> None:
    table = Table.from_data({"x": range(40), "y": [None, "?", "a", "b"] * 10})
    rows = LabelledTable.from_table(table, "y")
    assert len(rows) == 20
    assert set(rows.truth) == {0, 1}
    assert len(rows.features) == 20
    prepared = prepare_data(rows, RunSettings(limits={"parameters": 50}))
    assert prepared.notes == ("20 rows without a value of 'y', the target, left out",)


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"x": range(9), "y": [0, 1, 1] * 3}, "at least 10 rows"),
        ({"x": range(12), "y": [0] * 6 + [1] * 5 + [2]}, "the class 2 .* has only one row"),
        ({"x": [1] * 12, "y": [0, 1] * 6}, "constant"),
    ],
)
def test_refusals(columns: dict[str, object], sentence: str) -> None:
    with pytest.raises(TabNASError, match=sentence):
        prepare_data(LabelledTable.from_table(Table.from_data(columns), "y"), settings())


def test_training_rows_of_one_class_are_refused() -> None:
    table = Table.from_data({"x": range(100), "t": range(100), "y": ["a"] * 60 + ["b"] * 40})
    with pytest.raises(TabNASError, match="must show at least two values of the target"):
        prepare_data(LabelledTable.from_table(table, "y"), settings(order="time", order_column="t"))
