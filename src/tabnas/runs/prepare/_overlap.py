"""Rows of a user's own validation or test part that stand among the rows to learn from, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from tabnas.errors import TabNASError
from tabnas.runs.prepare._encoded_rows import Part

Hashes = NDArray[np.uint64]

REFUSED_SHARE, NOTED_SHARE = 0.9, 0.1
"""Of the rows of a part that would be new if it were drawn afresh."""
MAX_CHANCE = 1e-5
"""Nothing is refused or noted that happens to parts drawn afresh more often than this."""
CONSEQUENCES = {
    "validation": "candidates are chosen by rows that they have learned",
    "test": "scores are better than they will be on new rows",
}
MULTIPLIER, SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)


def check_overlap(
    table: Sequence[Part], own: Mapping[str, Part | None], *, table_share: float = 1.0
) -> tuple[str, ...]:
    """Refuse a part of which nearly all rows are known, and return notes on those with many.

    `table` holds the rows to learn from, or a sample, `table_share` of them. `own` holds a user's
    own parts by name; each must be new to the table and to the parts before it. Two rows are the
    same if their encoded features and their targets are.
    """
    if not any(own.values()):  # which are parts with rows
        return ()
    notes = []
    known = np.concatenate([hash_rows(part) for part in table])
    for name, part in own.items():
        if not part:
            continue
        rows = hash_rows(part)
        found = int(np.isin(rows, known).sum())
        unexpected = _unexpected_share(found, len(rows), known, table_share)
        if unexpected >= REFUSED_SHARE:
            raise TabNASError(
                f"the {name} part must have other rows than those to learn from, got {found:,} of "
                f"{len(rows):,} rows that stand there, too, with the same target; leave it out to "
                "have a share of the table for it, or give new rows"
            )
        if unexpected >= NOTED_SHARE or _are_same(rows, known):
            notes.append(
                f"{found:,} of the {len(rows):,} rows of the {name} part stand among the rows to "
                f"learn from, too, with the same target: {CONSEQUENCES[name]}"
            )
        known = np.concatenate([known, rows])
    return tuple(notes)


def _unexpected_share(found: int, rows: int, known: Hashes, table_share: float) -> float:
    """Return the share of known rows among those that should be new, 0 if it may be chance.

    In tables of few distinct rows, most new rows are known. How many of them is what the table
    says of itself: the share of its rows that it has more than once.
    """
    from scipy.special import bdtrc

    if not found:
        return 0.0
    _, counts = np.unique(known, return_counts=True)
    repeated = int(counts[counts > 1].sum())
    expected = (repeated + 1) / (len(known) + 1)
    if expected >= table_share or bdtrc(found - 1, rows, expected) > MAX_CHANCE:
        return 0.0
    return (found / rows - expected) / (table_share - expected)


def _are_same(rows: Hashes, known: Hashes) -> bool:
    """Whether both hold the same rows equally often, in any order."""
    return len(rows) == len(known) and bool((np.sort(rows) == np.sort(known)).all())


def hash_rows(part: Part) -> Hashes:
    """Return a number for each row, of its encoded features and its target."""
    encoded = part.encoded
    hashes = np.zeros(len(part), np.uint64)
    truth = part.truth.astype(np.float64) + 0.0  # -0 is 0
    numbers = ((column + np.float32(0)).view(np.uint32) for column in encoded.numeric.T)
    for column in chain([truth.view(np.uint64)], numbers, encoded.categorical.T):
        hashes ^= column.astype(np.uint64)
        hashes *= MULTIPLIER
        hashes ^= hashes >> SHIFT
    return hashes
