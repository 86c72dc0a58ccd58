"""The base classes of costs: a number for every architecture (`T(y)` of the paper)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import pairwise
from math import ceil, frexp, inf
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from tabnas.errors import TabNASError
from tabnas.space._architecture import Architecture
from tabnas.space._precision import Precision
from tabnas.space._search_space import ABSENT, SearchSpace
from tabnas.types import FloatArray

Reduction = Literal["sum", "max"]
"""How the terms of a chain cost become one number."""
MAX_EXACT_SUM = 2.0**52
"""Upper bound on a chain cost, in units of its resolution."""


class Cost(ABC):
    """A resource that an architecture uses. Limits and results refer to it by its `name`."""

    name: str

    @abstractmethod
    def __call__(self, space: SearchSpace, architecture: Architecture) -> float:
        """Return the cost of `architecture`, which is finite and not negative."""

    def at_precision(self, precision: Precision) -> Cost:
        """Return this cost for networks whose weights are stored in another precision."""
        return self

    def __repr__(self) -> str:
        return f"<cost {self.name}>"


class ChainCost(Cost):
    """A sum or a maximum over layers, where each term depends on two neighbouring widths only.

    With such costs, inference over the feasible set is exact in spaces of any size. A subclass
    defines the cost of a hidden layer and of the output layer; `fixed` is the cost that all
    architectures share.

    By default the terms are added. With `reduction = "max"` the cost is the largest term, which
    suits a resource that layers use one after another, such as memory for activations. `fixed` is
    added to the sum or to the maximum.

    Terms that are not integers are rounded up to multiples of `resolution`. Sums are then exact in
    any order, and a limit equal to the cost of an architecture admits that architecture. Choose a
    unit of which a millionth does not matter, or set `resolution` to another power of two.
    """

    resolution: float = 2.0**-20
    reduction: ClassVar[Reduction] = "sum"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.reduction not in get_args(Reduction):
            raise TabNASError(
                f"the `reduction` of {cls.__name__} must be 'sum' or 'max', got {cls.reduction!r}"
            )

    @abstractmethod
    def layer(self, fan_in: int, width: int) -> float:
        """Return the cost of a hidden layer of `width` units on `fan_in` inputs."""

    @abstractmethod
    def head(self, fan_in: int, outputs: int) -> float:
        """Return the cost of the output layer on `fan_in` inputs."""

    def embed(self, columns: int, knots: int, dimension: int) -> float:
        """Return the cost of numeric embeddings (see `NumericEmbeddings`) of that dimension.

        The added inputs of the first layer are counted by `layer`.
        """
        return 0

    def fixed(self, space: SearchSpace) -> float:
        """Return the part of the cost that does not depend on the architecture."""
        return 0

    def __call__(self, space: SearchSpace, architecture: Architecture) -> float:
        terms = [self._input_term(space, architecture.dimension)]
        fan_in = space.input_width(architecture.dimension)
        for width in architecture:
            terms.append(self._round_up(self.layer(fan_in, width)))
            fan_in = width
        terms.append(self._round_up(self.head(fan_in, space.outputs)))
        reduced = sum(terms) if self.reduction == "sum" else max(terms)
        return self._round_up(self.fixed(space)) + reduced

    def combine(self, values: FloatArray, terms: FloatArray) -> FloatArray:
        """Return the sums or the maxima of values and further terms, by the `reduction`."""
        return values + terms if self.reduction == "sum" else np.maximum(values, terms)

    def tables(self, space: SearchSpace) -> list[FloatArray]:
        """Return the terms as tables, one per layer and one for the output layer.

        `tables[i][a, b]` is the term of choice b of layer i after choice a of layer i - 1. What
        stands before the first layer and the outputs count as layers with one choice. An absent
        layer ends the network, so its term is that of the output layer. A present layer after an
        absent one is not allowed, so its term is infinite. The fixed part is in the first table of
        a sum, and in every entry of a maximum.
        """
        dimensions = (0,) if space.numeric_embeddings is None else space.layers[0]
        layers = [tuple(map(space.input_width, dimensions)), *space.widths, (ABSENT,)]
        tables = [
            np.array([[self._term(space, a, b) for b in after] for a in before], dtype=np.float64)
            for before, after in pairwise(layers)
        ]
        if space.numeric_embeddings is not None:
            terms = [self._input_term(space, dimension) for dimension in dimensions]
            tables.insert(0, np.array([terms], dtype=np.float64))
        fixed = self._round_up(self.fixed(space))
        for table in tables[:1] if self.reduction == "sum" else tables:
            table += fixed
        self._check_exactness(tables)
        return tables

    def _check_exactness(self, tables: list[FloatArray]) -> None:
        finite = [table[np.isfinite(table)] for table in tables]
        maxima = [float(terms.max()) for terms in finite]
        largest = sum(maxima) if self.reduction == "sum" else max(maxima)
        unit = self.resolution if any((terms % 1).any() for terms in finite) else 1.0
        if frexp(unit)[0] != 0.5:
            raise TabNASError(
                f"the resolution of the cost {self.name!r} must be a power of two, got {unit}"
            )
        if largest > MAX_EXACT_SUM * unit:
            raise TabNASError(
                f"the cost {self.name!r} goes up to {largest:.3g}, which is too large for exact "
                f"sums in steps of {unit:.3g}; measure it in a larger unit"
            )

    def _term(self, space: SearchSpace, fan_in: int, width: int) -> float:
        if fan_in == ABSENT:
            return 0 if width == ABSENT else np.inf
        return self._round_up(
            self.head(fan_in, space.outputs) if width == ABSENT else self.layer(fan_in, width)
        )

    def _input_term(self, space: SearchSpace, dimension: int) -> float:
        embeddings = space.numeric_embeddings
        if dimension == 0 or embeddings is None:
            return 0
        return self._round_up(self.embed(embeddings.columns, embeddings.knots, dimension))

    def _round_up(self, term: float) -> float:
        if not 0 <= term < inf:  # also rejects NaN
            raise TabNASError(
                f"the terms of the cost {self.name!r} must be finite and at least 0, got {term}"
            )
        if isinstance(term, int | np.integer):
            return int(term)
        return ceil(term / self.resolution) * self.resolution


class CallableCost(Cost):
    """A cost computed by a function of the architecture.

    >>> widest = CallableCost(lambda architecture: max(architecture.widths), name="widest")
    >>> widest(SearchSpace([[8, 16]], inputs=2, outputs=1), Architecture((16,)))
    16
    """

    def __init__(self, function: Callable[[Architecture], float], *, name: str | None = None):
        self.function = function
        self.name = name or str(getattr(function, "__name__", type(function).__name__))

    def __call__(self, space: SearchSpace, architecture: Architecture) -> float:
        return self.function(architecture)
