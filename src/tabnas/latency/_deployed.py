"""Models measured as they are deployed: the whole file, on rows of a real table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tabnas.data import Table, TableEncoder, Target
from tabnas.latency._clock import Clock
from tabnas.latency._runtime import call_of
from tabnas.model import Model, network_task, weight_shapes
from tabnas.space import Architecture
from tabnas.streams import stream

CLOCK = Clock(rounds=24, slice_us=6_000.0)

Measure = Callable[[Sequence[Model], Table, int], list[float]]
"""Microseconds that a call of so many rows takes, for each of the models."""


def measure_models(
    models: Sequence[Model], table: Table, rows: int, *, clock: Clock = CLOCK
) -> list[float]:
    """The latency of each model's file on the first rows of a table, taken again if they are few.

    Values come as the file takes them; reading a table is no part of a call.
    """
    from tabnas.export import onnx_bytes, onnx_inputs  # loads ONNX, which few runs need

    taken = table.take(np.resize(np.arange(len(table)), rows))
    return clock.latencies_us(
        [call_of(onnx_bytes(model), onnx_inputs(model, taken)) for model in models]
    )


def untrained_model(
    architecture: Architecture,
    encoder: TableEncoder,
    target: Target,
    dimensions: Sequence[int] = (),
) -> Model:
    """A model with random weights: they do not matter to latency."""
    shapes = weight_shapes(network_task(encoder, target, dimensions), architecture)
    rng = stream(0, f"untrained/{architecture}")
    return Model(
        encoder=encoder,
        target=target,
        architecture=architecture,
        dimensions=tuple(dimensions),
        weights={
            name: (rng.random(shape, np.float32) - np.float32(0.5)) / np.float32(shape[0] ** 0.5)
            for name, shape in shapes.items()
        },
    )
