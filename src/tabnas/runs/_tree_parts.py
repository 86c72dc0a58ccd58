"""The rows of a run as boosted trees take them, whatever the limit and the scaling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tabnas.data import Table
from tabnas.model import TreeInputs, TreeMatrix, TreeRows
from tabnas.runs._part import Part
from tabnas.streams import stream
from tabnas.types import IntArray

MAX_ROWS, MAX_VALIDATION_ROWS = 250_000, 50_000
"""Rows that trees grow on and stop by; of more there is a random sample."""


@dataclass(frozen=True, eq=False)
class TreeParts:
    """What trees learn from, stop by, and are judged on."""

    inputs: TreeInputs
    train: TreeRows
    validation: TreeRows | None
    test: TreeMatrix


def sample_tree_rows(
    inputs: TreeInputs, table: Table, rows: IntArray, part: Part, most: int, *, seed: int, name: str
) -> TreeRows:
    """Return some rows of a table for trees: all, or a random sample of `most`.

    `part` has the same rows as networks take them.
    """
    chosen = np.arange(len(rows))
    if len(rows) > most:
        rng = stream(seed, f"trees/{name}")
        chosen = np.sort(rng.choice(len(rows), most, replace=False))
    weight = part.training_weight
    return TreeRows(
        inputs=inputs.encode(table, rows[chosen]),
        truth=part.truth[chosen],
        weight=None if weight is None else weight[chosen],
    )
