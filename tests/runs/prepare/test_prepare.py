"""Rows are split, encoded and weighted; test rows influence nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tabnas.data import NumberTarget, Shares, Table, split_by_group
from tabnas.errors import TabNASError
from tabnas.runs import LabelledTable, RunSettings, make_plan, prepare_data
from tabnas.runs._run_teacher import make_teacher_rows
from tabnas.runs.candidates._cross_validation import split_folds
from tabnas.runs.prepare._prepared_data import MAX_CROSS_VALIDATED_ROWS
from tabnas.space import Budget
from tests.runs.helpers import make_table

LIMITS = {"parameters": 2_000}


def make_labelled(table: Table, target: str = "kind") -> LabelledTable:
    return LabelledTable.from_table(
        table.drop([{"kind": "value", "value": "kind"}[target]]), target
    )


def make_settings(**settings: object) -> RunSettings:
    return RunSettings(limits=LIMITS, **settings)


def test_every_row_is_in_one_part(table: Table) -> None:
    prepared = prepare_data(
        make_labelled(table), make_settings(shares=Shares(validation=0.25, test=0.1))
    )
    sizes = [len(prepared.train), len(prepared.validation), len(prepared.test)]
    assert sum(sizes) == 400
    assert sizes == pytest.approx([260, 100, 40], abs=2)
    assert len(prepared.train_and_validation) == sizes[0] + sizes[1]
    assert len(prepared.all_rows) == 400


def test_parts_share_the_memory_of_the_development_rows(table: Table) -> None:
    prepared = prepare_data(make_labelled(table), make_settings())
    for part in (prepared.train, prepared.validation):
        assert np.shares_memory(
            part.examples.numeric, prepared.train_and_validation.examples.numeric
        )


def test_the_test_part_influences_nothing() -> None:
    """The encoder and the target's scaling do not depend on the test rows."""
    table = make_table()
    first = prepare_data(make_labelled(table, "value"), make_settings(knots=5))
    second = prepare_data(
        make_labelled(_change_part(table, "test"), "value"), make_settings(knots=5)
    )
    assert second.encoder.to_dict() == first.encoder.to_dict()
    assert any(first.spec.inputs.knots)
    assert second.spec == first.spec  # the knots included
    assert second.target == first.target
    for name in ("numeric", "categorical"):
        before, after = (getattr(p.train_and_validation.encoded, name) for p in (first, second))
        np.testing.assert_array_equal(before, after)


def test_validation_rows_of_a_large_table_influence_nothing() -> None:
    """Only small tables, whose final network learns from them, use them for the encoder."""
    table = make_table(4_000)
    first = prepare_data(make_labelled(table, "value"), make_settings(knots=5))
    second = prepare_data(
        make_labelled(_change_part(table, "validation"), "value"), make_settings(knots=5)
    )
    assert len(first.train_and_validation) > MAX_CROSS_VALIDATED_ROWS
    assert second.encoder.to_dict() == first.encoder.to_dict()
    assert any(first.spec.inputs.knots)
    assert second.spec == first.spec  # the knots included
    assert second.target == first.target
    for name in ("numeric", "categorical"):
        before, after = (getattr(p.train_in_memory.encoded, name) for p in (first, second))
        np.testing.assert_array_equal(before, after)


def _change_part(table: Table, part: str) -> Table:
    """Return the table with other values in the rows that the seed gives to a part."""
    rows = _find_rows(table, part)
    arrow = table.arrow
    for name in ("size", "warmth", "value"):
        values = arrow.column(name).to_numpy().copy()
        values[rows] = values[rows] * 1_000 - 5
        arrow = arrow.set_column(arrow.column_names.index(name), name, pa.array(values))
    colours = np.array(arrow.column("colour").to_pylist(), dtype=object)
    colours[rows] = "never seen"
    return Table(arrow.set_column(2, "colour", pa.array(colours, pa.string())))


def _find_rows(table: Table, part: str) -> np.ndarray:
    """Return a mask of the rows that the seed gives to a part, found by their sizes."""
    prepared = prepare_data(make_labelled(table, "value"), make_settings(scaling="none"))
    column = prepared.encoder.features.index("size")
    sizes = table.arrow.column("size").to_numpy().astype(np.float32)
    return np.isin(sizes, getattr(prepared, part).encoded.numeric[:, column])


def collect_sizes(part, encoder) -> set[float]:
    """Return the sizes, which identify rows, of a part."""
    return set(part.encoded.numeric[:, encoder.features.index("size")].tolist())


def test_a_split_by_time_tests_on_the_latest(table: Table) -> None:
    settings = make_settings(split="time", split_column="day", scaling="none")
    prepared = prepare_data(make_labelled(table), settings)
    assert not any("day" in feature for feature in prepared.encoder.features)
    days = table.arrow.column("day").to_numpy()
    sizes = table.arrow.column("size").to_numpy().astype(np.float32)
    day_of = dict(zip(sizes.tolist(), days, strict=True))
    train, validation, test = (
        {day_of[size] for size in collect_sizes(part, prepared.encoder)}
        for part in (prepared.train, prepared.validation, prepared.test)
    )
    assert max(train) < min(validation)
    assert max(validation) < min(test)
    assert len(prepared.test) == pytest.approx(80, abs=5)
    assert prepared.folds == 0  # folds would mix earlier and later rows


def test_a_split_by_group_keeps_groups_together(table: Table) -> None:
    settings = make_settings(split="group", split_column="house", drop=("day",), scaling="none")
    prepared = prepare_data(make_labelled(table), settings)
    assert not any("house" in feature for feature in prepared.encoder.features)
    houses = table.arrow.column("house").to_numpy()
    sizes = table.arrow.column("size").to_numpy().astype(np.float32)
    house_of = dict(zip(sizes.tolist(), houses, strict=True))
    groups = [
        {house_of[size] for size in collect_sizes(part, prepared.encoder)}
        for part in (prepared.train, prepared.validation, prepared.test)
    ]
    assert sum(map(len, groups)) == len(set(houses)) == 20
    development = prepared.train_and_validation.encoded.numeric[
        :, prepared.encoder.features.index("size")
    ]
    pairs = {
        (house_of[s], g)
        for s, g in zip(development.tolist(), prepared.groups.tolist(), strict=True)
    }
    assert len(pairs) == len(groups[0] | groups[1])  # every row has the number of its house
    plan = make_plan(prepared, settings)
    assert plan.folds == 5
    seen: list[int] = []
    for inside, outside in split_folds(prepared, plan):
        assert not set(prepared.groups[inside]) & set(prepared.groups[outside])
        seen += outside.tolist()
    assert sorted(seen) == list(range(len(prepared.train_and_validation)))
    with pytest.raises(TabNASError, match="must tell when each row was"):
        prepare_data(make_labelled(table), make_settings(split="time", split_column="colour"))


def test_groups_can_be_given_besides_the_table(table: Table) -> None:
    """They are those of a column, and the table may have other rows without a target or weight."""
    data = make_labelled(table)
    house, n = table.column("house"), len(data)
    weight = np.where(np.arange(n) % 5 == 1, 0.0, 1.0)
    by_column, given = replace(data, weight=weight), replace(data, weight=weight).with_groups(house)
    settings = make_settings(split="group", drop=("house",))
    first = prepare_data(by_column, replace(settings, drop=(), split_column="house"))
    second = prepare_data(given, settings)
    assert len(first.train_and_validation) + len(first.test) == (weight > 0).sum()
    assert first.folds == second.folds == 5
    assert first.digest() == second.digest()
    assert first.groups_digest() == second.groups_digest() is not None
    np.testing.assert_array_equal(first.groups, second.groups)
    assert prepare_data(data, make_settings()).groups_digest() is None


def test_groups_are_of_the_rows_that_have_a_target(table: Table) -> None:
    kinds = np.array(table.column("kind").to_pylist(), dtype=object)
    kinds[::3] = None
    arrow = table.arrow.drop_columns(["kind", "value"]).append_column("kind", pa.array(kinds))
    data = LabelledTable.from_table(Table(arrow), "kind")
    house = table.column("house").to_numpy()
    grouped = data.with_groups(house[data.row_numbers])
    taken = grouped.take(np.array([7, 3]))
    pairs = zip(taken.groups, house[data.row_numbers[[7, 3]]], strict=True)
    ids = dict(zip(house[data.row_numbers].tolist(), grouped.groups.tolist(), strict=True))
    assert all(ids[name] == group for group, name in pairs)
    with pytest.raises(TabNASError, match="a label for each of the 266 rows, got 400"):
        data.with_groups(house)


def test_groups_of_validation_rows_are_their_own(table: Table) -> None:
    data = make_labelled(table).with_groups(table.column("house"))
    more = make_table(50, seed=1)
    validation = LabelledTable.from_table(more.drop(["value"]), data.target)
    settings = make_settings(split="group", shares=Shares(test=0.0))
    prepared = prepare_data(data, settings, validation=validation)
    assert prepared.train_rows == 400
    assert prepared.folds == 0
    train, own = np.split(prepared.groups, [400])
    assert len(set(train)) == 20
    assert len(set(own)) == 50
    assert not set(train) & set(own)


def test_groups_of_a_column_do_not_include_validation_rows_of_another_table(table: Table) -> None:
    """They are as if they were given besides the table, so that a teacher can keep to them."""
    data = make_labelled(table)
    more = LabelledTable.from_table(make_table(50, seed=1).drop(["value"]), data.target)
    settings = make_settings(split="group", shares=Shares(test=0.0))
    by_column = prepare_data(data, replace(settings, split_column="house"), validation=more)
    given = prepare_data(
        data.with_groups(table.column("house")), replace(settings, drop=("house",)), validation=more
    )
    np.testing.assert_array_equal(by_column.groups, given.groups)
    assert make_teacher_rows(by_column.limit_embeddings(Budget())).groups is by_column.groups


def test_errors_name_rows_of_the_table_of_the_user() -> None:
    """Rows without a target are set aside before, and so are rows of weight 0."""
    n = 60
    ages = [str(k) for k in range(n)]
    ages[50] = "unknown"
    kinds = [None] * 20 + ["a", "b"] * 20
    data = LabelledTable.from_table(Table.from_data({"age": ages, "kind": kinds}), "kind")
    weight = np.where(np.arange(len(data)) % 3 == 2, 0.0, 1.0)
    for rows in (data, replace(data, weight=weight)):
        with pytest.raises(TabNASError, match="'age' must hold numbers, but row 51 is"):
            prepare_data(rows, make_settings(kinds={"age": "numeric"}))
    with pytest.raises(TabNASError, match="row 44"):
        LabelledTable.from_table(
            Table.from_data({"x": range(44), "y": [None] * 3 + ["1"] * 40 + ["abc"]}), "y",
            task="regression",
        )  # fmt: skip
    more = Table.from_data({"age": range(4), "kind": [None, None, "a", "zz"]})
    with pytest.raises(TabNASError, match="row 4"):
        LabelledTable.from_table(more, data.target)


@pytest.mark.parametrize(("rows", "folds"), [(5, 0), (6, 3), (8, 4), (30, 5)])
def test_a_teacher_has_rows_without_any_two_folds(rows: int, folds: int) -> None:
    columns = {"x": np.arange(2.0 * rows), "y": np.arange(2.0 * rows) % 7}
    data = LabelledTable.from_table(Table.from_data(columns), "y", task="regression")
    assert prepare_data(data, make_settings(shares=Shares(test=0.5))).folds == folds


@pytest.mark.parametrize(
    ("settings", "has_groups", "message"),
    [
        ({"split": "group"}, False, "or groups by LabelledTable.with_groups, got neither"),
        ({"split": "group", "split_column": "house"}, True, "with_groups, got both"),
        ({}, True, "split must be 'group' for a table with groups, got 'random'"),
        ({"split": "time", "split_column": "day"}, True, "table with groups, got 'time'"),
    ],
)
def test_groups_need_a_split_by_group(
    table: Table, settings: dict[str, str], has_groups: bool, message: str
) -> None:
    data = make_labelled(table)
    data = data.with_groups(table.column("house")) if has_groups else data
    with pytest.raises(TabNASError, match=message):
        prepare_data(data, make_settings(**settings))


def test_spaces_around_a_group_do_not_split_it(table: Table) -> None:
    house = table.arrow.column("house").to_numpy()
    padded = [f"{' ' * (row % 3)}house {house_number}" for row, house_number in enumerate(house)]
    place = table.names.index("house")
    written = Table.from_data(table.arrow.set_column(place, "house", pa.array(padded)))
    settings = make_settings(split="group", split_column="house", drop=("day",), scaling="none")
    prepared = prepare_data(make_labelled(written), settings)
    sizes = table.arrow.column("size").to_numpy().astype(np.float32)
    house_of = dict(zip(sizes.tolist(), house, strict=True))
    train, validation, test = (
        {house_of[size] for size in collect_sizes(part, prepared.encoder)}
        for part in (prepared.train, prepared.validation, prepared.test)
    )
    assert len(train) + len(validation) + len(test) == len(train | validation | test)
    assert len(set(prepared.groups.tolist())) == len(train | validation)


@pytest.mark.parametrize(("houses", "count"), [(9, 0), (10, 5)])
def test_too_few_groups_are_not_cross_validated(houses: int, count: int) -> None:
    arrow = make_table().arrow
    house = pa.array(np.arange(400) % houses)
    table = Table(arrow.set_column(arrow.column_names.index("house"), "house", house))
    settings = make_settings(split="group", split_column="house", shares=Shares(test=0.0))
    assert prepare_data(make_labelled(table), settings).folds == count


def test_large_groups_leave_rows_to_every_part() -> None:
    groups = np.repeat([0, 1, 2, 3, 4, 5], [900, 20, 20, 20, 20, 20])
    for seed in range(12):
        split = split_by_group(groups, Shares(), np.random.default_rng(seed))
        assert len(split.train) >= 900
        assert len(split.validation)
        assert len(split.test)


def test_balanced_classes_have_the_same_total_weight(table: Table) -> None:
    prepared = prepare_data(make_labelled(table), make_settings(class_weight="balanced"))
    weight, y = prepared.train.examples.weight, prepared.train.y
    assert weight[y == 0].sum() == pytest.approx(weight[y == 1].sum(), rel=1e-5)
    assert weight.sum() == pytest.approx(len(y), rel=1e-5)
    assert prepared.test is not None
    assert prepared.test.weight is None  # scores use no class weights
    with pytest.raises(TabNASError, match="is numeric"):
        prepare_data(make_labelled(table, "value"), make_settings(class_weight="balanced"))


def test_a_very_rare_class_gets_less_than_a_balanced_weight() -> None:
    rng = np.random.default_rng(0)
    kinds = np.array(["a"] * 200 + ["b"] * 180 + ["rare"] * 4 + ["scarce"] * 4)
    labelled = LabelledTable.from_table(
        Table.from_data({"x": rng.normal(size=388), "kind": kinds}), "kind"
    )
    prepared = prepare_data(labelled, make_settings(class_weight="balanced"))
    weight, y = prepared.train_in_memory.examples.weight, prepared.train_in_memory.y
    rows = np.bincount(y)
    totals = np.bincount(y, weight)
    assert (rows[2:] < 10).all()
    np.testing.assert_allclose(totals[1], totals[0], rtol=1e-5)
    np.testing.assert_allclose(totals[2:], totals[0] * rows[2:] / 10, rtol=1e-5)
    (note,) = prepared.notes
    assert "fewer than 10 training rows weigh less" in note
    assert f"'rare' ({rows[2]}), 'scarce' ({rows[3]})" in note
    unbalanced = prepare_data(labelled, make_settings())
    assert unbalanced.notes == ()


def test_balanced_classes_keep_the_users_weights_within_a_class(table: Table) -> None:
    data = make_labelled(table)
    weight = np.where(data.y == 0, 0.5, 2.0) * np.linspace(0.5, 1.5, 400)
    prepared = prepare_data(replace(data, weight=weight), make_settings(class_weight="balanced"))
    for part in (prepared.train_in_memory, prepared.validation, prepared.test):
        assert part is not None
        ratio = part.examples.weight / part.weight
        for label in (0, 1):  # within a class, the user's weights count
            np.testing.assert_allclose(ratio[part.y == label], ratio[part.y == label][0])
    training, y = prepared.train_in_memory.examples.weight, prepared.train_in_memory.y
    assert training[y == 0].sum() == pytest.approx(training[y == 1].sum(), rel=1e-5)
    sizes = [len(prepared.train), len(prepared.validation), len(prepared.test)]
    weights = [prepared.train_in_memory.weight, prepared.validation.weight, prepared.test.weight]
    assert [len(weight) for weight in weights] == sizes
    assert sorted(np.concatenate(weights)) == sorted(weight)


def test_given_rows_of_one_part_leave_the_other_its_share() -> None:
    train, given = (make_labelled(make_table(n, n), "kind") for n in (300, 100))
    shares = Shares(validation=0.3, test=0.1)
    prepared = prepare_data(train, make_settings(shares=shares), validation=given)
    assert [len(prepared.train), len(prepared.validation), len(prepared.test)] == [270, 100, 30]
    prepared = prepare_data(train, make_settings(shares=shares), test=given)
    assert [len(prepared.train), len(prepared.validation), len(prepared.test)] == [210, 90, 100]


def test_given_rows_of_weight_zero_are_left_out() -> None:
    train, *given = (
        make_labelled(make_table(n, seed), "kind") for n, seed in ((300, 1), (100, 2), (100, 3))
    )
    validation, test = (replace(part, weight=np.arange(100) % 2 * 2.5) for part in given)
    prepared = prepare_data(train, make_settings(), validation=validation, test=test)
    assert [len(prepared.validation), len(prepared.test)] == [50, 50]
    for part in (prepared.validation, prepared.test):
        assert (part.weight == 2.5).all()
    all_rows = prepared.all_rows  # rows of the table, validation rows, test rows
    assert all_rows.weight.tolist() == [1.0] * 300 + [2.5] * 100
    assert all_rows.examples.weight.tolist() == all_rows.weight.tolist()


def test_given_validation_and_test_rows_replace_the_shares() -> None:
    train, validation, test = (make_labelled(make_table(n, n), "kind") for n in (300, 100, 50))
    prepared = prepare_data(train, make_settings(), validation=validation, test=test)
    assert [len(prepared.train), len(prepared.validation), len(prepared.test)] == [300, 100, 50]
    column = prepared.encoder.features.index("size")
    assert np.isin(
        prepared.validation.encoded.numeric[:, column],
        prepared.train_and_validation.encoded.numeric,
    ).all()


def test_given_rows_must_fit_the_table() -> None:
    train = make_labelled(make_table(300), "kind")
    nothing = LabelledTable(train.features.take(np.arange(0)), train.target, train.y[:0])
    with pytest.raises(TabNASError, match="the test part must have rows"):
        prepare_data(train, make_settings(), test=nothing)
    other = LabelledTable.from_table(make_table(50).drop(["kind"]), "value")
    with pytest.raises(TabNASError, match="must have the target of the table"):
        prepare_data(train, make_settings(), validation=other)


def test_weights_of_one_part_are_kept_where_another_has_none() -> None:
    train, validation = (make_labelled(make_table(n, n), "kind") for n in (300, 100))
    weight = np.linspace(0.0, 2.0, 300)
    weighted = LabelledTable(train.features, train.target, train.y, weight)
    prepared = prepare_data(weighted, make_settings(shares=Shares(test=0.0)), validation=validation)
    assert len(prepared.train) == 299  # the row of weight zero is left out
    np.testing.assert_allclose(prepared.train.examples.weight, weight[1:], rtol=1e-6)
    assert (prepared.validation.examples.weight == 1).all()
    assert prepared.folds == 0  # given validation rows choose the candidate


def test_huge_values_of_an_unscaled_column_are_refused(table: Table) -> None:
    arrow = table.arrow.set_column(0, "size", pa.array(np.full(400, 1e20) * np.arange(400)))
    with pytest.raises(TabNASError, match="the unscaled column 'size' must stay below 1e"):
        prepare_data(make_labelled(Table(arrow)), make_settings(scaling="none"))


def test_regression_targets_are_scaled_for_training_and_scored_in_their_units(table: Table) -> None:
    prepared = prepare_data(make_labelled(table, "value"), make_settings())
    assert isinstance(prepared.target, NumberTarget)
    values = prepared.train_and_validation.examples.values[:, 0]
    assert values.mean() == pytest.approx(0, abs=1e-4)
    assert values.std() == pytest.approx(1, abs=1e-4)
    np.testing.assert_allclose(
        prepared.target_prediction(prepared.test.examples.values), prepared.test.y, rtol=1e-5
    )


def test_rows_without_a_target_are_set_aside() -> None:
    table = Table.from_data({"x": range(40), "y": [None, "?", "a", "b"] * 10})
    rows = LabelledTable.from_table(table, "y")
    assert len(rows) == 20
    assert set(rows.y) == {0, 1}
    assert len(rows.features) == 20
    prepared = prepare_data(rows, RunSettings(limits={"parameters": 50}, teacher="none"))
    assert prepared.notes == ("20 rows without a value of 'y', the target, left out",)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": range(9), "y": [0, 1, 1] * 3}, "at least 10 rows"),
        ({"x": range(12), "y": [0] * 6 + [1] * 5 + [2]}, "the class 2 .* has only one row"),
        ({"x": [1] * 12, "y": [0, 1] * 6}, "constant"),
    ],
)
def test_unusable_tables_are_refused(columns: dict[str, object], message: str) -> None:
    with pytest.raises(TabNASError, match=message):
        prepare_data(LabelledTable.from_table(Table.from_data(columns), "y"), make_settings())


def test_training_rows_of_one_class_are_refused() -> None:
    table = Table.from_data({"x": range(100), "t": range(100), "y": ["a"] * 60 + ["b"] * 40})
    with pytest.raises(TabNASError, match="must show at least two values of the target"):
        prepare_data(
            LabelledTable.from_table(table, "y"), make_settings(split="time", split_column="t")
        )


def test_training_rows_of_a_split_by_time_may_have_the_same_time() -> None:
    table = make_table(300)
    years = np.repeat([2021, 2022, 2023], [180, 60, 60])
    table = Table(table.arrow.append_column("year", pa.array(years)))
    prepared = prepare_data(make_labelled(table), make_settings(split="time", split_column="year"))
    assert len(prepared.train) == 180
    assert set(prepared.times.tolist()) == {2021.0}


def test_errors_about_the_column_of_a_split_name_rows_of_the_user() -> None:
    """Rows without a target come first, and are no rows of a part."""
    arrow = make_table(100).arrow
    kinds = np.array(arrow.column("kind").to_pylist(), dtype=object)
    kinds[:3] = None
    years = [None if row == 7 else 2000 + row for row in range(100)]
    arrow = arrow.set_column(arrow.column_names.index("kind"), "kind", pa.array(kinds))
    table = Table(arrow.append_column("year", pa.array(years)))
    others = make_labelled(make_table(50, seed=3))
    for split, validation in (("time", None), ("time", others), ("group", others)):
        settings = make_settings(split=split, split_column="year", shares=Shares(test=0))
        with pytest.raises(TabNASError, match=r"'year' must .*row 8 is missing"):
            prepare_data(make_labelled(table), settings, validation=validation)
