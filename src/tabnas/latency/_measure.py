"""The latency of models as they are deployed: exported, on rows of a real table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import sleep

import numpy as np

from tabnas.data import Table, TableEncoder, Target
from tabnas.latency._clock import Call, Clock
from tabnas.latency._machine import DEFAULT_RUNTIME
from tabnas.latency._terms import LatencyTerms, NetworkShape
from tabnas.latency.runtimes import Runtime
from tabnas.model import Model, make_network_spec, weight_shapes
from tabnas.space import Architecture, Precision
from tabnas.streams import stream

CLOCK = Clock(rounds=24, slice_us=6_000.0)

REFERENCE = NetworkShape(32, Architecture((64, 64)), 1)
"""A network that is measured together with others, to see whether the machine is busy."""
MAX_SLOWDOWN = 1.15
"""The machine is busy if the reference takes longer than its prediction times this."""
MAX_ATTEMPTS, PAUSE_SECONDS = 12, 1.0

Measure = Callable[[Sequence[Model], Table, int, LatencyTerms], list[float]]
"""Returns the latency in microseconds of each model, for calls of a number of rows.

The terms are those of float32, and serve to recognise a busy machine."""


def measure_models(
    models: Sequence[Model],
    table: Table,
    rows: int,
    terms: LatencyTerms,
    *,
    runtime: Runtime = DEFAULT_RUNTIME,
    clock: Clock = CLOCK,
    pause_seconds: float = PAUSE_SECONDS,
) -> list[float]:
    """Return the latency of each model, as it is exported, on the first rows of a table.

    If the table has fewer rows, they are repeated. A call does not include reading the table.
    `terms` are those of this machine's latency table, as for `measure_calls`.
    """
    calls = [runtime.model_call(model, table, rows) for model in models]
    return measure_calls(
        calls, rows, terms, runtime=runtime, clock=clock, pause_seconds=pause_seconds
    )


def measure_calls(
    calls: Sequence[Call],
    rows: int,
    terms: LatencyTerms,
    *,
    runtime: Runtime = DEFAULT_RUNTIME,
    clock: Clock = CLOCK,
    pause_seconds: float = PAUSE_SECONDS,
) -> list[float]:
    """Return the latencies of calls of `rows` rows while the machine is idle.

    The machine is busy if a reference network of float32 takes longer than `terms` predict. Then
    everything is measured again after a pause, up to a maximal number of attempts, and the minimum
    counts.
    """
    reference = runtime.network_call(REFERENCE, rows)
    idle_us = MAX_SLOWDOWN * terms.predict_us(REFERENCE)
    minimum = np.full(len(calls) + 1, np.inf)
    for attempt in range(MAX_ATTEMPTS):
        if attempt:
            sleep(pause_seconds)
        *_, reference_us = measured = clock.latencies_us([*calls, reference])
        minimum = np.minimum(minimum, measured)
        if reference_us <= idle_us:
            break
    latencies: list[float] = minimum[:-1].tolist()
    return latencies


def untrained_model(
    architecture: Architecture,
    encoder: TableEncoder,
    target: Target,
    category_dimensions: Sequence[int] = (),
    knots: Sequence[Sequence[float]] = (),
    precision: Precision = Precision.FLOAT32,
) -> Model:
    """Return a model with random weights, which do not affect latency.

    `category_dimensions`, `knots` and `precision` are those of `Model`.
    """
    shapes = weight_shapes(
        make_network_spec(encoder, target, category_dimensions, knots), architecture
    )
    rng = stream(0, f"untrained/{architecture}")
    return Model(
        encoder=encoder,
        target=target,
        architecture=architecture,
        category_dimensions=tuple(category_dimensions),
        knots=tuple(map(tuple, knots)),
        precision=precision,
        weights={
            name: (rng.random(shape, np.float32) - np.float32(0.5)) / np.float32(shape[0] ** 0.5)
            for name, shape in shapes.items()
        },
    )
