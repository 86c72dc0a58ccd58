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
    assert COSTS["ram_bytes"](space, architecture) == 4 * max(4 + 3, 3 + 2, 2 + 5)


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
    assert added["bytes"] == 4 * (6 * 3 + 12 * 2 + 12)  # the knots themselves, too
    assert added["flops"] == 2 * 6 * 3 + 3 * (2 + 3 * 2)
    assert added["ram_bytes"] == 4 * (10 + 3) - 4 * 7
    # a linear network reads the inputs, too
    linear = Architecture((), 2)
    assert COSTS["parameters"](space, linear) == (4 + 6) * 5 + 5 + 12 * 2 + 7
    tables = COSTS["parameters"].tables(space)
    assert [table.shape for table in tables] == [(1, 2), (2, 1), (1, 2), (2, 1)]
    assert tables[0].tolist() == [[7, 7 + 24]]
    with pytest.raises(TabNASError, match="since this space has none"):
        COSTS["parameters"](plain, with_2)


@pytest.mark.parametrize(
    ("architecture", "activations"),
    [("linear", 4 + 5), ("9", 9 + 5), ("3-9-2", 3 + 9), ("9-3", 4 + 9), ("d2-3-2", 10 + 3)],
)
def test_the_largest_pair_of_neighbouring_activations_counts(
    architecture: str, activations: int
) -> None:
    """The pair may be at the inputs, in the middle or at the outputs, in a network of any depth."""
    embeddings = NumericEmbeddings(columns=3, knots=12, dimensions=(0, 2))
    widths = [[0, 3, 9], [0, 3, 9], [0, 2]]
    space = SearchSpace(widths, inputs=4, outputs=5, numeric_embeddings=embeddings)
    assert COSTS["ram_bytes"](space, Architecture.parse(architecture)) == 4 * activations


class _Buffers(ChainCost):
    """A maximum with a fixed part, and a term for the numeric embeddings."""

    name = "buffers"
    reduction = "max"

    def layer(self, fan_in: int, width: int) -> float:
        return max(fan_in, width) / 2

    def head(self, fan_in: int, outputs: int) -> float:
        return outputs

    def embed(self, columns: int, knots: int, dimension: int) -> float:
        return knots * dimension

    def fixed(self, space: SearchSpace) -> float:
        return 100


def test_the_fixed_part_is_added_to_the_maximum_of_all_other_terms() -> None:
    embeddings = NumericEmbeddings(columns=3, knots=12, dimensions=(0, 2))
    space = SearchSpace([[3], [2, 17]], inputs=4, outputs=5, numeric_embeddings=embeddings)
    assert _Buffers()(space, Architecture((3, 2))) == 100 + 5
    assert _Buffers()(space, Architecture((3, 17))) == 100 + 8.5
    assert _Buffers()(space, Architecture((3, 17), 2)) == 100 + 24


def test_the_reduction_is_a_sum_or_a_maximum() -> None:
    with pytest.raises(TabNASError, match="`reduction` of Mean must be 'sum' or 'max', got 'mean'"):
        type("Mean", (_Buffers,), {"reduction": "mean"})


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
def test_tables_reduce_to_the_cost(name: str, space: SearchSpace) -> None:
    cost = COSTS[name]
    assert isinstance(cost, ChainCost)
    *tables, head = cost.tables(space)
    for choices in valid_choices(space):
        terms, before = [], 0
        for table, choice in zip(tables, choices, strict=True):
            terms.append(table[before, choice])
            before = choice
        terms.append(head[before, 0])
        reduced = sum(terms) if cost.reduction == "sum" else max(terms)
        assert reduced == cost(space, space.architecture(choices))


def test_absent_layers_cannot_be_followed() -> None:
    space = SearchSpace([[0, 8], [0, 8]], inputs=4, outputs=1)
    assert DenseParameters().tables(space)[1][0, 1] == math.inf


def test_unknown_cost_suggests_the_nearest() -> None:
    with pytest.raises(TabNASError, match="did you mean 'parameters'"):
        Budget(paramters=5)


@pytest.mark.parametrize("at_most", [-1, float("nan"), float("inf"), "5", True, None, 10**400])
def test_limits_must_be_numbers(at_most: object) -> None:
    with pytest.raises(TabNASError, match=r"the limit on parameters must be a finite number"):
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
