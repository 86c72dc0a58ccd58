from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas import Architecture, Budget, Limit, SearchSpace, TabNASError
from tabnas.space import COSTS, ChainCost, DenseParameters, NumericEmbeddings, TableCost
from tests.problems import spaces, valid_choices


def test_all_counts_printed_in_the_paper() -> None:
    with (Path(__file__).parent / "printed_architectures.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 131
    for row in rows:
        architecture = Architecture.parse(row["architecture"])
        space = SearchSpace(
            [[width] for width in architecture],
            inputs=int(row["inputs"]),
            outputs=int(row["outputs"]),
        )
        assert COSTS["dense_parameters"](space, architecture) == int(row["parameters"])


def test_costs_of_a_small_network_by_hand() -> None:
    space = SearchSpace([[3], [2]], inputs=4, outputs=5, embedding_parameters=7)
    architecture = Architecture((3, 2))
    dense = (4 * 3 + 3) + (3 * 2 + 2) + (2 * 5 + 5)
    assert COSTS["dense_parameters"](space, architecture) == dense
    assert COSTS["parameters"](space, architecture) == dense + 2 * (3 + 2) + 7
    assert COSTS["bytes"](space, architecture) == 4 * (dense + 2 * (3 + 2) + 7)
    assert COSTS["flops"](space, architecture) == 2 * (4 * 3 + 3 * 2 + 2 * 5) + 8 * (3 + 2)


def test_costs_of_numeric_embeddings_by_hand() -> None:
    """Three columns with twelve knots in all: dimension 2 adds six inputs and 24 parameters."""
    embeddings = NumericEmbeddings(columns=3, knots=12, dimensions=(0, 2))
    ends = {"inputs": 4, "outputs": 5, "embedding_parameters": 7}
    space = SearchSpace([[3], [0, 2]], **ends, numeric_embeddings=embeddings)
    plain = SearchSpace([[3], [0, 2]], **ends)
    with_0, with_2 = Architecture((3, 2)), Architecture((3, 2), 2)
    for cost in COSTS.values():
        assert cost(space, with_0) == cost(plain, with_0)
    added = {name: cost(space, with_2) - cost(space, with_0) for name, cost in COSTS.items()}
    assert added["dense_parameters"] == 6 * 3
    assert added["parameters"] == 6 * 3 + 12 * 2
    assert added["bytes"] == 4 * (6 * 3 + 12 * 2)
    assert added["flops"] == 2 * 6 * 3 + 3 * (2 + 3 * 2)
    # a linear network reads the inputs, too
    linear = Architecture((), 2)
    assert COSTS["parameters"](space, linear) == (4 + 6) * 5 + 5 + 12 * 2 + 7
    tables = COSTS["parameters"].tables(space)
    assert [table.shape for table in tables] == [(1, 2), (2, 1), (1, 2), (2, 1)]
    assert tables[0].tolist() == [[7, 7 + 24]]
    with pytest.raises(TabNASError, match="since this space has none"):
        COSTS["parameters"](plain, with_2)


def test_a_table_may_have_entries_for_numeric_embeddings() -> None:
    embeddings = NumericEmbeddings(columns=3, knots=12, dimensions=(0, 2))
    space = SearchSpace([[3]], inputs=4, outputs=1, numeric_embeddings=embeddings)
    terms = {"layers": {(4, 3): 1.0, (10, 3): 2.0}, "heads": {(3, 1): 0.5}}
    cost = TableCost(name="latency_us", **terms, embeddings={2: 0.25})
    assert cost(space, Architecture((3,))) == 1.5
    assert cost(space, Architecture((3,), 2)) == 2.75
    without = TableCost(name="latency_us", **terms)
    with pytest.raises(TabNASError, match="no entry for numeric embeddings of dimension 2"):
        without(space, Architecture((3,), 2))


@pytest.mark.parametrize("name", sorted(COSTS))
@given(space=spaces(embedded=True))
def test_tables_sum_to_the_cost(name: str, space: SearchSpace) -> None:
    cost = COSTS[name]
    assert isinstance(cost, ChainCost)
    *tables, head = cost.tables(space)
    for choices in valid_choices(space):
        total, before = 0.0, 0
        for table, choice in zip(tables, choices, strict=True):
            total += table[before, choice]
            before = choice
        assert total + head[before, 0] == cost(space, space.architecture(choices))


def test_absent_layers_cannot_be_followed() -> None:
    space = SearchSpace([[0, 8], [0, 8]], inputs=4, outputs=1)
    assert DenseParameters().tables(space)[1][0, 1] == math.inf


def test_unknown_cost_suggests_the_nearest() -> None:
    with pytest.raises(TabNASError, match="did you mean 'parameters'"):
        Budget(paramters=5)


@pytest.mark.parametrize("at_most", [-1, float("nan"), float("inf"), "5", True, None])
def test_limits_must_be_numbers(at_most: object) -> None:
    with pytest.raises(TabNASError, match="the limit on parameters must be a finite number"):
        Budget(parameters=at_most)


def test_a_limit_names_its_cost() -> None:
    with pytest.raises(TabNASError, match=r"like Budget\(parameters=20_000\).* got 20000"):
        Budget(20_000)  # type: ignore[arg-type]
    with pytest.raises(TabNASError, match=r"got 'flops'; to limit a cost by its name, write B"):
        Limit("flops", 5)  # type: ignore[arg-type]


def test_a_cost_is_limited_once() -> None:
    with pytest.raises(TabNASError, match="limits parameters more than once"):
        Budget(Limit(COSTS["parameters"], 3), parameters=5)


@given(spaces(embedded=True), st.floats(0, 5000))
def test_budget_admits_by_every_limit(space: SearchSpace, at_most: float) -> None:
    budget = Budget(Limit(lambda a: a.depth, 2), parameters=at_most)
    for choices in valid_choices(space):
        architecture = space.architecture(choices)
        holds = [
            cost <= at
            for cost, at in zip(
                budget.costs(space, architecture).values(), (2, at_most), strict=True
            )
        ]
        assert budget.admits(space, architecture) == np.all(holds)
