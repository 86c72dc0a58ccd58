"""Fitting recovers the terms of the latencies."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas.errors import TabNASError
from tabnas.latency import EmbeddingTerms, LatencyTerms, NetworkShape, fit_terms
from tabnas.latency._embeddings import EMBEDDING_TERMS, fit_embedding_terms
from tabnas.space import Architecture
from tests.latency.conftest import list_values


def make_shapes(count: int, seed: int = 0) -> list[NetworkShape]:
    rng = np.random.default_rng(seed)
    return [
        NetworkShape(
            int(rng.integers(1, 300)),
            Architecture(tuple(rng.integers(1, 512, size=rng.integers(0, 5)).tolist())),
            int(rng.integers(1, 30)),
        )
        for _ in range(count)
    ]


positive = st.floats(0.001, 50.0)


@given(st.tuples(positive, positive, positive, positive, positive))
def test_terms_of_additive_latencies_are_recovered(values: tuple[float, ...]) -> None:
    names = ("call_us", "layer_us", "unit_us", "output_us", "weight_us")
    sizes = (1, 1, 1e-2, 1e-2, 1e-4)  # so that no term dominates the others
    fields = {n: v * size for n, v, size in zip(names, values, sizes, strict=True)}
    terms, networks = LatencyTerms(**fields), make_shapes(60)
    fitted = fit_terms(networks, [terms.predict_us(shape) for shape in networks])
    assert list_values(fitted) == pytest.approx(list_values(terms), rel=1e-4, abs=1e-7)
    assert fitted.single_weight_us is None


def test_terms_with_single_units_are_recovered() -> None:
    terms = LatencyTerms(
        call_us=0.01,
        layer_us=0.02,
        unit_us=0.001,
        output_us=0.002,
        weight_us=1e-4,
        single_weight_us=3e-4,
    )
    networks = make_shapes(60)
    measured = [terms.predict_us(shape) for shape in networks]
    fitted = fit_terms(networks, measured, has_single_units=True)
    assert list_values(fitted) == pytest.approx(list_values(terms), rel=1e-4)


def test_noise_of_ten_percent_is_averaged_out() -> None:
    terms = LatencyTerms(call_us=9.0, layer_us=2.0, unit_us=0.01, output_us=0.01, weight_us=1e-4)
    rng = np.random.default_rng(1)
    networks = make_shapes(100)
    noisy = [terms.predict_us(s) * rng.uniform(0.9, 1.1) for s in networks]
    fitted = fit_terms(networks[:60], noisy[:60])
    assert np.median(fitted.errors(networks[60:], noisy[60:])) < 0.08
    assert min(list_values(fitted)) >= 0


def test_widths_are_rounded_up_to_vectors() -> None:
    terms = LatencyTerms(call_us=0, layer_us=0, unit_us=0, output_us=0, weight_us=1.0)
    assert terms.layer(10, 8) == 80
    assert terms.layer(10, 9) == terms.layer(10, 16) == 160
    assert terms.head(3, 1) == 24


def test_units_beyond_full_vectors_are_computed_one_by_one() -> None:
    terms = LatencyTerms(
        call_us=0, layer_us=0, unit_us=0, output_us=0, weight_us=1.0, single_weight_us=3.0
    )
    assert terms.layer(10, 8) == 80
    assert terms.layer(10, 7) == 210  # more than a full vector
    assert terms.layer(10, 17) == 10 * (16 + 3)
    assert terms.head(3, 1) == 9


def test_errors_are_relative() -> None:
    terms = LatencyTerms(call_us=11.0, layer_us=0, unit_us=0, output_us=0, weight_us=0)
    assert terms.errors(make_shapes(2), [10.0, 22.0]) == pytest.approx([0.1, 0.5])


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, np.inf])
def test_invalid_latencies_are_refused(wrong: float) -> None:
    with pytest.raises(TabNASError, match="positive and finite"):
        fit_terms(make_shapes(3), [1.0, wrong, 2.0])


def test_added_inputs_are_weights_of_the_first_layer() -> None:
    terms = LatencyTerms(call_us=3, layer_us=0, unit_us=0, output_us=0, weight_us=1.0)
    shape = NetworkShape(5, Architecture((8,), 2), 8, columns=3, knots=12)
    assert shape.input_width == 11
    assert terms.predict_us(shape) == 3 + 11 * 8 + 8 * 8


@given(st.tuples(positive, positive, positive, positive, positive))
def test_terms_of_embeddings_are_recovered(values: tuple[float, ...]) -> None:
    sizes = (1, 1e-1, 1e-2, 1e-2, 1e-3)
    terms = EmbeddingTerms(
        **{n: v * size for n, v, size in zip(EMBEDDING_TERMS, values, sizes, strict=True)}
    )
    rng = np.random.default_rng(0)
    shapes = [
        NetworkShape(columns, Architecture((8,), dimension), 1, columns, columns * knots)
        for columns, knots, dimension in rng.integers((1, 2, 1), (64, 48, 16), (40, 3)).tolist()
    ]
    added = np.array(
        [terms.predict_us(s.columns, s.knots, s.architecture.dimension) for s in shapes]
    )
    fitted = fit_embedding_terms(shapes, added, added + 5)
    assert astuple(fitted) == pytest.approx(astuple(terms), rel=1e-4, abs=1e-7)
    assert fitted.predict_us(3, 12, 0) == 0
