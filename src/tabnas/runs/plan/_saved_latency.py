"""Save the latency costs of a run in its plan, and load them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from tabnas.decoding import DecodeError, to_builtins
from tabnas.latency import LatencyCost, LatencyTerms, Microseconds, Runtime, join_precisions
from tabnas.space import LATENCY_ROWS, Precision


@dataclass(frozen=True, kw_only=True)
class SavedTerms(LatencyTerms):
    """The measured terms of a latency cost, with the overhead of this table's columns."""

    overhead_us: Microseconds
    embedding_us: Mapping[int, Microseconds]  # of numeric embeddings, by dimension

    def cost(self, name: str, resolution: float) -> LatencyCost:
        """Return the cost."""
        terms = {field.name: getattr(self, field.name) for field in fields(LatencyTerms)}
        return LatencyCost(
            name,
            LatencyTerms(**terms),
            self.overhead_us,
            embedding_us=self.embedding_us,
            resolution=resolution,
        )


@dataclass(frozen=True, kw_only=True)
class SavedCost(SavedTerms):
    """The terms of networks of float32, and of other precisions if they take another time."""

    by_precision: Mapping[Precision, SavedTerms] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class SavedLatency:
    """What `config.toml` holds of measured latencies, so that a resumed run measures nothing."""

    machine: str
    measured: str
    latency_us: SavedCost | None = None
    batch_latency_us: SavedCost | None = None

    def cost(
        self,
        name: str,
        runtime: Runtime,
        precisions: Sequence[Precision],
        dimensions: Sequence[int],
    ) -> LatencyCost:
        """Return one of the costs, for these precisions and dimensions of numeric embeddings."""
        saved: SavedCost | None = getattr(self, name)
        if saved is None:
            raise _make_missing_error(name)
        costs = {}
        for precision in precisions:
            is_float32 = precision == Precision.FLOAT32
            terms = saved if is_float32 else saved.by_precision.get(precision)
            where = name if is_float32 else f"{name}.by_precision.{precision}"
            if terms is None:
                raise _make_missing_error(where)
            for dimension in dimensions:
                if dimension not in terms.embedding_us:
                    raise _make_missing_error(f"{where}.embedding_us.{dimension}")
            costs[precision] = terms.cost(name, runtime.resolution(LATENCY_ROWS[name]))
        return join_precisions(costs)


def _make_missing_error(where: str) -> DecodeError:
    return DecodeError(f"the plan of the run: latency.{where} is missing; start a new run")


def save_costs(costs: Mapping[str, LatencyCost]) -> dict[str, Any]:
    """Return the terms of every cost, in all precisions, fit for TOML."""
    saved = {}
    for name, cost in costs.items():
        saved[name] = _save_terms(cost)
        others = {p: c for p, c in cost.by_precision.items() if p != Precision.FLOAT32}
        if others:
            saved[name]["by_precision"] = {str(p): _save_terms(c) for p, c in others.items()}
    return saved


def _save_terms(cost: LatencyCost) -> dict[str, Any]:
    terms = {name: value for name, value in to_builtins(cost.terms).items() if value is not None}
    return terms | {
        "overhead_us": cost.overhead_us,
        "embedding_us": {str(d): us for d, us in cost.embedding_us.items()},
    }
