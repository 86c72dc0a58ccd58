"""Measuring a machine, with a clock that knows what everything takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, field

import pytest

from tabnas.latency import Clock, Machine, measure_machine
from tabnas.latency import _survey as survey
from tabnas.latency._clock import Call
from tests.latency.conftest import COLUMNS, TERMS


@dataclass(frozen=True, kw_only=True)
class AdditiveMachine(Clock):
    """Takes exactly as long as terms say, and makes every call once."""

    told_seconds: list[float] = field(default_factory=list)

    def latencies_us(self, calls: Sequence[Call], tell: survey.Tell = print) -> list[float]:
        for call in calls:
            call()
        probes = [survey.random_network(k) for k in range(survey.FITTED + survey.HELD_OUT)]
        probes += [survey.random_table(k) for k in range(2 * survey.TABLES)]
        return [
            terms.predicted_us(probe.shape)
            + (0 if probe.encoder is None else COLUMNS.predicted_us(probe.encoder))
            for terms in TERMS.values()
            for probe in probes
        ]


def test_the_terms_of_an_additive_machine_are_found() -> None:
    table = measure_machine(clock=AdditiveMachine())
    assert table.machine == Machine.here()
    for rows, call in table.calls.items():
        assert astuple(call.terms) == pytest.approx(astuple(TERMS[rows]), rel=1e-5)
        assert astuple(call.columns) == pytest.approx(astuple(COLUMNS), rel=1e-5)
        assert call.held_out >= 30
        assert max(call.median_error, call.p90_error, call.tables_median_error) < 1e-6


def test_networks_are_the_same_every_time_and_differ() -> None:
    shapes = [survey.random_network(k).shape for k in range(30)]
    assert shapes == [survey.random_network(k).shape for k in range(30)]
    assert len(set(shapes)) == 30
    assert {shape.architecture.depth for shape in shapes} == {0, 1, 2, 3, 4}
