"""Bottlenecks of an architecture: layers narrower than what is before and after them."""

from __future__ import annotations

from tabnas.space._architecture import Architecture

BOTTLENECK_DEFINITION = (
    "a hidden layer narrower than one before it, the input included, and than a hidden layer "
    "after it"
)
"""The definition of a bottleneck, for reports."""


def find_bottlenecks(architecture: Architecture, inputs: int) -> tuple[int, ...]:
    """Return the numbers, from 1, of the hidden layers that are bottlenecks.

    A bottleneck is narrower than a layer before it, the input included, and than a hidden layer
    after it. The last hidden layer is never a bottleneck, since the outputs are not a layer.
    `inputs` is the width of the input, `space.input_width(architecture.dimension)`. The paper's
    examples:

    >>> find_bottlenecks(Architecture.parse("32-144-24"), inputs=1027)
    (1,)
    >>> find_bottlenecks(Architecture.parse("48-160-32-144"), inputs=180)
    (1, 3)
    >>> find_bottlenecks(Architecture.parse("144-32-24"), inputs=1027)
    ()
    """
    ratios = _bottleneck_ratios(architecture, inputs)
    return tuple(layer for layer, ratio in enumerate(ratios, start=1) if ratio > 1)


def bottleneck_ratio(architecture: Architecture, inputs: int) -> float:
    """Return how many times wider a network is on both sides of its tightest bottleneck than in it.

    Without a bottleneck the ratio is at most 1.

    >>> bottleneck_ratio(Architecture.parse("32-144-24"), inputs=1027)
    4.5
    >>> bottleneck_ratio(Architecture.parse("144-32-24"), inputs=1027)
    0.75
    """
    return max(_bottleneck_ratios(architecture, inputs), default=0.0)


def _bottleneck_ratios(architecture: Architecture, inputs: int) -> list[float]:
    """Return for each hidden layer but the last how much wider the network is on both sides of it.

    Each side is represented by its widest layer; the narrower of the two sides sets the ratio.
    """
    widths = (inputs, *architecture)
    inner = range(1, len(widths) - 1)
    return [min(max(widths[:k]), max(widths[k + 1 :])) / widths[k] for k in inner]
