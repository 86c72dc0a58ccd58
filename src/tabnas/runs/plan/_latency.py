"""What a run knows of latency: terms that are resolved once, and files that can be measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from math import inf
from statistics import median
from typing import Any

import numpy as np

from tabnas.data import Table
from tabnas.errors import TabNASError
from tabnas.latency import (
    COST_NAMES,
    CallTable,
    LatencyCost,
    LatencyTerms,
    Machine,
    Measure,
    NetworkShape,
    load_or_measure_table,
    load_table,
    measure_machine,
    measure_models,
    untrained_model,
)
from tabnas.model import Model
from tabnas.runs._settings import RunSettings
from tabnas.runs.prepare._prepared_data import Parts
from tabnas.space import Architecture

REFERENCES = tuple(Architecture(widths) for widths in ((), (32,), (32, 32), (64, 16)))
"""Networks that are measured within the table's own file, to find what is not network in it."""
LOOKS = 3
"""Measurements of them, of which the least count: other work on a machine only ever adds time."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LatencyPlan:
    """The costs of a run's latency limits, and the means to measure its models."""

    costs: Mapping[str, LatencyCost]  # by name, overhead included
    machine: str  # that the terms are of, in words
    measured: str  # the day
    here: bool  # whether that is this machine, so that models can be measured
    sample: Table | None  # rows as they are in the table
    measure: Measure

    @property
    def resolved(self) -> dict[str, Any]:
        """All that was measured, fit for TOML."""
        terms = {
            name: asdict(cost.terms) | {"overhead_us": cost.overhead_us}
            for name, cost in self.costs.items()
        }
        return {"machine": self.machine, "measured": self.measured} | terms

    def measured_again(self, parts: Parts) -> LatencyPlan:
        """The plan with overheads measured once more, where that is possible; the least count."""
        if not self.here:
            return self
        costs = {
            name: replace(
                cost,
                overhead_us=min(
                    cost.overhead_us or 0.0,
                    _overhead_measured(cost.terms, cost.rows, parts, self.measure),
                ),
            )
            for name, cost in self.costs.items()
        }
        return replace(self, costs=costs)

    def measured_us(self, models: Sequence[Model]) -> list[dict[str, float]]:
        """What a call of each model's file takes here, by the name of the cost."""
        if not models:  # a machine that is busy would be waited for
            return []
        assert self.sample is not None
        found = {
            name: self.measure(models, self.sample, cost.rows, cost.terms)
            for name, cost in self.costs.items()
        }
        return [{name: us[k] for name, us in found.items()} for k in range(len(models))]


def plan_latency(
    parts: Parts,
    settings: RunSettings,
    resolved: Mapping[str, Any] | None = None,
    *,
    measure: Measure = measure_models,
    tell: Callable[[float], None] = lambda done: None,
) -> LatencyPlan | None:
    """The plan for the latency limits of the settings, if there are any.

    `resolved` is `Plan.resolved` of an earlier process: then nothing is measured. `tell` is told
    how far the measuring of this machine is, where it has not been measured before.
    """
    names = [name for name in settings.limits if name in COST_NAMES]
    if not names:
        return None
    if resolved is not None:
        return _recalled(resolved.get("latency"), names, parts.sample, measure)
    if settings.latency_table is None:
        table = load_or_measure_table(lambda: measure_machine(on_progress=tell))
    else:
        table = load_table(settings.latency_table)
    here = _is_here(str(table.machine))
    overheads = {
        name: _overhead_measured(call.terms, call.rows, parts, measure)
        if here
        else _overhead_by_columns(call, parts)
        for name in names
        for call in (table.calls[COST_NAMES[name]],)
    }
    return LatencyPlan(
        costs={name: table.cost(name, overhead_us) for name, overhead_us in overheads.items()},
        machine=str(table.machine),
        measured=table.measured,
        here=here,
        sample=parts.sample,
        measure=measure,
    )


def _is_here(machine: str) -> bool:
    try:
        return machine == str(Machine.here())
    except TabNASError:  # without the runtime nothing can be measured
        return False


def _overhead_measured(terms: LatencyTerms, rows: int, parts: Parts, measure: Measure) -> float:
    """What the file takes besides the network's layers: the call, and the columns of this table."""
    assert parts.sample is not None
    models = [
        untrained_model(one, parts.encoder, parts.target, parts.dimensions) for one in REFERENCES
    ]
    looks = [measure(models, parts.sample, rows, terms) for _ in range(LOOKS)]
    whole_us: list[float] = np.min(looks, axis=0).tolist()
    layers_us = [terms.predict_us(_shape(parts, one)) - terms.call_us for one in REFERENCES]
    rests = [us - inside for us, inside in zip(whole_us, layers_us, strict=True)]
    return max(0.0, median(rests))


def _overhead_by_columns(call: CallTable, parts: Parts) -> float:
    """The same on another machine, by the kinds of the columns alone."""
    return call.terms.call_us + call.columns.predict_us(parts.encoder)


def _shape(parts: Parts, architecture: Architecture) -> NetworkShape:
    return NetworkShape(parts.task.inputs.width, architecture, parts.task.outputs)


def _recalled(
    said: Any, names: Sequence[str], sample: Table | None, measure: Measure
) -> LatencyPlan:
    """From config.toml, which may be anybody's."""
    given = said if isinstance(said, Mapping) else {}
    words = [given.get("machine"), given.get("measured")]
    if set(given) != {"machine", "measured", *names} or not all(isinstance(w, str) for w in words):
        raise TabNASError("the latencies of the run's plan are malformed; begin a new run")
    return LatencyPlan(
        costs={name: _recalled_cost(name, given[name]) for name in names},
        machine=given["machine"],
        measured=given["measured"],
        here=_is_here(given["machine"]),
        sample=sample,
        measure=measure,
    )


def _recalled_cost(name: str, said: Any) -> LatencyCost:
    known = {*(each.name for each in fields(LatencyTerms)), "overhead_us"}
    numbers = dict(said) if isinstance(said, Mapping) else {}
    for value in numbers.values():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 <= value < inf:
            raise TabNASError(f"the planned {name} must be numbers of at least 0; begin a new run")
    if set(numbers) != known:
        raise TabNASError(f"the planned {name} must have the terms of a latency; begin a new run")
    overhead_us = float(numbers.pop("overhead_us"))
    return LatencyCost(name, LatencyTerms(**{n: float(v) for n, v in numbers.items()}), overhead_us)
