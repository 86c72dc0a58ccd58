"""What a cost is: a number for every architecture (`T(y)` of the paper)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import pairwise
from math import fsum

import numpy as np

from tabnas.errors import TabnasError
from tabnas.space._architecture import Architecture
from tabnas.space._search_space import ABSENT, SearchSpace
from tabnas.types import FloatArray


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
    """

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
        terms = [self.fixed(space)]
        fan_in = space.inputs
        for width in architecture:
            terms.append(self.layer(fan_in, width))
            fan_in = width
        terms.append(self.head(fan_in, space.outputs))
        # Integers stay integers. Other sums are rounded once, so that their order cannot matter.
        return sum(terms) if all(isinstance(term, int) for term in terms) else fsum(terms)

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
        tables[0] += self.fixed(space)
        if not all((table >= 0).all() for table in tables):  # false for NaN, too
            raise TabnasError(f"the cost {self.name!r} must have no negative or NaN term")
        return tables

    def _term(self, space: SearchSpace, fan_in: int, width: int) -> float:
        if fan_in == ABSENT:
            return 0 if width == ABSENT else np.inf
        return self.head(fan_in, space.outputs) if width == ABSENT else self.layer(fan_in, width)


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
