"""Latency as a cost: a sum along the chain of layers, so the feasible set stays exact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tabnas.errors import TabNASError
from tabnas.latency._embeddings import EmbeddingTerms
from tabnas.latency._terms import LatencyTerms
from tabnas.latency.runtimes import DEFAULT_RESOLUTION
from tabnas.space import LATENCY_ROWS, ChainCost, Precision, SearchSpace


@dataclass(frozen=True, repr=False)
class LatencyCost(ChainCost):
    """The microseconds that a call takes, as predicted by measured terms.

    >>> from tabnas.space import Architecture
    >>> terms = LatencyTerms(call_us=9, layer_us=2, unit_us=0, output_us=0, weight_us=0.001)
    >>> space = SearchSpace([[0, 8]], inputs=100, outputs=1)
    >>> LatencyCost("latency_us", terms)(space, Architecture((8,)))
    11.875
    """

    name: str
    terms: LatencyTerms
    overhead_us: float | None = None
    """What a call takes beyond its layers, including preprocessing; None: `terms.call_us`."""
    embedding_terms: EmbeddingTerms | None = None
    """They predict what numeric embeddings take; None if the space has none."""
    embedding_us: Mapping[int, float] = field(default_factory=dict, hash=False)
    """What numeric embeddings of a table take, by dimension; goes before `embedding_terms`."""
    resolution: float = DEFAULT_RESOLUTION
    """Terms are rounded up to multiples of it."""
    by_precision: Mapping[Precision, LatencyCost] = field(default_factory=dict, hash=False)
    """The cost of each precision, this one included; empty if all take as long."""

    def __post_init__(self) -> None:
        if self.name not in LATENCY_ROWS:
            raise TabNASError(f"name must be {' or '.join(LATENCY_ROWS)}, got {self.name!r}")

    @property
    def rows(self) -> int:
        """The number of rows of a call."""
        return LATENCY_ROWS[self.name]

    def at_precision(self, precision: Precision) -> LatencyCost:
        if not self.by_precision:
            return self
        if precision not in self.by_precision:
            raise TabNASError(
                f"the latency of networks must be measured as {precision} to limit it, but it is "
                f"known as {' and '.join(self.by_precision)}; choose one of these precisions"
            )
        return replace(self.by_precision[precision], by_precision=self.by_precision)

    def layer(self, fan_in: int, width: int) -> float:
        return self.terms.layer(fan_in, width)

    def head(self, fan_in: int, outputs: int) -> float:
        return self.terms.head(fan_in, outputs)

    def embed(self, columns: int, knots: int, dimension: int) -> float:
        if dimension in self.embedding_us:
            return self.embedding_us[dimension]
        if self.embedding_terms is None:
            raise TabNASError(
                f"the cost {self.name!r} must have the latency of numeric embeddings of dimension "
                f"{dimension} in `embedding_us`, or `embedding_terms` to predict it"
            )
        return self.embedding_terms.predict_us(columns, knots, dimension)

    def fixed(self, space: SearchSpace) -> float:
        return self.terms.call_us if self.overhead_us is None else self.overhead_us


def join_precisions(costs: Mapping[Precision, LatencyCost]) -> LatencyCost:
    """Return the cost of float32 that knows the costs of the other precisions, if there are any."""
    if len(costs) == 1:
        return costs[Precision.FLOAT32]
    return replace(costs[Precision.FLOAT32], by_precision=costs)
