"""Fitting recovers the terms that latencies were made of."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas.errors import TabNASError
from tabnas.latency import LatencyTerms, NetworkShape, fit_terms
from tabnas.space import Architecture


def shapes(count: int, seed: int = 0) -> list[NetworkShape]:
    rng = np.random.default_rng(seed)
    return [
        NetworkShape(
            int(rng.integers(1, 300)),
            Architecture(tuple(rng.integers(1, 512, size=rng.integers(0, 5)).tolist())),
            int(rng.integers(1, 30)),
        )
        for _ in range(count)
    ]


some = st.floats(0.001, 50.0)


@given(st.tuples(some, some, some, some, some))
def test_additive_latencies_give_their_terms_back(values: tuple[float, ...]) -> None:
    names = ("call_us", "layer_us", "unit_us", "output_us", "weight_us")
    sizes = (1, 1, 1e-2, 1e-2, 1e-4)  # in proportion, lest one drown the others
    said = {n: v * size for n, v, size in zip(names, values, sizes, strict=True)}
    terms, known = LatencyTerms(**said), shapes(60)
    found = fit_terms(known, [terms.predict_us(shape) for shape in known])
    assert astuple(found) == pytest.approx(astuple(terms), rel=1e-4, abs=1e-7)


def test_noise_of_a_tenth_is_averaged_out() -> None:
    terms = LatencyTerms(call_us=9.0, layer_us=2.0, unit_us=0.01, output_us=0.01, weight_us=1e-4)
    rng = np.random.default_rng(1)
    known = shapes(100)
    noisy = [terms.predict_us(s) * rng.uniform(0.9, 1.1) for s in known]
    found = fit_terms(known[:60], noisy[:60])
    assert np.median(found.errors(known[60:], noisy[60:])) < 0.08
    assert min(astuple(found)) >= 0


def test_a_width_costs_full_vectors() -> None:
    terms = LatencyTerms(call_us=0, layer_us=0, unit_us=0, output_us=0, weight_us=1.0)
    assert terms.layer(10, 8) == 80
    assert terms.layer(10, 9) == terms.layer(10, 16) == 160
    assert terms.head(3, 1) == 24


def test_errors_are_relative() -> None:
    terms = LatencyTerms(call_us=11.0, layer_us=0, unit_us=0, output_us=0, weight_us=0)
    assert terms.errors(shapes(2), [10.0, 22.0]) == pytest.approx([0.1, 0.5])


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, np.inf])
def test_latencies_that_cannot_be(wrong: float) -> None:
    with pytest.raises(TabNASError, match="positive and finite"):
        fit_terms(shapes(3), [1.0, wrong, 2.0])
