"""The widest networks of a shape within the limits, with widths that need not be candidates."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat

from tabnas.space._architecture import Architecture
from tabnas.space._budget import Budget
from tabnas.space._search_space import SearchSpace

MIN_WIDTH = 2
"""Layer normalization makes a single unit constant."""


def widen_to_limits(architecture: Architecture, space: SearchSpace, budget: Budget) -> Architecture:
    """Return a network of the same shape, with layers as wide as the limits allow.

    All layers are widened by the same factor, each at most to its widest candidate. The network
    itself is returned if it cannot be widened.

    >>> space = SearchSpace([(0, 16, 32, 64)] * 2, inputs=10, outputs=1)
    >>> widen_to_limits(Architecture((32, 16)), space, Budget(dense_parameters=1_200))
    Architecture('38-19')
    """
    if not architecture.widths:
        return architecture
    widest = max(architecture.widths)
    shapes = (
        tuple(round(width * size / widest) for width in architecture.widths)
        for size in range(max(_max_widths(space)), widest, -1)
    )
    clipped = (tuple(map(min, shape, _max_widths(space))) for shape in shapes)
    return _first_feasible(clipped, architecture.dimension, space, budget) or architecture


def find_widest_equal(
    space: SearchSpace, budget: Budget, *, layers: int, dimension: int = 0
) -> Architecture | None:
    """Return the widest network of equally wide layers within the limits; None if none fits.

    >>> space = SearchSpace([(0, 16, 32, 64)] * 2, inputs=10, outputs=1)
    >>> find_widest_equal(space, Budget(dense_parameters=1_200), layers=2)
    Architecture('28-28')
    """
    max_width = min(_max_widths(space)[:layers])
    equal = (tuple(repeat(width, layers)) for width in range(max_width, MIN_WIDTH - 1, -1))
    return _first_feasible(equal, dimension, space, budget)


def _max_widths(space: SearchSpace) -> tuple[int, ...]:
    return tuple(layer[-1] for layer in space.widths)


def _first_feasible(
    shapes: Iterable[tuple[int, ...]], dimension: int, space: SearchSpace, budget: Budget
) -> Architecture | None:
    """Return the first network that keeps the limits, of widths from wide to narrow.

    Not by bisection: costs may fall with the width, since 8 units take less time than 7 in C.
    """
    networks = (Architecture(widths, dimension) for widths in shapes)
    return next((network for network in networks if budget.admits(space, network)), None)
