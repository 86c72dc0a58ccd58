"""Latency as a cost: exact feasible sets, also together with other limits."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabnas.errors import InfeasibleError, TabNASError
from tabnas.feasible import FeasibleSet
from tabnas.latency import EmbeddingTerms, LatencyCost, LatencyTerms
from tabnas.space import (
    Architecture,
    Budget,
    Limit,
    NumericEmbeddings,
    Precision,
    SearchSpace,
    default_space,
)
from tabnas.testing import check_cost
from tests.latency.conftest import EMBEDDINGS, TERMS, make_c_table, make_latency_table
from tests.problems import spaces

us = st.floats(0, 100)


@pytest.mark.parametrize("name", ["latency_us", "batch_latency_us"])
@pytest.mark.parametrize("overhead_us", [None, 37.25])
def test_latency_passes_the_checks_of_costs(name: str, overhead_us: float | None) -> None:
    check_cost(make_latency_table().cost(name, overhead_us))


@settings(deadline=None)
@given(spaces(embedded=True), us, us, st.floats(0, 1), st.data())
def test_the_feasible_set_equals_that_of_enumeration(
    space: SearchSpace, call: float, layer: float, unit: float, data: st.DataObject
) -> None:
    terms = LatencyTerms(
        call_us=call, layer_us=layer, unit_us=unit, output_us=unit, weight_us=unit / 9
    )
    embedding_terms = EmbeddingTerms(
        embeddings_us=layer, column_us=unit, knot_us=unit / 2, input_us=unit / 5, entry_us=unit / 7
    )
    cost = LatencyCost("latency_us", terms, embedding_terms=embedding_terms)
    everything = list(FeasibleSet(space, Budget()))
    chosen = data.draw(st.sampled_from(everything))
    others = {"parameters": 1.5, "flops": 1.2, "bytes": 1.4}
    free = FeasibleSet(space, Budget())
    limits = {n: factor * free._cost(n)(space, chosen) for n, factor in others.items()}
    budget = Budget(Limit(cost, cost(space, chosen)), **limits)
    feasible = FeasibleSet(space, budget, method="chain")
    within = {one for one in everything if budget.admits(space, one)}
    assert set(feasible) == within
    assert chosen in feasible
    assert cost(space, feasible.most_expensive(cost)) == max(cost(space, one) for one in within)


def test_four_limits_together_are_exact() -> None:
    table = make_latency_table()
    limits = [Limit(table.cost("latency_us"), 30), Limit(table.cost("batch_latency_us"), 400)]
    budget = Budget(*limits, parameters=20_000, flops=60_000)
    space = default_space(budget, inputs=54, outputs=7)
    feasible = FeasibleSet(space, budget)
    assert feasible.method == "chain"
    every = FeasibleSet(space, Budget())
    assert feasible.count() == sum(budget.admits(space, one) for one in every)


def make_embedded_space() -> SearchSpace:
    embeddings = NumericEmbeddings(columns=3, knots=12, dimensions=(0, 2))
    return SearchSpace([[0, 8]], inputs=5, outputs=1, numeric_embeddings=embeddings)


def test_the_cost_of_embeddings_by_hand() -> None:
    terms = LatencyTerms(call_us=8, layer_us=2, unit_us=0.5, output_us=1, weight_us=0.25)
    embedding_terms = EmbeddingTerms(
        embeddings_us=4, column_us=1, knot_us=0.5, input_us=0.25, entry_us=0.125
    )
    cost = LatencyCost("latency_us", terms, embedding_terms=embedding_terms)
    space = make_embedded_space()
    # call, layer of 5 -> 8, head of 8 -> 1, which is rounded up to 8
    assert cost(space, Architecture((8,))) == 8 + (2 + 4 + 0.25 * 5 * 8) + (1 + 0.25 * 8 * 8)
    # 3 columns, 12 knots, 6 inputs, 24 numbers; the layer has 5 + 6 inputs
    embedded = 4 + 3 + 6 + 1.5 + 3
    expected = 8 + embedded + (2 + 4 + 0.25 * 11 * 8) + (1 + 0.25 * 8 * 8)
    assert cost(space, Architecture((8,), 2)) == expected
    assert cost(space, Architecture((), 2)) == 8 + embedded + (1 + 0.25 * 11 * 8)


def test_measured_embeddings_replace_predicted_ones() -> None:
    space, network = make_embedded_space(), Architecture((8,), 2)
    predicted = make_latency_table().cost("latency_us")
    measured = replace(predicted, embedding_us={2: 40.0})
    term = EMBEDDINGS[1].predict_us(3, 12, 2)
    assert measured(space, network) - predicted(space, network) == pytest.approx(
        40 - term, abs=0.01
    )
    assert measured(space, Architecture((8,))) == predicted(space, Architecture((8,)))
    assert measured != predicted
    assert hash(measured) == hash(predicted)


def test_unknown_embeddings_are_refused() -> None:
    cost = LatencyCost("latency_us", TERMS[1], embedding_us={1: 5.0})
    with pytest.raises(TabNASError, match="embeddings of dimension 2 in `embedding_us`"):
        FeasibleSet(make_embedded_space(), Budget(Limit(cost, 30)))


def test_the_overhead_replaces_the_call_of_the_network() -> None:
    space = SearchSpace([[8]], inputs=4, outputs=1)
    without, with_overhead = (LatencyCost("latency_us", TERMS[1], each) for each in (None, 40.0))
    (one,) = FeasibleSet(space, Budget())
    assert with_overhead(space, one) - without(space, one) == 40.0 - TERMS[1].call_us


def test_a_limit_below_the_overhead_is_refused() -> None:
    cost = LatencyCost("latency_us", TERMS[1], 40.0)
    space = SearchSpace([[0, 8]], inputs=4, outputs=1)
    with pytest.raises(InfeasibleError, match="the cheapest, linear, has 40"):
        FeasibleSet(space, Budget(Limit(cost, 30)))


@pytest.mark.parametrize("precision", [Precision.FLOAT32, Precision.INT8], ids=str)
@pytest.mark.parametrize("name", ["latency_us", "batch_latency_us"])
def test_latency_in_c_passes_the_checks_of_costs(name: str, precision: Precision) -> None:
    check_cost(make_c_table().cost(name).at_precision(precision))


def test_in_c_every_precision_has_its_latency() -> None:
    cost = make_c_table().cost("latency_us", 0.2)
    space = SearchSpace([[8]], inputs=10, outputs=1)
    (network,) = FeasibleSet(space, Budget())
    float32 = 0.2 + (0.02 + 8 * 0.001 + 80 * 0.0001) + (0.002 + 8 * 0.0003)
    int8 = 0.2 + (0.03 + 8 * 0.003 + 80 * 0.0004) + (0.002 + 8 * 0.0006)
    assert cost(space, network) == pytest.approx(float32, abs=0.004)
    assert cost.at_precision(Precision.INT8)(space, network) == pytest.approx(int8, abs=0.004)
    assert cost.at_precision(Precision.INT8).at_precision(Precision.FLOAT32) == cost
    budget = Budget(Limit(cost, 0.25))
    assert budget.admits(space, network)
    assert not budget.at_precision(Precision.INT8).admits(space, network)
    with pytest.raises(TabNASError, match=r"measured as float16 .* known as float32 and int8"):
        cost.at_precision(Precision.FLOAT16)


def test_in_onnxruntime_the_precision_does_not_matter() -> None:
    cost = make_latency_table().cost("latency_us")
    assert all(cost.at_precision(precision) is cost for precision in Precision)


def test_the_cost_of_a_row_in_c_has_steps_of_a_nanosecond() -> None:
    assert make_c_table().cost("latency_us").resolution == 2**-10
    assert make_c_table().cost("batch_latency_us").resolution == 2**-7
    assert make_latency_table().cost("latency_us").resolution == 2**-7


def test_unknown_names_are_refused() -> None:
    table = make_latency_table()
    assert table.cost("batch_latency_us").rows == 256
    with pytest.raises(TabNASError, match="latency_us or batch_latency_us"):
        table.cost("latency")
    with pytest.raises(TabNASError, match="latency_us or batch_latency_us"):
        LatencyCost("latency_ms", TERMS[1])
