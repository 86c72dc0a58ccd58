"""Models measured as they are deployed: the whole file, on rows of a real table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import sleep

import numpy as np

from tabnas.data import Table, TableEncoder, Target
from tabnas.latency._clock import Call, Clock
from tabnas.latency._probes import network_call
from tabnas.latency._runtime import call_of
from tabnas.latency._terms import Shape, Terms
from tabnas.model import Model, network_task, weight_shapes
from tabnas.space import Architecture
from tabnas.streams import stream

CLOCK = Clock(rounds=24, slice_us=6_000.0)

YARDSTICK = Shape(32, Architecture((64, 64)), 1)
"""A network that is measured beside others, to see whether the machine is as calm as its table."""
CALM_FACTOR = 1.15
"""How many times what the table says the yardstick may take; beyond, the machine is busy."""
ATTEMPTS, PAUSE_SECONDS = 12, 1.0

Measure = Callable[[Sequence[Model], Table, int, Terms], list[float]]
"""Microseconds that a call of so many rows takes, for each of the models."""


def measure_models(
    models: Sequence[Model],
    table: Table,
    rows: int,
    terms: Terms,
    *,
    clock: Clock = CLOCK,
    pause_seconds: float = PAUSE_SECONDS,
) -> list[float]:
    """The latency of each model's file on the first rows of a table, taken again if they are few.

    Values come as the file takes them; reading a table is no part of a call. `terms` are those of
    the machine's table, as for `calm_latencies_us`.
    """
    from tabnas.export import onnx_bytes, onnx_inputs  # loads ONNX, which few runs need

    taken = table.take(np.resize(np.arange(len(table)), rows))
    calls = [call_of(onnx_bytes(model), onnx_inputs(model, taken)) for model in models]
    return calm_latencies_us(calls, rows, terms, clock=clock, pause_seconds=pause_seconds)


def calm_latencies_us(
    calls: Sequence[Call],
    rows: int,
    terms: Terms,
    *,
    clock: Clock = CLOCK,
    pause_seconds: float = PAUSE_SECONDS,
) -> list[float]:
    """What calls of so many rows take while the machine is about as calm as when `terms` were made.

    While a network that the terms know takes longer than they say, the machine is busy: then all is
    measured again after a pause, and the least counts. Patience ends after some attempts.
    """
    yardstick = network_call(YARDSTICK, rows)
    calm_us = CALM_FACTOR * terms.predicted_us(YARDSTICK)
    least = np.full(len(calls) + 1, np.inf)
    for attempt in range(ATTEMPTS):
        if attempt:
            sleep(pause_seconds)
        *_, now_us = found = clock.latencies_us([*calls, yardstick])
        least = np.minimum(least, found)
        if now_us <= calm_us:
            break
    measured: list[float] = least[:-1].tolist()
    return measured


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
