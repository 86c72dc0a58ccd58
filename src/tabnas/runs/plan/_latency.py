"""The latency limits of a run: costs that predict latency, and how to measure models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np

from tabnas.data import Table
from tabnas.decoding import DecodeError, to_builtins
from tabnas.errors import TabNASError
from tabnas.latency import (
    CallTable,
    LatencyCost,
    LatencyTerms,
    Machine,
    Measure,
    Microseconds,
    NetworkShape,
    load_or_measure_table,
    load_table,
    measure_machine,
    measure_models,
    untrained_model,
)
from tabnas.model import Model
from tabnas.runs.prepare._prepared_data import PreparedData
from tabnas.settings import RunSettings
from tabnas.space import MEASURED_COSTS, Architecture

REFERENCE_NETWORKS = tuple(Architecture(widths) for widths in ((), (32,), (32, 32), (64, 16)))
"""Networks that are measured with the columns of the table, to find the overhead of the columns."""
REPEATS = 3
"""Measurements of the overhead; the least counts, since other work on a machine only adds time."""


@dataclass(frozen=True, kw_only=True)
class SavedCost(LatencyTerms):
    """The measured terms of a latency cost, with the overhead of this table's columns."""

    overhead_us: Microseconds


@dataclass(frozen=True, kw_only=True)
class SavedLatency:
    """What `config.toml` holds of measured latencies, so that a resumed run measures nothing."""

    machine: str
    measured: str
    latency_us: SavedCost | None = None
    batch_latency_us: SavedCost | None = None

    def cost(self, name: str) -> LatencyCost:
        """Return one of the costs."""
        saved: SavedCost | None = getattr(self, name)
        if saved is None:
            raise DecodeError(f"the plan of the run: latency.{name} is missing; start a new run")
        terms = {k: v for k, v in vars(saved).items() if k != "overhead_us"}
        return LatencyCost(name, LatencyTerms(**terms), saved.overhead_us)


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
    def saved_latency(self) -> dict[str, Any]:
        """All that was measured, fit for TOML: a `SavedLatency`."""
        costs = {
            name: to_builtins(cost.terms) | {"overhead_us": cost.overhead_us}
            for name, cost in self.costs.items()
        }
        return {"machine": self.machine, "measured": self.measured_date} | costs

    def remeasure(self, data: PreparedData) -> LatencyPlan:
        """Return the plan with overheads measured again, if they can be; the least counts."""
        if not self.is_local:
            return self
        costs = {
            name: replace(
                cost,
                overhead_us=min(
                    cost.overhead_us or 0.0,
                    _measure_overhead(cost.terms, cost.rows, data, self.measure),
                ),
            )
            for name, cost in self.costs.items()
        }
        return replace(self, costs=costs)

    def measure_us(self, models: Sequence[Model]) -> list[dict[str, float]]:
        """Return the latencies of each model's file, by the name of the cost."""
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
    measure: Measure = measure_models,
    on_fraction: Callable[[float], None] = lambda done: None,
) -> LatencyPlan | None:
    """Return the plan for the latency limits of the settings, or None if there are none.

    If the run is resumed, the costs are those of `saved`, and nothing is measured.
    `on_fraction` receives how much of the measuring of this machine is done, if it was not measured
    before.
    """
    names = [name for name in settings.limits if name in MEASURED_COSTS]
    if not names:
        return None
    if resume:
        if saved is None:
            raise DecodeError("the plan of the run: latency is missing; start a new run")
        return LatencyPlan(
            costs={name: saved.cost(name) for name in names},
            machine=saved.machine,
            measured_date=saved.measured,
            is_local=_is_this_machine(saved.machine),
            sample=data.latency_rows,
            measure=measure,
        )
    if settings.latency_table is None:
        table = load_or_measure_table(lambda: measure_machine(on_progress=on_fraction))
    else:
        table = load_table(settings.latency_table)
    is_local = _is_this_machine(str(table.machine))
    overheads = {
        name: _measure_overhead(call.terms, call.rows, data, measure)
        if is_local
        else _predict_overhead(call, data)
        for name in names
        for call in (table.calls[MEASURED_COSTS[name]],)
    }
    return LatencyPlan(
        costs={name: table.cost(name, overhead_us) for name, overhead_us in overheads.items()},
        machine=str(table.machine),
        measured_date=table.measured,
        is_local=is_local,
        sample=data.latency_rows,
        measure=measure,
    )


def _is_this_machine(machine: str) -> bool:
    try:
        return machine == str(Machine.here())
    except TabNASError:  # without the runtime nothing can be measured
        return False


def _measure_overhead(
    terms: LatencyTerms, rows: int, data: PreparedData, measure: Measure
) -> float:
    """Measure what a call takes beyond the layers: the call itself and the table's columns."""
    assert data.latency_rows is not None
    models = [
        untrained_model(network, data.encoder, data.target, data.dimensions)
        for network in REFERENCE_NETWORKS
    ]
    measured = [measure(models, data.latency_rows, rows, terms) for _ in range(REPEATS)]
    calls_us: list[float] = np.min(measured, axis=0).tolist()
    layers_us = [
        terms.predict_us(NetworkShape(data.task.inputs.width, network, data.task.outputs))
        - terms.call_us
        for network in REFERENCE_NETWORKS
    ]
    overheads = [call - layers for call, layers in zip(calls_us, layers_us, strict=True)]
    return max(0.0, median(overheads))


def _predict_overhead(call: CallTable, data: PreparedData) -> float:
    """Predict the same for another machine, from the kinds of the columns."""
    return call.terms.call_us + call.columns.predict_us(data.encoder)
