"""Surveying a machine with a clock whose durations are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np
import pytest
from tabnas.latency._onnx_calls import Call

from tabnas.latency import Clock, Machine, measure_machine
from tabnas.latency import _survey as survey
from tabnas.types import FloatArray
from tests.latency.conftest import COLUMNS, EMBEDDINGS, TERMS


@dataclass(frozen=True, kw_only=True)
class AdditiveMachine(Clock):
    """A clock that returns what the terms predict, and makes every call once."""

    busy_rounds: float = 1.0  # the slowdown of every second round

    def medians_us(
        self, calls: Sequence[Call], on_progress: survey.FractionCallback = print
    ) -> FloatArray:
        for call in calls:
            call()
        probes = [survey.random_network(k) for k in range(survey.FITTED + survey.HELD_OUT)]
        probes += [survey.random_table(k) for k in range(2 * survey.TABLES)]
        probes += [survey.random_embedded_network(k) for k in range(2 * survey.EMBEDDED)]
        calm = [
            terms.predict_us(probe.shape)
            + EMBEDDINGS[rows].predict_us(
                probe.shape.columns, probe.shape.knots, probe.shape.architecture.dimension
            )
            + (0 if probe.encoder is None else COLUMNS.predict_us(probe.encoder))
            for rows, terms in TERMS.items()
            for probe in probes
        ]
        return np.outer([1.0, self.busy_rounds] * 4, calm)


def test_the_terms_of_an_additive_machine_are_found(probes_once: None) -> None:
    table = measure_machine(clock=AdditiveMachine())
    assert table.machine == Machine.here()
    for rows, call in table.calls.items():
        assert astuple(call.terms) == pytest.approx(astuple(TERMS[rows]), rel=1e-5)
        assert astuple(call.columns) == pytest.approx(astuple(COLUMNS), rel=1e-5)
        assert astuple(call.embeddings) == pytest.approx(astuple(EMBEDDINGS[rows]), rel=1e-5)
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
    for rows, call in table.calls.items():
        assert call.spread == pytest.approx(0.5)
        assert astuple(call.terms) == pytest.approx(astuple(TERMS[rows]), rel=1e-5)


def test_survey_networks_are_reproducible_and_different() -> None:
    shapes = [survey.random_network(k).shape for k in range(30)]
    assert shapes == [survey.random_network(k).shape for k in range(30)]
    assert len(set(shapes)) == 30
    assert {shape.architecture.depth for shape in shapes} == {0, 1, 2, 3, 4}


def test_survey_networks_with_embeddings_are_reproducible_and_different() -> None:
    shapes = [survey.random_embedded_network(k).shape for k in range(20)]
    assert shapes == [survey.random_embedded_network(k).shape for k in range(20)]
    assert len(set(shapes)) == 20
    assert len({shape.architecture.dimension for shape in shapes}) > 4
    assert {shape.inputs > shape.columns for shape in shapes} == {False, True}
