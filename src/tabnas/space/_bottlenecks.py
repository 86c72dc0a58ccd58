"""What is a bottleneck of an architecture."""

from __future__ import annotations

from tabnas.space._architecture import Architecture

BOTTLENECK = (
    "a hidden layer narrower than one before it, the input included, and than a hidden layer "
    "after it"
)
"""What a bottleneck is, for texts that speak of one."""


def bottlenecks(architecture: Architecture, inputs: int) -> tuple[int, ...]:
    """Return the numbers, from 1, of the hidden layers that are bottlenecks.

    A bottleneck is narrower than a layer before it, the input included, and than a hidden layer
    after it. The last hidden layer never is one: outputs are no layer. The paper's examples:

    >>> bottlenecks(Architecture.parse("32-144-24"), inputs=1027)
    (1,)
    >>> bottlenecks(Architecture.parse("48-160-32-144"), inputs=180)
    (1, 3)
    >>> bottlenecks(Architecture.parse("144-32-24"), inputs=1027)
    ()
    """
    ratios = _narrowings(architecture, inputs)
    return tuple(layer for layer, ratio in enumerate(ratios, start=1) if ratio > 1)


def narrowing(architecture: Architecture, inputs: int) -> float:
    """Return how many times wider a network is on both sides of its tightest bottleneck than in it.

    Without a bottleneck it is at most 1.

    >>> narrowing(Architecture.parse("32-144-24"), inputs=1027)
    4.5
    >>> narrowing(Architecture.parse("144-32-24"), inputs=1027)
    0.75
    """
    return max(_narrowings(architecture, inputs), default=0.0)


def _narrowings(architecture: Architecture, inputs: int) -> list[float]:
    """Return for each hidden layer but the last how much wider the network is on both sides of it.

    On a side the widest layer counts, and of the two sides the one where that is narrower.
    """
    widths = (inputs, *architecture)
    inner = range(1, len(widths) - 1)
    return [min(max(widths[:k]), max(widths[k + 1 :])) / widths[k] for k in inner]
