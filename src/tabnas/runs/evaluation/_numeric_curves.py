"""The learned curves of the numeric embeddings of a model, for people to look at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

import numpy as np

from tabnas.data.columns import DatetimeColumn, FittedColumn
from tabnas.model import Model
from tabnas.nets import NUMERIC_EMBEDDING
from tabnas.results import (
    MAX_CURVE_DIMENSIONS,
    MAX_CURVE_KNOTS,
    MAX_CURVES,
    Diagnostics,
    NumericCurve,
)
from tabnas.types import FloatArray

MAX_VALUE = 1e300
"""Larger values cannot be drawn to a scale."""
DIGITS = 6


@dataclass(frozen=True, eq=False)
class _Feature:
    """An embedded feature: which one of its column, its knots, and where its table begins."""

    column: FittedColumn
    index: int
    knots: FloatArray
    first: int


def read_numeric_curves(
    model: Model, diagnostics: Diagnostics | None = None
) -> tuple[NumericCurve, ...]:
    """Return the embeddings of the most important columns, as the model has learned them.

    Without a measured importance, columns stay in the order of the table. Sines and cosines of
    times come after the columns themselves.
    """
    if not model.knots:
        return ()
    importance = diagnostics and diagnostics.importance
    order = [name for name, _ in importance.sorted_columns] if importance else model.encoder.names
    rank = {name: k for k, name in enumerate(order)}
    features = sorted(
        _list_features(model),
        key=lambda feature: (feature.index > 0, rank.get(feature.column.name, len(rank))),
    )
    table = np.asarray(model.weights[NUMERIC_EMBEDDING], np.float64)[:MAX_CURVE_DIMENSIONS]
    return tuple(_read_curve(feature, table) for feature in features[:MAX_CURVES])


def _list_features(model: Model) -> Iterator[_Feature]:
    """Yield the embedded features in the order of the encoded table."""
    knots, first = iter(model.knots), 0
    for column in model.encoder.columns:
        for index in range(len(column.features)):
            values = np.array(next(knots))
            if len(values):
                yield _Feature(column, index, values, first)
            first += len(values)


def _read_curve(feature: _Feature, table: FloatArray) -> NumericCurve:
    """Return the curve of a feature; of very many knots, evenly spaced ones."""
    n_knots = len(feature.knots)
    places = np.linspace(0, n_knots - 1, min(n_knots, MAX_CURVE_KNOTS)).round().astype(np.int64)
    is_time = isinstance(feature.column, DatetimeColumn) and feature.index == 0
    values = _invert(feature, feature.knots[places])
    return NumericCurve(
        column=feature.column.name,
        feature=feature.column.features[feature.index],
        unit="time" if is_time else "number",
        knots=tuple(map(float, map(round, values))) if is_time else tuple(values),
        outputs=tuple(
            tuple(float(f"{y:.{DIGITS}g}") for y in row[feature.first + places]) for row in table
        ),
    )


def _invert(feature: _Feature, encoded: FloatArray) -> list[float]:
    """Return encoded values in the units of the column, with as many digits as are known.

    An encoded value is a float32, so it stands for an interval of values.
    """
    low, high = (
        np.clip(feature.column.invert(feature.index, end), -MAX_VALUE, MAX_VALUE)
        for end in _float32_interval(encoded)
    )
    return [shortest_between(a, b) for a, b in zip(low.tolist(), high.tolist(), strict=True)]


def _float32_interval(encoded: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the intervals that are rounded to these float32 values."""
    exact = encoded.astype(np.float32)
    below = np.nextafter(exact, np.float32(-np.inf)).astype(np.float64)
    above = np.nextafter(exact, np.float32(np.inf)).astype(np.float64)
    return (encoded + below) / 2, (encoded + above) / 2


def shortest_between(low: float, high: float) -> float:
    """Return a number of few digits between two numbers.

    >>> shortest_between(36.9999987, 37.0000023), shortest_between(1211.0, 1283.0)
    (37.0, 1250.0)
    """
    if low <= 0 <= high:
        return 0.0
    middle = low / 2 + high / 2
    for digits in range(1, 17):
        value = float(f"{middle:.{digits}g}")
        if low <= value <= high and isfinite(value):
            return value
    return middle
