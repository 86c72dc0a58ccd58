"""The latency of a network as a sum along its layers, and how its terms are found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np

from tabnas.errors import TabnasError
from tabnas.space import Architecture
from tabnas.types import FloatArray

LANES = 8
"""Outputs that a product computes at once: widths cost as if they were multiples of it."""


@dataclass(frozen=True)
class Shape:
    """A network without its weights."""

    inputs: int
    architecture: Architecture
    outputs: int


@dataclass(frozen=True, kw_only=True)
class Terms:
    """Microseconds that each part of a network adds to a call of so many rows."""

    call_us: float  # whatever the network
    layer_us: float  # for each hidden layer: three operations are begun
    unit_us: float  # for each hidden unit: bias, normalisation, activation
    output_us: float  # for each output
    weight_us: float  # for each weight of a dense layer, its width rounded up to full vectors

    def layer(self, fan_in: int, width: int) -> float:
        """A hidden layer."""
        return self.layer_us + self.unit_us * width + self.weight_us * fan_in * _full(width)

    def head(self, fan_in: int, outputs: int) -> float:
        """The output layer."""
        return self.output_us * outputs + self.weight_us * fan_in * _full(outputs)

    def predicted_us(self, shape: Shape) -> float:
        """A whole call of the bare network."""
        *hidden, last = pairwise((shape.inputs, *shape.architecture.widths, shape.outputs))
        return self.call_us + sum(self.layer(*ends) for ends in hidden) + self.head(*last)

    def errors(self, shapes: Sequence[Shape], measured_us: Sequence[float]) -> FloatArray:
        """Relative errors of prediction, [shapes]."""
        predicted = np.array([self.predicted_us(shape) for shape in shapes])
        return np.asarray(np.abs(predicted / np.asarray(measured_us) - 1))


TERMS = tuple(each.name for each in fields(Terms))


def fit_terms(shapes: Sequence[Shape], measured_us: Sequence[float]) -> Terms:
    """The terms, none below 0, with the least sum of squares of relative errors."""
    # what a network would take if one term were 1 and the others 0
    alone = [Terms(**{name: float(name == one) for name in TERMS}) for one in TERMS]
    counts = np.array([[terms.predicted_us(shape) for terms in alone] for shape in shapes])
    measured = np.asarray(measured_us, np.float64)
    return Terms(**dict(zip(TERMS, nonnegative_fit(counts, measured, measured), strict=True)))


def nonnegative_fit(counts: FloatArray, values: FloatArray, scale: FloatArray) -> list[float]:
    """x >= 0 with the least sum of `((counts x - values) / scale)^2`: [terms]."""
    from scipy.optimize import nnls

    if not (np.isfinite(scale).all() and (scale > 0).all()):
        raise TabnasError("latencies must be positive and finite, however some are not")
    size = np.maximum(counts.max(axis=0), 1.0)  # numbers of weights and of layers, made comparable
    found, _ = nnls(counts / size / scale[:, None], values / scale)
    terms: list[float] = (found / size).tolist()
    return terms


def _full(width: int) -> int:
    return -(-width // LANES) * LANES
