"""What counts as a bottleneck."""

from __future__ import annotations

from tabnas.space import Architecture


def narrowing(architecture: Architecture, inputs: int) -> float:
    """How much wider a network is before and after its tightest bottleneck than in it.

    For a hidden layer that is the width of the widest layer before it, the input included, or of
    the widest hidden layer after it, whichever is less, over its own. More than 1 means that the
    layer is a bottleneck, as in the paper's examples: 32-144-24 on 1,027 inputs has one at 32, and
    48-160-32-144 on 180 inputs at 48 and at 32. The last layer never is one: outputs are no layer.

    >>> narrowing(Architecture.parse("32-144-24"), inputs=1027)
    4.5
    >>> narrowing(Architecture.parse("144-32-24"), inputs=1027)
    0.75
    """
    widths = (inputs, *architecture)
    inner = range(1, len(widths) - 1)
    ratios = [min(max(widths[:k]), max(widths[k + 1 :])) / widths[k] for k in inner]
    return max(ratios, default=0.0)


def has_bottleneck(architecture: Architecture, inputs: int) -> bool:
    """Whether a hidden layer is narrower than what is before and after it."""
    return narrowing(architecture, inputs) > 1
