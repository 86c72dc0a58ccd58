"""Rows without a target, which a teacher can answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tabnas.data import EncodedTable, TableEncoder
from tabnas.data.lowlevel import RowError
from tabnas.runs.prepare._given_answers import find_answered_rows
from tabnas.runs.prepare._labelled_table import LabelledTable, name_unlabelled
from tabnas.settings import RunSettings
from tabnas.streams import stream
from tabnas.types import IntArray

MAX_UNLABELLED_RATIO = 1
"""Rows without a target that are used, at most, for each training row. With four, a training
takes longer, and networks chosen by validation rows did not gain (results/unlabelled.md)."""


@dataclass(frozen=True, eq=False)
class UnlabelledRows:
    """The rows without a target that a run uses: some of its table, then some of another."""

    encoded: EncodedTable | None = None  # None if there are none
    own: IntArray = field(default_factory=lambda: np.arange(0))  # of `without_target` of the table
    other: IntArray = field(default_factory=lambda: np.arange(0))  # of its `unlabelled`
    notes: tuple[str, ...] = ()  # for the user


def encode_unlabelled(
    data: LabelledTable, encoder: TableEncoder, settings: RunSettings, train_rows: int
) -> UnlabelledRows:
    """Return the rows without a target that are used.

    They are encoded as test rows are, and nothing is fitted to them. If there are too many, the
    seed chooses some.
    """
    name = data.target.name
    if settings.teacher == "none":
        own_table = data.without_target
        rows = 0 if own_table is None else len(own_table)
        return UnlabelledRows(notes=tuple(note_left_out(rows, name)))
    usable, notes = _find_usable_rows(data, settings.teacher_columns)
    others = np.arange(0 if data.unlabelled is None else len(data.unlabelled))
    total = len(usable) + len(others)
    maximum = MAX_UNLABELLED_RATIO * train_rows
    own, other = _sample([usable, others], maximum, settings.seed)
    parts: list[EncodedTable] = []
    if data.without_target is not None and len(own):
        try:
            parts.append(encoder.encode(data.without_target, rows=own))
        except RowError as error:  # a table may end with a line of totals, or remarks
            left_out = note_left_out(len(usable), name)
            notes += [f"{note}: {error.before} a row {error.after}" for note in left_out]
            total, own = len(others), own[:0]
    if data.unlabelled is not None and len(other):
        with name_unlabelled():
            parts.append(encoder.encode(data.unlabelled, rows=other))
    if not parts:
        return UnlabelledRows(notes=tuple(notes))
    encoded = EncodedTable.concatenate(parts)
    chosen = f", of which {len(encoded):,} were chosen at random" if len(encoded) < total else ""
    use = f"{_describe(total, name)}{chosen}: networks may learn a teacher's answers to them"
    return UnlabelledRows(encoded, own, other, (use, *notes))


def _find_usable_rows(
    data: LabelledTable, teacher_columns: Sequence[str]
) -> tuple[IntArray, list[str]]:
    """Return which rows of the table without a target a teacher can answer, and notes."""
    if data.without_target is None:
        return np.arange(0), []
    everything = np.arange(len(data.without_target))
    if not teacher_columns:
        return everything, []
    answered = find_answered_rows(teacher_columns, data)
    left_out = note_left_out(len(everything) - len(answered), data.target.name)
    return answered, [f"{note}: the teacher columns have no answer" for note in left_out]


def note_left_out(rows: int, target: str) -> list[str]:
    """Return a note on rows without a target that are not used, if there are any."""
    return [f"{_describe(rows, target)}, left out"] if rows > 0 else []


def _describe(rows: int, target: str) -> str:
    count = "1 row" if rows == 1 else f"{rows:,} rows"
    return f"{count} without a value of {target!r}, the target"


def _sample(parts: Sequence[IntArray], maximum: int, seed: int) -> list[IntArray]:
    """Return some rows of each part, together at most this many."""
    lengths = [len(part) for part in parts]
    is_chosen = np.ones(sum(lengths), bool)
    if len(is_chosen) > maximum:
        is_chosen[stream(seed, "unlabelled").permutation(len(is_chosen))[maximum:]] = False
    masks = np.split(is_chosen, np.cumsum(lengths)[:-1])
    return [part[mask] for part, mask in zip(parts, masks, strict=True)]
