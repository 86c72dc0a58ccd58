"""A machine measured: random networks and made-up tables, and the terms that explain them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

from tabnas.data import Table, TableEncoder, fit_target
from tabnas.latency._clock import Call, Clock, Tell, calm_us, spread_of
from tabnas.latency._columns import fit_column_terms
from tabnas.latency._cost import COST_NAMES
from tabnas.latency._deployed import untrained_model
from tabnas.latency._machine import Machine
from tabnas.latency._probes import network_call
from tabnas.latency._runtime import call_of
from tabnas.latency._table import CallTable, LatencyTable
from tabnas.latency._terms import Shape, fit_terms
from tabnas.model import Model
from tabnas.space import Architecture
from tabnas.streams import stream
from tabnas.types import FloatArray

FITTED, HELD_OUT = 60, 40
TABLES = 16  # to find the terms of columns on, and as many to measure their errors
SECONDS = 20.0

MOST_LAYERS, MOST_WIDTH, MOST_INPUTS = 4, 512, 320
NARROWEST = 4
OUTPUTS = (1, 2, 3, 5, 10, 26)
MOST_COLUMNS = {"number": 24, "truth": 4, "day": 3, "word": 12}
EXAMPLES = 200  # rows of a made-up table


@dataclass(frozen=True, eq=False)
class Probe:
    """Something to call: a bare network, or a file for a made-up table."""

    shape: Shape
    encoder: TableEncoder | None  # None: the bare network
    calls: Mapping[int, Call]  # by rows


def measure_machine(
    *, seconds: float = SECONDS, clock: Clock | None = None, tell: Tell = lambda done: None
) -> LatencyTable:
    """The table of this machine, in about that time and a few seconds more to prepare."""
    machine = Machine.here()
    networks = [random_network(number) for number in range(FITTED + HELD_OUT)]
    tables = [random_table(number) for number in range(2 * TABLES)]
    probes = [*networks, *tables]
    kinds = sorted(COST_NAMES.values())
    calls = [probe.calls[rows] for rows in kinds for probe in probes]
    clock = (clock or Clock()).lasting(seconds, len(calls))
    medians = np.hsplit(clock.medians_us(calls, tell), len(kinds))  # of each [rounds, probes]
    return LatencyTable(
        machine=machine,
        measured=datetime.now(UTC).date().isoformat(),
        tabnas=version("tabnas"),
        calls={
            rows: fit_call_table(rows, networks, tables, found)
            for rows, found in zip(kinds, medians, strict=True)
        },
    )


def fit_call_table(
    rows: int, networks: Sequence[Probe], tables: Sequence[Probe], medians_us: FloatArray
) -> CallTable:
    """Terms from the first networks and tables, their errors from the others.

    `medians_us` is what the clock found of them all: [rounds, networks and tables].
    """
    measured_us = np.array(calm_us(medians_us))
    shapes = [probe.shape for probe in networks]
    bare_us, file_us = measured_us[: len(shapes)], measured_us[len(shapes) :]
    terms = fit_terms(shapes[:FITTED], bare_us[:FITTED].tolist())
    errors = terms.errors(shapes[FITTED:], bare_us[FITTED:].tolist())
    encoders = [probe.encoder for probe in tables if probe.encoder is not None]
    inside_us = np.array([terms.predicted_us(probe.shape) for probe in tables])
    columns = fit_column_terms(encoders[::2], (file_us - inside_us)[::2], file_us[::2])
    predicted_us = inside_us + [columns.predicted_us(encoder) for encoder in encoders]
    return CallTable(
        rows=rows,
        terms=terms,
        columns=columns,
        fitted=FITTED,
        held_out=len(errors),
        median_error=float(np.median(errors)),
        p90_error=float(np.quantile(errors, 0.9)),
        tables=len(encoders[::2]),
        tables_median_error=float(np.median(np.abs(predicted_us / file_us - 1)[1::2])),
        spread=spread_of(medians_us),
    )


# -- what is measured ----------------------------------------------------------------------------


def random_network(number: int) -> Probe:
    """One of the random networks: up to four layers, widths alike in every octave."""
    rng = stream(number, "latency network")
    shape = Shape(
        inputs=_spread(rng, MOST_INPUTS),
        architecture=_random_architecture(rng, MOST_LAYERS),
        outputs=int(rng.choice(OUTPUTS)),
    )
    calls = {rows: network_call(shape, rows) for rows in sorted(COST_NAMES.values())}
    return Probe(shape, None, calls)


def random_table(number: int) -> Probe:
    """A file for a made-up table of numbers, truth values, days and words."""
    rng = stream(number, "latency table")
    names = [
        f"{kind} {column}"
        for kind, most in MOST_COLUMNS.items()
        for column in range(int(rng.integers(most + 1)) * int(rng.integers(2)))
    ]
    table = Table.of({name: _values(name, rng) for name in names or ["number 0", "word 0"]})
    encoder = TableEncoder.fit(table)
    labels = rng.choice([f"class {k}" for k in range(int(rng.integers(2, 6)))], size=EXAMPLES)
    target = fit_target("label", Table.of({"label": labels}).column("label"))
    dimensions = [min(8, categories) for categories in encoder.categories]
    model = untrained_model(_random_architecture(rng, 2), encoder, target, dimensions)
    return table_probe(model, table)


def table_probe(model: Model, table: Table) -> Probe:
    """The file of a model, fed with rows of a table."""
    from tabnas.export import onnx_bytes, onnx_inputs

    content = onnx_bytes(model)
    places = {rows: np.resize(np.arange(len(table)), rows) for rows in sorted(COST_NAMES.values())}
    calls = {
        rows: call_of(content, onnx_inputs(model, table.take(taken)))
        for rows, taken in places.items()
    }
    shape = Shape(model.task.inputs.width, model.architecture, model.task.outputs)
    return Probe(shape, model.encoder, calls)


def _random_architecture(rng: np.random.Generator, most_layers: int) -> Architecture:
    depth = int(rng.integers(most_layers + 1))
    return Architecture(tuple(_spread(rng, MOST_WIDTH) for _ in range(depth)))


def _spread(rng: np.random.Generator, most: int) -> int:
    return round(2 ** rng.uniform(np.log2(NARROWEST), np.log2(most)))


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
