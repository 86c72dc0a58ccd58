"""Whole files on real rows, in the real runtime."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from tabnas.data import Table, TableEncoder, fit_target
from tabnas.errors import TabnasError
from tabnas.latency import Clock, Machine, measure_models, untrained_model
from tabnas.space import Architecture

TABLE = Table.of({"size": [1.0, 2.5, np.nan, 4.0], "colour": ["red", "blue", "red", "blue"]})
QUICK = Clock(rounds=1, slice_us=1.0)


def model_of(*widths: int):
    encoder = TableEncoder.fit(TABLE)
    target = fit_target("y", Table.of({"y": ["a", "b", "a", "c"]}).column("y"))
    return untrained_model(Architecture(widths), encoder, target, [2] * len(encoder.categories))


@pytest.mark.parametrize("rows", [1, 256])
def test_every_model_gets_a_latency(rows: int) -> None:
    found = measure_models([model_of(), model_of(8, 4)], TABLE, rows, clock=QUICK)
    assert len(found) == 2
    assert min(found) > 0


def test_untrained_models_are_the_same_every_time() -> None:
    first, second = model_of(8, 4), model_of(8, 4)
    assert first.raw(TABLE).tobytes() == second.raw(TABLE).tobytes()


def test_without_the_runtime_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(TabnasError, match=r'pip install "tabnas\[onnxruntime\]"'):
        measure_models([model_of()], TABLE, 1)
    with pytest.raises(TabnasError, match="onnxruntime"):
        Machine.here()
