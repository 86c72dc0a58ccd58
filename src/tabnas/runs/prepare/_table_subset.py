"""Rows of a table for boosted trees and leak detection, which read columns unencoded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tabnas.data import Table
from tabnas.model import MAX_TREE_ROWS, MAX_TREE_VALIDATION_ROWS, TreeInputs, TreeRows
from tabnas.runs.prepare._encoded_rows import EncodedRows
from tabnas.runs.prepare._leakage import SAMPLE_ROWS, LabelledInputs, describe_leaks, find_leaks
from tabnas.runs.prepare._prepared_data import PreparedData, TreeData
from tabnas.streams import sample_rows
from tabnas.types import IntArray


@dataclass(frozen=True, eq=False)
class TableSubset:
    """Some rows of a table, by index."""

    table: Table
    rows: IntArray

    def sample(self, max_rows: int, *, seed: int, name: str) -> IntArray:
        """Return positions among the rows: all, or a random sample from the stream `name`."""
        return sample_rows(len(self.rows), max_rows, seed=seed, name=name)


def make_tree_data(
    prepared: PreparedData,
    train: TableSubset,
    validation: TableSubset,
    test: TableSubset,
    *,
    seed: int,
) -> TreeData:
    """Return the rows for boosted trees.

    If candidates are cross-validated, the final network learns from the training and the validation
    rows, and so do the trees.
    """
    inputs = TreeInputs(prepared.encoder)

    def encode(rows: TableSubset, encoded: EncodedRows, max_rows: int, name: str) -> TreeRows:
        positions = rows.sample(max_rows, seed=seed, name=name)
        weight = encoded.training_weight
        return TreeRows(
            inputs=inputs.encode(rows.table, rows.rows[positions]),
            y=encoded.y[positions],
            weight=None if weight is None else weight[positions],
        )

    test_inputs = inputs.encode(test.table, test.rows)
    if prepared.folds:
        both = TableSubset(train.table, np.concatenate([train.rows, validation.rows]))
        return TreeData(
            inputs,
            encode(both, prepared.train_and_validation, MAX_TREE_ROWS, "trees/train"),
            None,
            test_inputs,
        )
    train_rows = encode(train, prepared.train_in_memory, MAX_TREE_ROWS, "trees/train")
    validation_rows = encode(
        validation, prepared.validation, MAX_TREE_VALIDATION_ROWS, "trees/validation"
    )
    return TreeData(inputs, train_rows, validation_rows, test_inputs)


def note_leaks(
    prepared: PreparedData, train: TableSubset, validation: TableSubset, *, seed: int
) -> tuple[str, ...]:
    """Return notes on single columns that predict the target, by a sample of the rows."""
    inputs = TreeInputs(prepared.encoder)

    def half(rows: TableSubset, encoded: EncodedRows, name: str) -> LabelledInputs:
        positions = rows.sample(SAMPLE_ROWS, seed=seed, name=f"leaks/{name}")
        columns = inputs.encode(rows.table, rows.rows[positions])
        return LabelledInputs(columns, encoded.training_target[positions])

    first, second = (
        half(train, prepared.train_in_memory, "train"),
        half(validation, prepared.validation, "validation"),
    )
    return describe_leaks(find_leaks(inputs, prepared.target, first, second), prepared.target.name)
