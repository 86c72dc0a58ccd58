"""Rows without a target, which a teacher can answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tabnas.data import EncodedTable, Table, TableEncoder
from tabnas.data.lowlevel import RowError, set_decimal_mark
from tabnas.errors import TabNASError
from tabnas.runs.prepare._labelled_table import LabelledTable
from tabnas.settings import RunSettings
from tabnas.streams import stream
from tabnas.types import IntArray

MAX_UNLABELLED_RATIO = 1
"""Rows without a target that are used, at most, for each training row. With four, a training
takes longer, and networks chosen by validation rows did not gain (results/unlabelled.md)."""

PLACE = "in the rows without a target"
"""How errors about them begin."""


def encode_unlabelled(
    data: LabelledTable, encoder: TableEncoder, settings: RunSettings, train_rows: int
) -> tuple[EncodedTable | None, list[str]]:
    """Return the encoded rows without a target, and notes; None if there are none to use.

    They are encoded as test rows are, and nothing is fitted to them. If there are too many, the
    seed chooses some.
    """
    name, own = data.target.name, data.without_target
    left_out = note_left_out(0 if own is None else len(own), name)
    if settings.teacher in ("none", "own"):
        return None, left_out
    tables = [
        set_decimal_mark(table, settings.decimal)
        for table in (own, data.unlabelled)
        if table is not None
    ]
    maximum = MAX_UNLABELLED_RATIO * train_rows
    parts: list[EncodedTable] = []
    notes: list[str] = []
    total = 0
    for table, rows in _sample(tables, maximum, settings.seed):
        try:
            parts.append(encoder.encode(table, rows=rows))
            total += len(table)
        except RowError as error:
            if own is None or table is not tables[0]:
                raise RowError(f"{PLACE}, {error.before}", error.row, error.after) from None
            # a table may end with a line of totals, or remarks
            notes += [f"{note}: {error.before} a row {error.after}" for note in left_out]
        except TabNASError as error:  # a column is missing
            raise TabNASError(f"{PLACE}, {error}") from None
    if not parts:
        return None, notes
    encoded = EncodedTable(
        np.concatenate([part.numeric for part in parts]),
        np.concatenate([part.categorical for part in parts]),
    )
    chosen = f", of which {len(encoded):,} were chosen at random" if len(encoded) < total else ""
    use = f"{_describe(total, name)}{chosen}: networks may learn a teacher's answers to them"
    return encoded, [use, *notes]


def note_left_out(rows: int, target: str) -> list[str]:
    """Return a note on rows without a target that are not used, if there are any."""
    return [f"{_describe(rows, target)}, left out"] if rows > 0 else []


def _describe(rows: int, target: str) -> str:
    count = "1 row" if rows == 1 else f"{rows:,} rows"
    return f"{count} without a value of {target!r}, the target"


def _sample(tables: Sequence[Table], maximum: int, seed: int) -> list[tuple[Table, IntArray]]:
    """Return some rows of each table, together at most so many."""
    ends = np.cumsum([len(table) for table in tables])
    total = int(ends[-1]) if len(ends) else 0
    rows = np.arange(total)
    if total > maximum:
        rows = np.sort(stream(seed, "unlabelled").permutation(total)[:maximum])
    chosen = []
    for table, end in zip(tables, ends.tolist(), strict=True):
        begin = end - len(table)
        chosen.append((table, rows[(rows >= begin) & (rows < end)] - begin))
    return [(table, rows) for table, rows in chosen if len(rows)]
