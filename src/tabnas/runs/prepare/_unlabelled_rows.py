"""Rows without a target, which a teacher can answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tabnas.data import EncodedTable, Table, TableEncoder
from tabnas.data.lowlevel import RowError, set_decimal_mark
from tabnas.runs.prepare._labelled_table import LabelledTable
from tabnas.settings import RunSettings
from tabnas.streams import stream
from tabnas.types import IntArray

MAX_UNLABELLED_RATIO = 4
"""Rows without a target that are used, at most, for each training row. A training with them takes
as many times longer (results/unlabelled.md)."""


def encode_unlabelled(
    data: LabelledTable, encoder: TableEncoder, settings: RunSettings, train_rows: int
) -> tuple[EncodedTable | None, list[str]]:
    """Return the encoded rows without a target, and notes; None if there are none to use.

    They are encoded as test rows are, and nothing is fitted to them. If there are too many, the
    seed chooses some.
    """
    name, own = data.target.name, data.without_target
    left_out = "" if own is None else f"{_describe(len(own), name)}, left out"
    if settings.teacher == "none":
        return None, [left_out] if left_out else []
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
                raise
            # a table may end with a line of totals, or remarks
            notes.append(f"{left_out}: {error.before} a row {error.after}")
    if not parts:
        return None, notes
    encoded = EncodedTable(
        np.concatenate([part.numeric for part in parts]),
        np.concatenate([part.categorical for part in parts]),
    )
    chosen = f", of which {len(encoded):,} were chosen at random" if len(encoded) < total else ""
    use = f"{_describe(total, name)}{chosen}: networks may learn a teacher's answers to them"
    return encoded, [use, *notes]


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
