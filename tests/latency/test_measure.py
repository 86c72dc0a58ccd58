"""Models are measured in ONNX Runtime on real rows."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from tabnas.data import Table, TableEncoder, fit_target
from tabnas.errors import TabNASError
from tabnas.latency import Call, Clock, LatencyTerms, Machine, measure_models, untrained_model
from tabnas.nets import NUMERIC_EMBEDDING
from tabnas.space import Architecture

TABLE = Table.from_data({"size": [1.0, 2.5, np.nan, 4.0], "colour": ["red", "blue", "red", "blue"]})
QUICK = Clock(rounds=1, slice_us=1.0)


def make_model(*widths: int, dimension: int = 0):
    encoder = TableEncoder.fit(TABLE)
    target = fit_target("y", Table.from_data({"y": ["a", "b", "a", "c"]}).column("y"))
    knots = [(-1.0, 0.0, 1.0) for _ in encoder.features]
    architecture = Architecture(widths, dimension)
    return untrained_model(architecture, encoder, target, [2] * len(encoder.n_categories), knots)


EASY = LatencyTerms(call_us=1e9, layer_us=0, unit_us=0, output_us=0, weight_us=0)


@pytest.mark.parametrize("rows", [1, 256])
def test_every_model_gets_a_latency(rows: int) -> None:
    models = [make_model(), make_model(8, 4), make_model(8, dimension=2)]
    latencies = measure_models(models, TABLE, rows, EASY, clock=QUICK)
    assert len(latencies) == 3
    assert min(latencies) > 0


@dataclass(frozen=True, kw_only=True)
class BusyClock(Clock):
    """A clock of a machine that is busy at first, when all calls take longer."""

    slowness: Iterator[float]

    def latencies_us(self, calls: Sequence[Call]) -> list[float]:
        factor = next(self.slowness)
        return [factor * 40.0, factor * 50.0, factor * 10.0][-len(calls) :]


@pytest.mark.parametrize(
    ("slowness", "factor"),
    [([1.0], 1.0), ([1.8, 2.5, 1.0], 1.0), ([1.8, 1.1], 1.1), ([3, 2, *range(4, 14)], 2.0)],
    ids=["idle", "busy at first", "idle enough", "always busy"],
)
def test_measuring_waits_for_a_busy_machine(slowness: list[float], factor: float) -> None:
    terms = replace(EASY, call_us=10.0)
    clock = BusyClock(slowness=iter(slowness))  # fails if it is called more often
    models = [make_model(), make_model(4)]
    latencies = measure_models(models, TABLE, 1, terms, clock=clock, pause_seconds=0)
    assert latencies == pytest.approx([40 * factor, 50 * factor])
    assert next(clock.slowness, None) is None


def test_untrained_models_are_reproducible() -> None:
    first, second = make_model(8, 4), make_model(8, 4)
    assert first.predict_raw(TABLE).tobytes() == second.predict_raw(TABLE).tobytes()


def test_an_untrained_model_has_the_embeddings_of_its_architecture() -> None:
    model = make_model(8, dimension=2)
    assert model.weights[NUMERIC_EMBEDDING].shape == (2, 3 * model.spec.inputs.numeric)
    assert NUMERIC_EMBEDDING not in make_model(8).weights


def test_the_error_without_the_runtime_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(TabNASError, match=r'pip install "tabnas\[onnxruntime\]"'):
        measure_models([make_model()], TABLE, 1, EASY)
    with pytest.raises(TabNASError, match="onnxruntime"):
        Machine.here()
