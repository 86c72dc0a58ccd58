"""The size of categorical embeddings: categories and dimensions that a limit allows."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt

from tabnas.data import TableEncoder
from tabnas.space import Budget

MAX_SHARE = 0.5
"""The share of a limit on parameters that embedding tables may take, and that the encoded row may
take of a limit on RAM: then the first layer can be as wide as its input."""
DIMENSIONS = (8, 4, 2, 1)
ACTIVATION_BYTES = 4
MIN_CATEGORIES = 64
"""Before a column keeps fewer categories, its embedding gets fewer dimensions."""


def fit_embeddings(encoder: TableEncoder, budget: Budget) -> tuple[TableEncoder, tuple[int, ...]]:
    """Return the encoder with vocabularies that fit the budget, and the embedding dimensions.

    A column of c categories gets sqrt(c) dimensions, rounded up, at most 8. If the tables then take
    more than half of a limit on parameters or bytes, all columns keep only their most frequent
    categories, as many as fit; before that would be fewer than 64, dimensions are
    capped at 4, then 2, then 1. They are also capped if the encoded row would take more than half
    of a limit on RAM.
    """
    limited, _, dimensions = choose_embeddings(encoder, budget)
    return limited, dimensions


def choose_embeddings(
    encoder: TableEncoder, budget: Budget
) -> tuple[TableEncoder, int, tuple[int, ...]]:
    """Return the encoder, the most categories that a column keeps, and the dimensions."""
    allowed = MAX_SHARE * _count_allowed_parameters(budget)
    max_inputs = MAX_SHARE * budget.get_upper("ram_bytes") / ACTIVATION_BYTES
    max_categories = max(encoder.n_categories, default=0)
    caps = [cap for cap in DIMENSIONS if _input_width(encoder, cap) <= max_inputs]
    for cap in caps or DIMENSIONS[-1:]:
        vocabulary = _largest_vocabulary(encoder, cap, allowed)
        if vocabulary >= min(MIN_CATEGORIES, max_categories):
            break
    if vocabulary < max_categories:
        max_categories = max(1, vocabulary)
        encoder = encoder.with_max_categories(max_categories)
    return encoder, max_categories, _dimensions(encoder.n_categories, cap)


def _count_allowed_parameters(budget: Budget) -> float:
    """Return how many weights the limits allow in their precision; infinite if there are none."""
    by_bytes = budget.get_upper("bytes") / budget.precision.weight_bytes
    return min(budget.get_upper("parameters"), by_bytes)


def _input_width(encoder: TableEncoder, cap: int) -> int:
    return len(encoder.features) + sum(_dimensions(encoder.n_categories, cap))


def _dimensions(categories: Sequence[int], cap: int) -> tuple[int, ...]:
    return tuple(min(cap, ceil(sqrt(count))) for count in categories)


def _largest_vocabulary(encoder: TableEncoder, cap: int, allowed: float) -> int:
    """Return the most categories a column may keep so that all embeddings fit; 0 if none do."""

    def parameters(max_categories: int) -> int:
        # unknown and missing values have two codes in addition to the vocabulary
        categories = [min(count, max_categories + 2) for count in encoder.n_categories]
        return sum(c * d for c, d in zip(categories, _dimensions(categories, cap), strict=True))

    low, high = 0, max(encoder.n_categories, default=0)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if parameters(middle) <= allowed else (low, middle - 1)
    return low
