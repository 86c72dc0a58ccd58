"""Measure a machine: time random networks and tables, and fit the terms that predict them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

from tabnas.data import FractionCallback, Table, TableEncoder, fit_target
from tabnas.latency._clock import Clock, idle_latencies_us, relative_spread
from tabnas.latency._columns import fit_column_terms
from tabnas.latency._embeddings import fit_embedding_terms
from tabnas.latency._machine import Machine
from tabnas.latency._measure import untrained_model
from tabnas.latency._onnx_calls import Call, network_call, onnx_call
from tabnas.latency._table import CallTable, LatencyTable
from tabnas.latency._terms import NetworkShape, fit_terms
from tabnas.model import Model
from tabnas.space import LATENCY_COSTS, Architecture
from tabnas.streams import stream
from tabnas.types import FloatArray

FITTED, HELD_OUT = 60, 40
TABLES = 16  # to fit the terms of columns on, and as many to measure their errors
EMBEDDED = 32  # networks to fit the terms of embeddings on, and as many to measure their errors
SECONDS = 20.0

MAX_LAYERS, MAX_WIDTH, MAX_INPUTS = 4, 512, 320
MIN_WIDTH = 4
OUTPUTS = (1, 2, 3, 5, 10, 26)
MAX_COLUMNS = {"number": 24, "truth": 4, "day": 3, "word": 12}
MAX_EMBEDDED, MAX_KNOTS, MAX_DIMENSION = 64, 48, 16  # columns, knots of each, dimension
EXAMPLES = 200  # rows of a random table


@dataclass(frozen=True, eq=False)
class Probe:
    """A network without preprocessing, or the file of a model for a random table."""

    shape: NetworkShape
    encoder: TableEncoder | None  # None: without preprocessing
    calls: Mapping[int, Call]  # by rows


def measure_machine(
    *,
    seconds: float = SECONDS,
    clock: Clock | None = None,
    on_progress: FractionCallback = lambda fraction: None,
) -> LatencyTable:
    """Measure this machine; it takes about `seconds`, and a few more to prepare."""
    machine = Machine.here()
    networks = [random_network(number) for number in range(FITTED + HELD_OUT)]
    tables = [random_table(number) for number in range(2 * TABLES)]
    embedded = [random_embedded_network(number) for number in range(2 * EMBEDDED)]
    probes = [*networks, *tables, *embedded]
    row_counts = sorted(LATENCY_COSTS.values())
    calls = [probe.calls[rows] for rows in row_counts for probe in probes]
    clock = (clock or Clock()).with_duration(seconds, len(calls))
    medians = np.hsplit(
        clock.medians_us(calls, on_progress), len(row_counts)
    )  # each [rounds, probes]
    return LatencyTable(
        machine=machine,
        measured=datetime.now(UTC).date().isoformat(),
        tabnas=version("tabnas"),
        calls={
            rows: fit_call_table(rows, networks, tables, embedded, medians_us)
            for rows, medians_us in zip(row_counts, medians, strict=True)
        },
    )


def fit_call_table(
    rows: int,
    networks: Sequence[Probe],
    tables: Sequence[Probe],
    embedded: Sequence[Probe],
    medians_us: FloatArray,
) -> CallTable:
    """Fit terms to some networks and tables, and measure their errors on the others.

    `medians_us` is the result of the clock: [rounds, networks, tables and embedded networks].
    """
    measured_us = np.array(idle_latencies_us(medians_us))
    shapes = [probe.shape for probe in networks]
    network_us, file_us, embedded_us = np.split(
        measured_us, [len(networks), len(networks) + len(tables)]
    )
    terms = fit_terms(shapes[:FITTED], network_us[:FITTED].tolist())
    errors = terms.errors(shapes[FITTED:], network_us[FITTED:].tolist())
    encoders = [probe.encoder for probe in tables if probe.encoder is not None]
    predicted_network_us = np.array([terms.predict_us(probe.shape) for probe in tables])
    columns = fit_column_terms(encoders[::2], (file_us - predicted_network_us)[::2], file_us[::2])
    predicted_us = predicted_network_us + [columns.predict_us(encoder) for encoder in encoders]
    embedded_shapes = [probe.shape for probe in embedded]
    layers_us = np.array([terms.predict_us(shape) for shape in embedded_shapes])
    embeddings = fit_embedding_terms(
        embedded_shapes[::2], (embedded_us - layers_us)[::2], embedded_us[::2]
    )
    embedding_us = [
        embeddings.predict_us(shape.columns, shape.knots, shape.architecture.dimension)
        for shape in embedded_shapes
    ]
    embedded_errors = np.abs((layers_us + embedding_us) / embedded_us - 1)[1::2]
    return CallTable(
        rows=rows,
        terms=terms,
        columns=columns,
        embeddings=embeddings,
        fitted=FITTED,
        held_out=len(errors),
        median_error=float(np.median(errors)),
        p90_error=float(np.quantile(errors, 0.9)),
        tables=len(encoders[::2]),
        tables_median_error=float(np.median(np.abs(predicted_us / file_us - 1)[1::2])),
        embedded=len(embedded_shapes[::2]),
        embedded_median_error=float(np.median(embedded_errors)),
        embedded_p90_error=float(np.quantile(embedded_errors, 0.9)),
        spread=relative_spread(medians_us),
    )


# -- probes --------------------------------------------------------------------------------------


def random_network(number: int) -> Probe:
    """Return a random network: up to four layers, widths uniform on a logarithmic scale."""
    rng = stream(number, "latency network")
    shape = NetworkShape(
        inputs=_log_uniform(rng, MAX_INPUTS),
        architecture=_random_architecture(rng, MAX_LAYERS),
        outputs=int(rng.choice(OUTPUTS)),
    )
    calls = {rows: network_call(shape, rows) for rows in sorted(LATENCY_COSTS.values())}
    return Probe(shape, None, calls)


def random_embedded_network(number: int) -> Probe:
    """Return a random network with numeric embeddings of all columns, or of some."""
    rng = stream(number, "latency embeddings")
    columns, knots, dimension = (
        _log_uniform(rng, maximum, minimum)
        for maximum, minimum in ((MAX_EMBEDDED, 1), (MAX_KNOTS, 2), (MAX_DIMENSION, 1))
    )
    shape = NetworkShape(
        inputs=columns + int(rng.integers(2)) * _log_uniform(rng, MAX_EMBEDDED, 1),
        architecture=Architecture(_random_architecture(rng, 2).widths, dimension),
        outputs=int(rng.choice(OUTPUTS)),
        columns=columns,
        knots=columns * knots,
    )
    calls = {rows: network_call(shape, rows) for rows in sorted(LATENCY_COSTS.values())}
    return Probe(shape, None, calls)


def random_table(number: int) -> Probe:
    """Return the file of a model for a random table of numbers, truth values, days and words."""
    rng = stream(number, "latency table")
    names = [
        f"{kind} {column}"
        for kind, maximum in MAX_COLUMNS.items()
        for column in range(int(rng.integers(maximum + 1)) * int(rng.integers(2)))
    ]
    table = Table.from_data({name: _values(name, rng) for name in names or ["number 0", "word 0"]})
    encoder = TableEncoder.fit(table)
    labels = rng.choice([f"class {k}" for k in range(int(rng.integers(2, 6)))], size=EXAMPLES)
    target = fit_target("label", Table.from_data({"label": labels}).column("label"))
    dimensions = [min(8, categories) for categories in encoder.categories]
    model = untrained_model(_random_architecture(rng, 2), encoder, target, dimensions)
    return table_probe(model, table)


def table_probe(model: Model, table: Table) -> Probe:
    """Return the file of a model, with calls on rows of a table."""
    from tabnas.export import onnx_bytes, onnx_inputs

    content = onnx_bytes(model)
    indices = {
        rows: np.resize(np.arange(len(table)), rows) for rows in sorted(LATENCY_COSTS.values())
    }
    calls = {
        rows: onnx_call(content, onnx_inputs(model, table.take(taken)))
        for rows, taken in indices.items()
    }
    shape = NetworkShape(model.spec.inputs.width, model.architecture, model.spec.outputs)
    return Probe(shape, model.encoder, calls)


def _random_architecture(rng: np.random.Generator, max_layers: int) -> Architecture:
    depth = int(rng.integers(max_layers + 1))
    return Architecture(tuple(_log_uniform(rng, MAX_WIDTH) for _ in range(depth)))


def _log_uniform(rng: np.random.Generator, maximum: int, minimum: int = MIN_WIDTH) -> int:
    return round(2 ** rng.uniform(np.log2(minimum), np.log2(maximum)))


def _values(name: str, rng: np.random.Generator) -> Any:
    if name.startswith("number"):
        values = rng.normal(size=EXAMPLES)
        return np.where(rng.random(EXAMPLES) < 0.05 * rng.integers(2), np.nan, values)
    if name.startswith("truth"):
        return rng.random(EXAMPLES) < 0.5
    if name.startswith("day"):
        days = rng.integers(0, 1_000, size=EXAMPLES).astype("timedelta64[D]")
        return np.datetime64("2024-01-01") + days
    words = [f"word{k}" for k in range(int(rng.integers(2, 60)))]
    return rng.choice(words, size=EXAMPLES)
