"""How many categories, and how many numbers for each, a limit leaves room for."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf, sqrt

from tabnas.data import TableEncoder
from tabnas.space import Budget

SHARE = 0.5
"""The most of a limit on parameters that embedding tables may take; the rest is the network's."""
DIMENSIONS = (8, 4, 2, 1)
ENOUGH = 64
"""Categories that a column should keep before its embedding is made narrower instead."""


def fit_embeddings(
    encoder: TableEncoder, budget: Budget, *, share: float = SHARE
) -> tuple[TableEncoder, tuple[int, ...]]:
    """The encoder with vocabularies that the budget bears, and the dimension of each embedding.

    A column of c categories gets sqrt(c) dimensions, rounded up, at most 8. If the tables then take
    more than half of a limit on parameters or bytes, all columns keep only their most frequent
    categories, as many as fit; before that would be fewer than 64, dimensions are
    capped at 4, then 2, then 1.
    """
    limited, _, dimensions = embeddings_within(encoder, budget, share=share)
    return limited, dimensions


def embeddings_within(
    encoder: TableEncoder, budget: Budget, *, share: float = SHARE
) -> tuple[TableEncoder, int, tuple[int, ...]]:
    """The same, and the most categories that a column keeps."""
    allowed = share * _parameters_allowed(budget)
    most = max(encoder.categories, default=1)
    for cap in DIMENSIONS:
        kept = _largest_vocabulary(encoder, cap, allowed)
        if kept >= min(ENOUGH, most):
            break
    if kept < most:
        most = max(1, kept)
        encoder = encoder.limited(most)
    return encoder, most, _dimensions(encoder.categories, cap)


def _parameters_allowed(budget: Budget) -> float:
    """The tightest limit on trained numbers; infinite if there is none."""
    numbers_in_one = {"parameters": 1, "bytes": 4}
    return min(
        (
            limit.upper / numbers_in_one[limit.cost.name]
            for limit in budget.limits
            if limit.cost.name in numbers_in_one
        ),
        default=inf,
    )


def _dimensions(categories: Sequence[int], cap: int) -> tuple[int, ...]:
    return tuple(min(cap, ceil(sqrt(count))) for count in categories)


def _largest_vocabulary(encoder: TableEncoder, cap: int, allowed: float) -> int:
    """The most categories a column may keep, so that all embeddings fit; 0 if none does."""

    def parameters(most: int) -> int:
        # other and missing have codes of their own, beside the vocabulary
        kept = [min(count, most + 2) for count in encoder.categories]
        return sum(c * d for c, d in zip(kept, _dimensions(kept, cap), strict=True))

    low, high = 0, max(encoder.categories, default=0)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if parameters(middle) <= allowed else (low, middle - 1)
    return low
