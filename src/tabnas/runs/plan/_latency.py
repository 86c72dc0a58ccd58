"""The latency limits of a run: costs that predict latency, and how to measure models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import mean, median
from typing import Any

import numpy as np

from tabnas.data import Table
from tabnas.data.columns import HashedColumn
from tabnas.decoding import DecodeError
from tabnas.errors import TabNASError
from tabnas.latency import (
    RUNTIMES,
    CallTable,
    LatencyCost,
    LatencyTable,
    LatencyTerms,
    Machine,
    Measure,
    NetworkShape,
    Runtime,
    join_precisions,
    load_or_measure_table,
    load_table,
    measure_machine,
    measure_models,
    untrained_model,
)
from tabnas.model import Model
from tabnas.runs.plan._saved_latency import SavedLatency, save_costs
from tabnas.runs.prepare._prepared_data import PreparedData
from tabnas.settings import RunSettings
from tabnas.space import LATENCY_ROWS, Architecture, Precision

REFERENCE_NETWORKS = tuple(Architecture(widths) for widths in ((), (32,), (32, 32), (64, 16)))
"""Networks that are measured with the columns of the table, to find the overhead of the columns."""
EMBEDDED_NETWORKS = REFERENCE_NETWORKS[1:3]
"""Those that are also measured with numeric embeddings of each dimension."""
REPEATS = 3
"""Measurements of each network; the minimum is used, since other work on a machine only adds
time."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LatencyPlan:
    """The latency costs of a run, and how to measure its models."""

    costs: Mapping[str, LatencyCost]  # by name, overhead included
    machine: str  # that the terms were measured on
    measured_date: str  # the day
    is_local: bool  # whether that is this machine, so that models can be measured
    sample: Table | None  # unencoded rows to measure with
    measure: Measure

    @property
    def depends_on_precision(self) -> bool:
        """Whether the precision of the weights affects latency."""
        return any(cost.by_precision for cost in self.costs.values())

    def name_candidate(self, architecture: Architecture, precision: Precision) -> str:
        """Return what a measurement of a candidate is recorded under."""
        return f"{architecture}, {precision}" if self.depends_on_precision else str(architecture)

    @property
    def saved_latency(self) -> dict[str, Any]:
        """All that was measured, fit for TOML: a `SavedLatency`."""
        return {"machine": self.machine, "measured": self.measured_date} | save_costs(self.costs)

    def remeasure(self, data: PreparedData) -> LatencyPlan:
        """Return the plan with the overhead measured again, if it can be; the minimum is used."""
        if not self.is_local:
            return self
        costs = {}
        for name, cost in self.costs.items():
            again = {}
            for precision, known in (cost.by_precision or {Precision.FLOAT32: cost}).items():
                overhead_us, embedding_us = _measure_overhead(
                    known.terms,
                    cost,
                    precision,
                    data,
                    tuple(known.embedding_us),
                    self.measure,
                )
                again[precision] = replace(
                    known,
                    overhead_us=min(known.overhead_us or 0.0, overhead_us),
                    embedding_us={
                        d: min(us, embedding_us[d]) for d, us in known.embedding_us.items()
                    },
                )
            costs[name] = join_precisions(again)
        return replace(self, costs=costs)

    def measure_us(self, models: Sequence[Model]) -> list[dict[str, float]]:
        """Return the latencies of each model as exported, by the name of the cost."""
        if not models:  # measuring would wait for a busy machine
            return []
        assert self.sample is not None
        measured = {
            name: self.measure(models, self.sample, cost.rows, cost.terms)
            for name, cost in self.costs.items()
        }
        return [{name: us[k] for name, us in measured.items()} for k in range(len(models))]


def plan_latency(
    data: PreparedData,
    settings: RunSettings,
    saved: SavedLatency | None,
    *,
    resume: bool,
    measure: Measure | None = None,
    on_fraction: Callable[[float], None] = lambda done: None,
) -> LatencyPlan | None:
    """Return the plan for the latency limits of the settings, or None if there are none.

    If the run is resumed, the costs are those of `saved`, and nothing is measured. By default,
    `measure` is `measure_models` in the runtime of the settings.
    `on_fraction` receives how much of the measuring of this machine is done, if it was not measured
    before.
    """
    names = [name for name in settings.limits if name in LATENCY_ROWS]
    if not names:
        return None
    runtime = RUNTIMES[settings.runtime]
    if runtime is RUNTIMES["onnxruntime"]:
        _refuse_hashed_columns(data)
    measure = measure or partial(measure_models, runtime=runtime)
    precisions = runtime.precisions_to_measure(settings.precisions)
    embeddings = data.spec.inputs.numeric_embeddings(settings.candidate_numeric_dimensions)
    dimensions = () if embeddings is None else tuple(filter(None, embeddings.dimensions))
    if resume:
        if saved is None:
            raise DecodeError("the plan of the run: latency is missing; start a new run")
        return LatencyPlan(
            costs={name: saved.cost(name, runtime, precisions, dimensions) for name in names},
            machine=saved.machine,
            measured_date=saved.measured,
            is_local=_is_this_machine(saved.machine, runtime),
            sample=data.latency_rows,
            measure=measure,
        )
    latency_table = _load_latency_table(settings, runtime, on_fraction)
    is_local = _is_this_machine(str(latency_table.machine), runtime)
    costs = {}
    for name in names:
        reference = latency_table.cost(name)
        of_precisions = {}
        for precision in precisions:
            call = latency_table.find_call(LATENCY_ROWS[name], precision)
            overhead_us, embedding_us = (
                _measure_overhead(call.terms, reference, precision, data, dimensions, measure)
                if is_local
                else _predict_overhead(call, data, dimensions)
            )
            of_precisions[precision] = LatencyCost(
                name,
                call.terms,
                overhead_us,
                embedding_us=embedding_us,
                resolution=reference.resolution,
            )
        costs[name] = join_precisions(of_precisions)
    return LatencyPlan(
        costs=costs,
        machine=str(latency_table.machine),
        measured_date=latency_table.measured,
        is_local=is_local,
        sample=data.latency_rows,
        measure=measure,
    )


def _refuse_hashed_columns(data: PreparedData) -> None:
    hashed = [c.name for c in data.encoder.columns if isinstance(c, HashedColumn)]
    if hashed:
        raise TabNASError(
            f"the column {hashed[0]!r} is hashed, which ONNX files do not support, so its "
            "latency in onnxruntime cannot be limited; limit that of C with --runtime c (in "
            "Python: runtime='c'), or make the column categorical"
        )


def _load_latency_table(
    settings: RunSettings, runtime: Runtime, on_fraction: Callable[[float], None]
) -> LatencyTable:
    if settings.latency_table is None:
        return load_or_measure_table(
            lambda: measure_machine(runtime, on_progress=on_fraction), runtime
        )
    table = load_table(settings.latency_table)
    if table.machine.runtime != runtime.name:
        raise TabNASError(
            f"the latency table must be of the runtime {runtime.name}, but "
            f"{settings.latency_table!r} is of {table.machine.runtime}; set runtime to that, or "
            f"measure again with tabnas latency --runtime {runtime.name}"
        )
    return table


def _is_this_machine(machine: str, runtime: Runtime) -> bool:
    try:
        return machine == str(Machine.here(runtime))
    except TabNASError:  # without the runtime nothing can be measured
        return False


def _measure_overhead(
    terms: LatencyTerms,
    reference: LatencyCost,
    precision: Precision,
    data: PreparedData,
    dimensions: Sequence[int],
    measure: Measure,
) -> tuple[float, dict[int, float]]:
    """Measure what a call takes beyond the layers, and what numeric embeddings add to that.

    The first is the time of the call itself and of the table's columns; the second is by dimension.
    `terms` are those of the precision, `reference` is the cost of float32.
    """
    assert data.latency_rows is not None
    embedded = [
        Architecture(network.widths, dimension)
        for dimension in dimensions
        for network in EMBEDDED_NETWORKS
    ]
    networks = [*REFERENCE_NETWORKS, *embedded]
    models = [make_untrained_model(network, data, precision) for network in networks]
    measured = [
        measure(models, data.latency_rows, reference.rows, reference.terms) for _ in range(REPEATS)
    ]
    calls_us: list[float] = np.min(measured, axis=0).tolist()
    beyond_layers_us = {
        network: call_us - (terms.predict_us(_shape(network, data)) - terms.call_us)
        for network, call_us in zip(networks, calls_us, strict=True)
    }
    embedding_us = {
        dimension: mean(
            beyond_layers_us[Architecture(network.widths, dimension)] - beyond_layers_us[network]
            for network in EMBEDDED_NETWORKS
        )
        for dimension in dimensions
    }
    overhead_us = median(beyond_layers_us[network] for network in REFERENCE_NETWORKS)
    return max(0.0, overhead_us), {d: max(0.0, us) for d, us in embedding_us.items()}


def _predict_overhead(
    call: CallTable, data: PreparedData, dimensions: Sequence[int]
) -> tuple[float, dict[int, float]]:
    """Predict the same for another machine, from the kinds of the columns and their knots."""
    inputs = data.spec.inputs
    columns = len(inputs.embedded_numeric)
    # an ONNX file has as many knots for each column as the column with most of them; C has fewer
    knots = columns * max(map(len, inputs.knots), default=0)
    return (
        call.terms.call_us + call.columns.predict_us(data.encoder),
        {d: call.embeddings.predict_us(columns, knots, d) for d in dimensions},
    )


def make_untrained_model(
    architecture: Architecture, data: PreparedData, precision: Precision = Precision.FLOAT32
) -> Model:
    """Return a model of the run with random weights, which do not affect latency."""
    knots = data.spec.inputs.knots
    return untrained_model(
        architecture, data.encoder, data.target, data.category_dimensions, knots, precision
    )


def _shape(architecture: Architecture, data: PreparedData) -> NetworkShape:
    inputs = data.spec.inputs
    return NetworkShape(
        inputs.width, architecture, data.spec.outputs, columns=len(inputs.embedded_numeric)
    )
