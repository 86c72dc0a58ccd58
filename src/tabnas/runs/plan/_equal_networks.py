"""Candidates that need no search: networks of equally wide layers that use up the limits."""

from __future__ import annotations

from collections.abc import Collection

from tabnas.feasible import FeasibleSet
from tabnas.space import Architecture, find_widest_equal, scale_limits

EQUAL_LAYERS = 2
EQUAL_DIMENSIONS = (0, 2, 4)
"""Dimensions of numeric embeddings with which networks of equal layers are tried."""


def list_equal_networks(
    feasible: FeasibleSet, limit_share: float, dimensions: Collection[int] | None = None
) -> list[Architecture]:
    """Return the widest networks of equal layers, one for each dimension with which one fits.

    One-shot losses cannot tell which dimension is best, and networks of equal layers are about as
    good as those of the search (results/equal_bytes.md). If the limits allow the widest network of
    the space, there is none: nothing says that it should be that wide.

    Parameters
    ----------
    limit_share
        The share of the limits that they may use; less than 1 if time is short.
    dimensions
        The dimensions of numeric embeddings to try; by default `EQUAL_DIMENSIONS`, or the smallest
        if the space has none of them.
    """
    space = feasible.space
    if space.depth < EQUAL_LAYERS:
        return []
    budget = scale_limits(feasible.budget, space, limit_share)
    max_width = min(layer[-1] for layer in space.widths[:EQUAL_LAYERS])
    available = (0,) if space.numeric_embeddings is None else space.numeric_embeddings.dimensions
    if dimensions is None:
        dimensions = set(EQUAL_DIMENSIONS).intersection(available) or available[:1]
    networks = [
        find_widest_equal(space, budget, layers=EQUAL_LAYERS, dimension=dimension)
        for dimension in available
        if dimension in dimensions
    ]
    return [one for one in networks if one is not None and one.widths[0] < max_width]
