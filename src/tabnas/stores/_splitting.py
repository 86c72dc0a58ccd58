"""Which part a row belongs to, by its number alone: no other row and no chunk has a say."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tabnas.data import Shares
from tabnas.streams import stream

PartName = Literal["train", "validation", "test"]
"""What rows of a store are for."""
PARTS: tuple[PartName, ...] = get_args(PartName)
TRAIN, VALIDATION, TEST = range(3)

MOST_HELD = 250_000
"""About the most rows for validation and for test: whoever uses them has them in memory."""


def effective_shares(
    shares: Shares, rows: float, *, own_validation: bool, own_test: bool
) -> tuple[float, float]:
    """The shares of validation and test, lowered where of about so many rows they would be huge.

    A part that a user brings takes none of the table.

    >>> effective_shares(Shares(), 1e3, own_validation=False, own_test=False)
    (0.2, 0.2)
    >>> effective_shares(Shares(), 1e7, own_validation=False, own_test=True)
    (0.025, 0.0)
    """
    most = MOST_HELD / max(rows, 1.0)
    return (
        0.0 if own_validation else min(float(shares.validation), most),
        0.0 if own_test else min(float(shares.test), most),
    )


def parts_of_rows(
    seed: int, first: int, count: int, shares: tuple[float, float]
) -> NDArray[np.uint8]:
    """The part of each of `count` rows, the first of which has the number `first`.

    >>> whole = parts_of_rows(0, 0, 10, (0.2, 0.2))
    >>> whole.tolist() == [*parts_of_rows(0, 0, 4, (0.2, 0.2)), *parts_of_rows(0, 4, 6, (0.2, 0.2))]
    True
    """
    validation, test = shares
    rng = stream(seed, "store/split")
    rng.bit_generator.advance(first)  # type: ignore[attr-defined]
    drawn = rng.random(count)  # one step of the generator for each
    parts = np.full(count, TRAIN, np.uint8)
    parts[drawn < test + validation] = VALIDATION
    parts[drawn < test] = TEST
    return parts


def sampling_keys(seed: int, first: int, count: int) -> NDArray[np.uint64]:
    """A random number for each row; the rows of the smallest are a sample of all."""
    generator = stream(seed, "store/sample").bit_generator
    generator.advance(first)  # type: ignore[attr-defined]
    return np.asarray(generator.random_raw(count), np.uint64)
