"""Overlap between the training rows and the validation or test rows that a user provides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from tabnas.errors import TabNASError
from tabnas.runs.prepare._encoded_rows import EncodedRows

Hashes = NDArray[np.uint64]

REFUSED_SHARE, NOTED_SHARE = 0.9, 0.1
"""Shares of the provided rows, of those that would be new in a fresh sample."""
IDENTIFYING_SHARE = 0.5
"""Values of a column for each distinct row, from which on equal rows are copies."""
MAX_CHANCE = 1e-5
"""An overlap that chance makes more often than this is neither refused nor noted."""
CONSEQUENCES = {
    "validation": "candidates are chosen by rows that they were trained on",
    "test": "scores are better than they will be on new rows",
}
MULTIPLIER, SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)


def check_overlap(
    table: Sequence[EncodedRows],
    provided: Mapping[str, EncodedRows | None],
    *,
    table_share: float = 1.0,
) -> tuple[str, ...]:
    """Raise an error if nearly all provided rows are training rows; return notes if many are.

    Parameters
    ----------
    table
        The rows to learn from, or a sample of them.
    provided
        The user's own rows by name; each must be new to the table and to those before it.
    table_share
        The share of the table that `table` holds.

    Two rows are the same if their encoded features and their targets are.
    """
    if not any(provided.values()):  # empty rows are false
        return ()
    notes = []
    known = np.concatenate([hash_rows(rows) for rows in table])
    for name, encoded in provided.items():
        if not encoded:
            continue
        rows = hash_rows(encoded)
        shared = int(np.isin(rows, known).sum())
        unexpected = _unexpected_share(shared, len(rows), known, table_share)
        if unexpected >= REFUSED_SHARE:
            raise TabNASError(
                f"the {name} rows must not be training rows, but {shared:,} of {len(rows):,} are, "
                "with the same target; leave them out to use a share of the table, or give new "
                "rows"
            )
        if unexpected >= NOTED_SHARE or _are_same(rows, known):
            notes.append(
                f"{shared:,} of the {len(rows):,} {name} rows are training rows, too, with the "
                f"same target: {CONSEQUENCES[name]}"
            )
        known = np.concatenate([known, rows])
    return tuple(notes)


def note_copies(known: EncodedRows, test: EncodedRows) -> tuple[str, ...]:
    """Return a note if many test rows of the table are copies of rows to learn from.

    Rows of a few codes may well be equal without being copies. If nearly every distinct row has a
    value of its own in some column, they are copies.
    """
    hashes = hash_rows(known)
    shared = int(np.isin(hash_rows(test), hashes).sum())
    if shared < NOTED_SHARE * len(test):
        return ()
    distinct = len(np.unique(hashes))
    values = max((len(np.unique(column)) for column in known.encoded.numeric.T), default=0)
    if values < IDENTIFYING_SHARE * distinct:
        return ()
    return (
        f"{shared:,} of the {len(test):,} test rows are copies of rows that are learned from: "
        "scores are better than they will be on new rows; remove the copies, or keep those of a "
        "row in one part with a group column",
    )


def _unexpected_share(shared: int, rows: int, known: Hashes, table_share: float) -> float:
    """Return the share of known rows among those that should be new, 0 if it may be chance.

    In a table of few distinct rows most new rows are known. The expected share of them is estimated
    by the rows that the table has more than once.
    """
    from scipy.special import bdtrc

    if not shared:
        return 0.0
    _, counts = np.unique(known, return_counts=True)
    repeated = int(counts[counts > 1].sum())
    expected = (repeated + 1) / (len(known) + 1)
    if expected >= table_share or bdtrc(shared - 1, rows, expected) > MAX_CHANCE:
        return 0.0
    return (shared / rows - expected) / (table_share - expected)


def _are_same(rows: Hashes, known: Hashes) -> bool:
    """Return whether both hold the same rows, in any order."""
    return len(rows) == len(known) and bool((np.sort(rows) == np.sort(known)).all())


def hash_rows(rows: EncodedRows) -> Hashes:
    """Return a hash of each row: of its encoded features and its target."""
    encoded = rows.encoded
    hashes = np.zeros(len(rows), np.uint64)
    y = rows.y.astype(np.float64) + 0.0  # -0 is 0
    numbers = ((column + np.float32(0)).view(np.uint32) for column in encoded.numeric.T)
    for column in chain([y.view(np.uint64)], numbers, encoded.categorical.T):
        hashes ^= column.astype(np.uint64)
        hashes *= MULTIPLIER
        hashes ^= hashes >> SHIFT
    return hashes
