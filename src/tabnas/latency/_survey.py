"""Measure a machine: time random networks and tables, and fit the terms that predict them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from tabnas.data import FractionCallback, Table, TableEncoder, fit_target
from tabnas.latency._clock import Call, Clock, idle_latencies_us, relative_spread
from tabnas.latency._columns import fit_column_terms
from tabnas.latency._embeddings import fit_embedding_terms
from tabnas.latency._machine import DEFAULT_RUNTIME, Machine
from tabnas.latency._measure import untrained_model
from tabnas.latency._table import CallTable, LatencyTable
from tabnas.latency._terms import NetworkShape, fit_terms
from tabnas.latency.runtimes import Runtime, SurveySize
from tabnas.model import Model
from tabnas.space import LATENCY_ROWS, Architecture, Precision
from tabnas.streams import stream
from tabnas.types import FloatArray

SECONDS = 20.0
BUILDING = 0.3
"""The fraction of the progress that is reported while calls are made ready."""

MAX_LAYERS, MAX_INPUTS = 4, 320
MIN_WIDTH = 4
OUTPUTS = (1, 2, 3, 5, 10, 26)
MAX_COLUMNS = {"number": 24, "truth": 4, "day": 3, "word": 12}
MAX_EMBEDDED, MAX_KNOTS, MAX_DIMENSION = 64, 64, 16  # columns, knots of each, dimension
EXAMPLES = 200  # rows of a random table


@dataclass(frozen=True, eq=False)
class Probe:
    """A random network without preprocessing, or a model for a random table."""

    shape: NetworkShape
    model: Model | None = None  # None: without preprocessing
    table: Table | None = None  # of the model

    def make_call(self, runtime: Runtime, rows: int, precision: Precision) -> Call:
        """Return a call in a runtime."""
        if self.model is None or self.table is None:
            return runtime.network_call(self.shape, rows, precision)
        return runtime.model_call(replace(self.model, precision=precision), self.table, rows)


@dataclass(frozen=True, eq=False)
class Probes:
    """Everything that is measured to know a machine."""

    networks: Sequence[Probe]
    tables: Sequence[Probe]
    embedded: Sequence[Probe]  # networks with numeric embeddings

    @classmethod
    def random(cls, size: SurveySize) -> Probes:
        """Return the random probes of a survey; they are the same on every machine."""
        return cls(
            [random_network(k, size.max_width) for k in range(size.fitted + size.held_out)],
            [random_table(k, size.max_width) for k in range(2 * size.tables)],
            [random_embedded_network(k, size.max_width) for k in range(2 * size.embedded)],
        )

    @property
    def all(self) -> list[Probe]:
        """The probes of all kinds, in this order."""
        return [*self.networks, *self.tables, *self.embedded]


def measure_machine(
    runtime: Runtime = DEFAULT_RUNTIME,
    *,
    seconds: float = SECONDS,
    clock: Clock | None = None,
    on_progress: FractionCallback = lambda fraction: None,
) -> LatencyTable:
    """Measure this machine, for about `seconds`.

    The calls are made ready before, which takes longer in C, since they are compiled.
    """
    machine = Machine.here(runtime)
    probes = Probes.random(runtime.survey)
    row_counts = sorted(LATENCY_ROWS.values())
    measured_rows = row_counts[:1] if runtime.loops_over_rows else row_counts
    kinds = [(rows, precision) for rows in measured_rows for precision in runtime.precisions]
    makers = [
        partial(probe.make_call, runtime, rows, precision)
        for rows, precision in kinds
        for probe in probes.all
    ]
    calls = _make_all(makers, runtime.build_threads, lambda done: on_progress(BUILDING * done))
    clock = (clock or Clock()).with_duration(seconds, len(calls))
    medians = np.hsplit(
        clock.medians_us(calls, lambda done: on_progress(BUILDING + (1 - BUILDING) * done)),
        len(kinds),
    )  # each [rounds, probes]
    medians_us = dict(zip(kinds, medians, strict=True))
    for rows in row_counts[len(measured_rows) :]:
        for precision in runtime.precisions:
            medians_us[rows, precision] = rows * medians_us[row_counts[0], precision]
    return LatencyTable(
        machine=machine,
        measured=datetime.now(UTC).date().isoformat(),
        tabnas=version("tabnas"),
        calls=tuple(
            fit_call_table(runtime, rows, precision, probes, of_probes)
            for (rows, precision), of_probes in medians_us.items()
        ),
    )


def _make_all(
    makers: Sequence[Callable[[], Call]], threads: int, on_progress: FractionCallback
) -> list[Call]:
    """Make all calls, some at the same time if there are several threads."""
    calls = []
    with ThreadPoolExecutor(threads) as pool:
        for number, call in enumerate(pool.map(lambda make: make(), makers), start=1):
            calls.append(call)
            on_progress(number / len(makers))
    return calls


def fit_call_table(
    runtime: Runtime, rows: int, precision: Precision, probes: Probes, medians_us: FloatArray
) -> CallTable:
    """Fit terms to some networks and tables, and measure their errors on the others.

    `medians_us` is the result of the clock: [rounds, probes].
    """
    measured_us = np.array(idle_latencies_us(medians_us))
    networks, tables, embedded = probes.networks, probes.tables, probes.embedded
    fitted = runtime.survey.fitted
    shapes = [probe.shape for probe in networks]
    network_us, file_us, embedded_us = np.split(
        measured_us, [len(networks), len(networks) + len(tables)]
    )
    terms = fit_terms(
        shapes[:fitted], network_us[:fitted].tolist(), has_single_units=runtime.has_single_units
    )
    errors = terms.errors(shapes[fitted:], network_us[fitted:].tolist())
    encoders = [probe.model.encoder for probe in tables if probe.model is not None]
    predicted_network_us = np.array([terms.predict_us(probe.shape) for probe in tables])
    columns_us = file_us - predicted_network_us
    columns = fit_column_terms(*map(_to_fit, (encoders, columns_us, file_us)))
    predicted_us = predicted_network_us + [columns.predict_us(encoder) for encoder in encoders]
    embedded_shapes = [probe.shape for probe in embedded]
    layers_us = np.array([terms.predict_us(shape) for shape in embedded_shapes])
    embeddings = fit_embedding_terms(
        *map(_to_fit, (embedded_shapes, embedded_us - layers_us, embedded_us))
    )
    embedding_us = [
        embeddings.predict_us(shape.columns, shape.knots, shape.architecture.dimension)
        for shape in embedded_shapes
    ]
    table_errors = _held_out(np.abs(predicted_us / file_us - 1))
    embedded_errors = _held_out(np.abs((layers_us + embedding_us) / embedded_us - 1))
    return CallTable(
        rows=rows,
        precision=precision,
        terms=terms,
        columns=columns,
        embeddings=embeddings,
        fitted=fitted,
        held_out=len(errors),
        median_error=float(np.median(errors)),
        p90_error=float(np.quantile(errors, 0.9)),
        tables=len(_to_fit(encoders)),
        tables_median_error=float(np.median(table_errors)),
        embedded=len(_to_fit(embedded_shapes)),
        embedded_median_error=float(np.median(embedded_errors)),
        embedded_p90_error=float(np.quantile(embedded_errors, 0.9)),
        spread=relative_spread(medians_us),
    )


def _to_fit(values: Any) -> Any:
    """Return the values of the tables, or networks with embeddings, that terms are fitted to."""
    return values[::2]


def _held_out(values: Any) -> Any:
    """Return the values of the others, on which errors are measured."""
    return values[1::2]


# -- probes --------------------------------------------------------------------------------------


def random_network(number: int, max_width: int) -> Probe:
    """Return a random network: up to four layers, widths uniform on a logarithmic scale."""
    rng = stream(number, "latency network")
    shape = NetworkShape(
        inputs=_log_uniform(rng, MAX_INPUTS),
        architecture=_random_architecture(rng, MAX_LAYERS, max_width),
        outputs=int(rng.choice(OUTPUTS)),
    )
    return Probe(shape)


def random_embedded_network(number: int, max_width: int) -> Probe:
    """Return a random network with numeric embeddings of all columns, or of some."""
    rng = stream(number, "latency embeddings")
    columns, knots, dimension = (
        _log_uniform(rng, maximum, minimum)
        for maximum, minimum in ((MAX_EMBEDDED, 1), (MAX_KNOTS, 2), (MAX_DIMENSION, 1))
    )
    shape = NetworkShape(
        inputs=columns + int(rng.integers(2)) * _log_uniform(rng, MAX_EMBEDDED, 1),
        architecture=Architecture(_random_architecture(rng, 2, max_width).widths, dimension),
        outputs=int(rng.choice(OUTPUTS)),
        columns=columns,
        knots=columns * knots,
    )
    return Probe(shape)


def random_table(number: int, max_width: int) -> Probe:
    """Return a model for a random table of numbers, truth values, days and words."""
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
    dimensions = [min(8, categories) for categories in encoder.n_categories]
    architecture = _random_architecture(rng, 2, max_width)
    model = untrained_model(architecture, encoder, target, dimensions)
    shape = NetworkShape(model.spec.inputs.width, architecture, model.spec.outputs)
    return Probe(shape, model, table)


def _random_architecture(rng: np.random.Generator, max_layers: int, max_width: int) -> Architecture:
    depth = int(rng.integers(max_layers + 1))
    return Architecture(tuple(_log_uniform(rng, max_width) for _ in range(depth)))


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
