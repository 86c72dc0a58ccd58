"""The part of a row, which depends only on the row's number."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tabnas.data import Shares
from tabnas.streams import stream

PartName = Literal["train", "validation", "test"]
"""What rows of a store are used for."""
PARTS: tuple[PartName, ...] = get_args(PartName)
TRAIN, VALIDATION, TEST = range(3)

MAX_HELD_OUT_ROWS = 250_000
"""About the most rows for validation and for test, which are held in memory later."""


def cap_held_out_shares(
    shares: Shares, rows: float, *, own_validation: bool, own_test: bool
) -> tuple[float, float]:
    """Return the shares of validation and test, lowered if the table has very many rows.

    A part for which the user has given files takes no rows of the table.

    >>> cap_held_out_shares(Shares(), 1e3, own_validation=False, own_test=False)
    (0.2, 0.2)
    >>> cap_held_out_shares(Shares(), 1e7, own_validation=False, own_test=True)
    (0.025, 0.0)
    """
    max_share = MAX_HELD_OUT_ROWS / max(rows, 1.0)
    return (
        0.0 if own_validation else min(float(shares.validation), max_share),
        0.0 if own_test else min(float(shares.test), max_share),
    )


def draw_parts(seed: int, first: int, count: int, shares: tuple[float, float]) -> NDArray[np.uint8]:
    """Return the part of each of `count` rows, the first of which has the number `first`.

    >>> together = draw_parts(0, 0, 10, (0.2, 0.2))
    >>> together.tolist() == [*draw_parts(0, 0, 4, (0.2, 0.2)), *draw_parts(0, 4, 6, (0.2, 0.2))]
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


def draw_sampling_keys(seed: int, first: int, count: int) -> NDArray[np.uint64]:
    """Return a random number for each row; the rows with the smallest are a uniform sample."""
    generator = stream(seed, "store/sample").bit_generator
    generator.advance(first)  # type: ignore[attr-defined]
    return np.asarray(generator.random_raw(count), np.uint64)
