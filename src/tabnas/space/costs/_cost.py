"""What a cost is: a number for every architecture (`T(y)` of the paper)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import pairwise
from math import ceil, frexp, inf
from typing import ClassVar

import numpy as np

from tabnas.errors import TabnasError
from tabnas.space._architecture import Architecture
from tabnas.space._search_space import ABSENT, SearchSpace
from tabnas.types import FloatArray

LARGEST = 2.0**52
"""The most that the terms of a chain cost may add up to, in units of its resolution."""


class Cost(ABC):
    """A resource that an architecture uses. `name` is what limits and results call it."""

    name: str

    @abstractmethod
    def __call__(self, space: SearchSpace, architecture: Architecture) -> float:
        """What `architecture` costs: finite and not negative."""

    def __repr__(self) -> str:
        return f"<cost {self.name}>"


class ChainCost(Cost):
    """A cost that adds up along the network, each term knowing only two neighbouring widths.

    Such costs make the feasible set exactly tractable in spaces of any size. A subclass says what a
    hidden layer and the output layer cost; `fixed` is what every architecture costs besides.

    Terms that are no integers are rounded up to multiples of `resolution`, so that sums are exact
    in whatever order they are taken, and a limit set to the cost of an architecture admits it.
    Measure in a unit of which a millionth does not matter, or set another power of two.
    """

    resolution: ClassVar[float] = 2.0**-20

    @abstractmethod
    def layer(self, fan_in: int, width: int) -> float:
        """A hidden layer of `width` units on `fan_in` inputs."""

    @abstractmethod
    def head(self, fan_in: int, outputs: int) -> float:
        """The output layer on `fan_in` inputs."""

    def fixed(self, space: SearchSpace) -> float:
        """What does not depend on the architecture."""
        return 0

    def __call__(self, space: SearchSpace, architecture: Architecture) -> float:
        terms = [self._exact(self.fixed(space))]
        fan_in = space.inputs
        for width in architecture:
            terms.append(self._exact(self.layer(fan_in, width)))
            fan_in = width
        terms.append(self._exact(self.head(fan_in, space.outputs)))
        return sum(terms)

    def tables(self, space: SearchSpace) -> list[FloatArray]:
        """The terms of the sum as `depth + 1` tables, the last one for the output layer.

        `tables[i][a, b]` is what choice b of layer i adds after choice a of layer i - 1; the inputs
        and the outputs count as layers with one choice. An absent layer ends the network: its term
        is the output layer. A present layer after an absent one is forbidden: infinite.
        """
        layers = [(space.inputs,), *space.candidates, (ABSENT,)]
        tables = [
            np.array([[self._term(space, a, b) for b in after] for a in before], dtype=np.float64)
            for before, after in pairwise(layers)
        ]
        tables[0] += self._exact(self.fixed(space))
        self._refuse_inexact(tables)
        return tables

    def _refuse_inexact(self, tables: list[FloatArray]) -> None:
        finite = [table[np.isfinite(table)] for table in tables]
        largest = sum(float(terms.max()) for terms in finite)
        unit = self.resolution if any((terms % 1).any() for terms in finite) else 1.0
        if frexp(unit)[0] != 0.5:
            raise TabnasError(
                f"the resolution of the cost {self.name!r} must be a power of two, however it is "
                f"{unit}"
            )
        if largest > LARGEST * unit:
            raise TabnasError(
                f"the cost {self.name!r} goes up to {largest:.3g}, too large to be added exactly "
                f"in steps of {unit:.3g}; measure it in another unit"
            )

    def _term(self, space: SearchSpace, fan_in: int, width: int) -> float:
        if fan_in == ABSENT:
            return 0 if width == ABSENT else np.inf
        return self._exact(
            self.head(fan_in, space.outputs) if width == ABSENT else self.layer(fan_in, width)
        )

    def _exact(self, term: float) -> float:
        if not 0 <= term < inf:  # false for NaN, too
            raise TabnasError(
                f"the terms of the cost {self.name!r} must be finite and at least 0, "
                f"however one is {term}"
            )
        if isinstance(term, int | np.integer):
            return int(term)
        return ceil(term / self.resolution) * self.resolution


class CallableCost(Cost):
    """A user's own function of the architecture, about which nothing else is known.

    >>> widest = CallableCost(lambda architecture: max(architecture.widths), name="widest")
    >>> widest(SearchSpace([[8, 16]], inputs=2, outputs=1), Architecture((16,)))
    16
    """

    def __init__(self, function: Callable[[Architecture], float], *, name: str | None = None):
        self.function = function
        self.name = name or str(getattr(function, "__name__", type(function).__name__))

    def __call__(self, space: SearchSpace, architecture: Architecture) -> float:
        return self.function(architecture)
