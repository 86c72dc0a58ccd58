"""The rows of a run in its tables, for what looks at more of them than networks are shown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tabnas.data import Table
from tabnas.model import TreeInputs, TreeRows
from tabnas.runs._tree_parts import TreeParts
from tabnas.runs.prepare._encoded_rows import Part
from tabnas.runs.prepare._leakage import SAMPLE_ROWS, Half, find_leaks, leak_notes
from tabnas.runs.prepare._prepared_data import Parts
from tabnas.streams import stream
from tabnas.types import IntArray

MAX_ROWS, MAX_VALIDATION_ROWS = 250_000, 50_000
"""Rows that trees grow on and stop by; of more there is a random sample."""


@dataclass(frozen=True, eq=False)
class TableRows:
    """Rows of one part by their numbers in a table."""

    table: Table
    rows: IntArray

    def sample(self, most: int, *, seed: int, name: str) -> IntArray:
        """Places among the rows: all, or a random sample of `most` from the stream `name`."""
        if len(self.rows) <= most:
            return np.arange(len(self.rows))
        rng = stream(seed, name)
        return np.sort(rng.choice(len(self.rows), most, replace=False))


def make_tree_parts(
    parts: Parts, train: TableRows, validation: TableRows, test: TableRows, *, seed: int
) -> TreeParts:
    """The rows for boosted trees, made while the tables are at hand.

    Where candidates are cross-validated, networks learn from both parts in the end, and so do
    trees.
    """
    inputs = TreeInputs(parts.encoder)

    def rows(of: TableRows, part: Part, most: int, name: str) -> TreeRows:
        places = of.sample(most, seed=seed, name=name)
        weight = part.training_weight
        return TreeRows(
            inputs=inputs.encode(of.table, of.rows[places]),
            truth=part.truth[places],
            weight=None if weight is None else weight[places],
        )

    tested = inputs.encode(test.table, test.rows)
    if parts.folds:
        both = TableRows(train.table, np.concatenate([train.rows, validation.rows]))
        return TreeParts(
            inputs, rows(both, parts.development, MAX_ROWS, "trees/train"), None, tested
        )
    grown = rows(train, parts.known, MAX_ROWS, "trees/train")
    stopped = rows(validation, parts.validation, MAX_VALIDATION_ROWS, "trees/validation")
    return TreeParts(inputs, grown, stopped, tested)


def note_leaks(
    parts: Parts, train: TableRows, validation: TableRows, *, seed: int
) -> tuple[str, ...]:
    """Notes of columns that alone give the target, by a sample of the rows."""
    inputs = TreeInputs(parts.encoder)

    def half(of: TableRows, part: Part, name: str) -> Half:
        places = of.sample(SAMPLE_ROWS, seed=seed, name=f"leaks/{name}")
        return Half(inputs.encode(of.table, of.rows[places]), part.learned_truth[places])

    first, second = (
        half(train, parts.known, "train"),
        half(validation, parts.validation, "validation"),
    )
    return leak_notes(find_leaks(inputs, parts.target, first, second), parts.target.name)
