"""Surveying a machine with a clock whose durations are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np
import pytest

from tabnas.latency import RUNTIMES, Call, Clock, LatencyTable, Machine, measure_machine
from tabnas.latency import _survey as survey
from tabnas.types import FloatArray
from tests.latency.conftest import (
    C_COLUMNS,
    C_EMBEDDINGS,
    C_TERMS,
    COLUMNS,
    EMBEDDINGS,
    TERMS,
    list_values,
    multiply,
)


@dataclass(frozen=True, kw_only=True)
class AdditiveMachine(Clock):
    """A clock that returns what the terms predict, and makes every call once."""

    busy_rounds: float = 1.0  # the slowdown of every second round

    def medians_us(
        self, calls: Sequence[Call], on_progress: survey.FractionCallback = print
    ) -> FloatArray:
        for call in calls:
            call.function()
        probes = survey.Probes.random(RUNTIMES["onnxruntime"].survey).all
        calm = [
            terms.predict_us(probe.shape)
            + EMBEDDINGS[rows].predict_us(
                probe.shape.columns, probe.shape.knots, probe.shape.architecture.dimension
            )
            + (0 if probe.model is None else COLUMNS.predict_us(probe.model.encoder))
            for rows, terms in TERMS.items()
            for probe in probes
        ]
        return np.outer([1.0, self.busy_rounds] * 4, calm)


def test_the_terms_of_an_additive_machine_are_found(probes_once: None) -> None:
    table = measure_machine(clock=AdditiveMachine())
    assert table.machine == Machine.here()
    for call in table.calls:
        assert list_values(call.terms) == pytest.approx(list_values(TERMS[call.rows]), rel=1e-5)
        assert astuple(call.columns) == pytest.approx(astuple(COLUMNS), rel=1e-5)
        assert astuple(call.embeddings) == pytest.approx(astuple(EMBEDDINGS[call.rows]), rel=1e-5)
        assert call.held_out >= 30
        assert max(call.median_error, call.p90_error, call.tables_median_error) < 1e-6
        assert max(call.embedded_median_error, call.embedded_p90_error) < 1e-6
        assert call.spread == 0
    assert not table.is_busy


def test_a_machine_that_is_busy_at_times_is_noticed_and_still_measured(
    probes_once: None,
) -> None:
    table = measure_machine(clock=AdditiveMachine(busy_rounds=1.5))
    assert table.is_busy
    for call in table.calls:
        assert call.spread == pytest.approx(0.5)
        assert list_values(call.terms) == pytest.approx(list_values(TERMS[call.rows]), rel=1e-5)


@dataclass(frozen=True, kw_only=True)
class AdditiveC(Clock):
    """The same for the runtime c, which measures one row in two precisions."""

    def medians_us(
        self, calls: Sequence[Call], on_progress: survey.FractionCallback = print
    ) -> FloatArray:
        probes = survey.Probes.random(RUNTIMES["c"].survey).all
        us = [
            terms.predict_us(probe.shape)
            + C_EMBEDDINGS.predict_us(
                probe.shape.columns, probe.shape.knots, probe.shape.architecture.dimension
            )
            + (0 if probe.model is None else C_COLUMNS.predict_us(probe.model.encoder))
            for terms in C_TERMS.values()
            for probe in probes
        ]
        assert len(us) == len(calls)
        return np.tile(us, (4, 1))


def test_in_c_precisions_differ_and_rows_are_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is compiled."""
    runtime, made = RUNTIMES["c"], []
    monkeypatch.setattr(type(runtime), "version", lambda runtime: "cc 1.0")
    monkeypatch.setattr(survey.Probe, "make_call", lambda *kind: made.append(kind[1:]))
    table = measure_machine(runtime, clock=AdditiveC())
    assert {kind[1:] for kind in made} == {(1, precision) for precision in C_TERMS}
    assert table.machine.runtime == "c"
    assert [(call.rows, call.precision) for call in table.calls] == [
        (rows, precision) for rows in TERMS for precision in C_TERMS
    ]
    for call in table.calls:
        expected = multiply(C_TERMS[call.precision], call.rows)
        assert list_values(call.terms) == pytest.approx(list_values(expected), rel=1e-5)
        assert max(call.median_error, call.p90_error, call.tables_median_error) < 1e-6
    assert LatencyTable.from_json(table.to_json()) == table


def test_progress_goes_from_building_to_measuring(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime, reports = RUNTIMES["c"], []
    monkeypatch.setattr(type(runtime), "version", lambda runtime: "cc 1.0")
    monkeypatch.setattr(survey.Probe, "make_call", lambda *kind: Call(lambda: None))
    measure_machine(runtime, seconds=0.1, clock=Clock(rounds=4), on_progress=reports.append)
    assert reports == sorted(reports)
    assert survey.BUILDING in reports
    assert reports[-1] == pytest.approx(1.0)


def test_survey_networks_are_reproducible_and_different() -> None:
    shapes = [survey.random_network(k, 512).shape for k in range(30)]
    assert shapes == [survey.random_network(k, 512).shape for k in range(30)]
    assert len(set(shapes)) == 30
    assert {shape.architecture.depth for shape in shapes} == {0, 1, 2, 3, 4}


def test_survey_networks_with_embeddings_are_reproducible_and_different() -> None:
    shapes = [survey.random_embedded_network(k, 512).shape for k in range(20)]
    assert shapes == [survey.random_embedded_network(k, 512).shape for k in range(20)]
    assert len(set(shapes)) == 20
    assert len({shape.architecture.dimension for shape in shapes}) > 4
    assert {shape.inputs > shape.columns for shape in shapes} == {False, True}
