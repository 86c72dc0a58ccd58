"""Inputs and widths of the networks of other libraries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from peers._split import Split

FLOAT_BYTES = 4
MIN_WIDTH = 4  # of the hidden layers that inputs leave space for


@dataclass(frozen=True, eq=False)
class Rows:
    """Scaled numbers without missing values, and the numbers of categories."""

    numeric: np.ndarray
    codes: np.ndarray
    categories: tuple[int, ...]  # of each column


@lru_cache(maxsize=4)
def pool_categories(
    split: Split, max_categories: int | None, min_categories: int = 1
) -> tuple[Rows, Rows, Rows]:
    """Return the rows of training, validation and test, with frequent categories only.

    Every column keeps the same number of its most frequent categories, as many as let all columns
    together have `max_categories`, and at least `min_categories`; None keeps all.
    """
    data = split.data
    encoder = data.encoder
    parts = [rows.encoded for rows in (data.train, data.validation, data.test)]
    codes = [part.categorical.copy() for part in parts]
    categories = tuple(encoder.n_categories)
    if max_categories is not None and sum(categories) > max_categories:
        low, high = min_categories, max(min_categories, *categories)
        while low < high:
            middle = (low + high + 1) // 2
            total = sum(encoder.with_max_categories(middle).n_categories)
            low, high = (middle, high) if total <= max_categories else (low, middle - 1)
        for part in codes:
            encoder.recode(part, low)
        categories = tuple(encoder.with_max_categories(low).n_categories)
    return tuple(
        Rows(part.numeric, coded, categories) for part, coded in zip(parts, codes, strict=True)
    )


def encode_one_hot(split: Split, limit: int | None) -> list[np.ndarray]:
    """Return inputs of training, validation and test rows, with categories one-hot.

    Rare categories are pooled so that a layer of four units fits the limit. If not even the most
    frequent categories do, the numbers of the categories are the inputs.
    """
    if limit is None:
        return [_one_hot(rows) for rows in pool_categories(split, None)]
    numbers = split.data.train_in_memory.encoded.numeric.shape[1]
    rows = pool_categories(split, max(0, limit // (FLOAT_BYTES * MIN_WIDTH) - numbers))
    if widest(numbers + sum(rows[0].categories), 1, split.outputs, limit) < MIN_WIDTH:
        return [_ordinal(each) for each in pool_categories(split, None)]
    return [_one_hot(each) for each in rows]


def _one_hot(rows: Rows) -> np.ndarray:
    hot = [
        np.eye(count, dtype=np.float32)[rows.codes[:, k]] for k, count in enumerate(rows.categories)
    ]
    return np.concatenate([rows.numeric, *hot], axis=1, dtype=np.float32)


def _ordinal(rows: Rows) -> np.ndarray:
    shares = rows.codes / np.maximum(rows.categories, 1)
    return np.concatenate([rows.numeric, shares], axis=1, dtype=np.float32)


def widest(inputs: int, layers: int, outputs: int, limit: int) -> int:
    """Return the largest width of equal float32 layers within the limit; 0 if there is none."""
    width = 0
    while FLOAT_BYTES * _parameters(inputs, layers, width + 1, outputs) <= limit:
        width += 1
    return width


def _parameters(inputs: int, layers: int, width: int, outputs: int) -> int:
    return (inputs + 1) * width + (layers - 1) * (width + 1) * width + (width + 1) * outputs
