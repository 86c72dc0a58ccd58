"""The latency of a network as a sum of terms over its layers, and the fit of these terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Annotated

import numpy as np

from tabnas.decoding import Bounds
from tabnas.errors import TabNASError
from tabnas.space import Architecture
from tabnas.types import FloatArray

LANES = 8
"""Outputs that a product computes at once: latency grows in steps of this many units."""
MAX_US = 1e9

Microseconds = Annotated[float, Bounds(ge=0, le=MAX_US)]
"""A time in microseconds, between 0 and `MAX_US`."""


@dataclass(frozen=True)
class NetworkShape:
    """The layer sizes of a network."""

    inputs: int  # without numeric embeddings
    architecture: Architecture
    outputs: int
    columns: int = 0  # numeric columns that are embedded, if the architecture embeds numbers
    knots: int = 0  # of all of them

    @property
    def input_width(self) -> int:
        """The number of input units of the first layer."""
        return self.inputs + self.columns * self.architecture.dimension


@dataclass(frozen=True, kw_only=True)
class LatencyTerms:
    """The microseconds that each part of a network adds to a call."""

    call_us: Microseconds  # the same for every network
    layer_us: Microseconds  # for each hidden layer, which has three operations
    unit_us: Microseconds  # for each hidden unit: bias, normalisation, activation
    output_us: Microseconds  # for each output
    weight_us: Microseconds  # for each weight of a dense layer, widths rounded up to vectors
    single_weight_us: Microseconds | None = None
    """For each weight of the units beyond full vectors, if these are computed one by one; None if
    they take as long as a full vector."""

    def layer(self, fan_in: int, width: int) -> float:
        """Return the latency of a hidden layer."""
        return self.layer_us + self.unit_us * width + self._weights(fan_in, width)

    def head(self, fan_in: int, outputs: int) -> float:
        """Return the latency of the output layer."""
        return self.output_us * outputs + self._weights(fan_in, outputs)

    def _weights(self, fan_in: int, units: int) -> float:
        if self.single_weight_us is None:
            return self.weight_us * fan_in * _round_up_to_lanes(units)
        single = units % LANES
        return fan_in * (self.weight_us * (units - single) + self.single_weight_us * single)

    def predict_us(self, shape: NetworkShape) -> float:
        """Return the latency of a call of the network, without preprocessing and embeddings."""
        *hidden, last = pairwise((shape.input_width, *shape.architecture.widths, shape.outputs))
        return self.call_us + sum(self.layer(*ends) for ends in hidden) + self.head(*last)

    def errors(self, shapes: Sequence[NetworkShape], measured_us: Sequence[float]) -> FloatArray:
        """Return the relative errors of the predictions, [shapes]."""
        predicted = np.array([self.predict_us(shape) for shape in shapes])
        return np.asarray(np.abs(predicted / np.asarray(measured_us) - 1))


TERMS = tuple(field.name for field in fields(LatencyTerms))
SINGLE_WEIGHT = "single_weight_us"


def fit_terms(
    shapes: Sequence[NetworkShape], measured_us: Sequence[float], *, has_single_units: bool = False
) -> LatencyTerms:
    """Fit non-negative terms that minimise the sum of squared relative errors.

    `has_single_units` is whether units beyond full vectors are computed one by one, and have a term
    of their own.
    """
    names = [name for name in TERMS if has_single_units or name != SINGLE_WEIGHT]
    # the latency of a network if one term were 1 and the others 0
    unit_terms = [LatencyTerms(**{name: float(name == unit) for name in names}) for unit in names]
    counts = np.array([[terms.predict_us(shape) for terms in unit_terms] for shape in shapes])
    measured = np.asarray(measured_us, np.float64)
    return LatencyTerms(
        **dict(zip(names, fit_nonnegative(counts, measured, measured), strict=True))
    )


def fit_nonnegative(counts: FloatArray, values: FloatArray, scale: FloatArray) -> list[float]:
    """Return x >= 0, [terms], that minimises the sum of `((counts x - values) / scale)^2`."""
    from scipy.optimize import nnls

    valid = np.isfinite(scale) & (scale > 0)
    if not valid.all():
        raise TabNASError(f"latencies must be positive and finite, got {scale[~valid][0]:g}")
    size = np.maximum(
        counts.max(axis=0), 1.0
    )  # brings numbers of weights and of layers to one scale
    scaled, _ = nnls(counts / size / scale[:, None], values / scale)
    terms: list[float] = (scaled / size).tolist()
    return terms


def _round_up_to_lanes(width: int) -> int:
    return -(-width // LANES) * LANES
