"""The rows of a batch: checked, and split between processes."""

from __future__ import annotations

import numpy as np

from tabnas.errors import TabNASError
from tabnas.nets._engine import RowIndex
from tabnas.nets._examples import Examples


def check_rows(examples: Examples, rows: RowIndex) -> int:
    """Return the number of rows; raise an error if there are none, or if one does not exist."""
    total = len(examples)
    if isinstance(rows, slice):
        start, stop, _ = rows.indices(total)
        count = stop - start
        valid = count > 0
    else:
        count = len(rows)
        valid = count > 0 and int(rows.min()) >= 0 and int(rows.max()) < total
    if not valid:
        raise TabNASError(
            f"rows must be at least one, each from 0 to {total - 1}, got none or others"
        )
    return count


def check_weight(examples: Examples, rows: RowIndex) -> int:
    """Check the rows and that at least one has a weight above 0; return their number."""
    count = check_rows(examples, rows)
    if len(examples.weight) and not examples.weight[rows].any():
        raise TabNASError("at least one row of a batch must have a weight above 0, got none")
    return count


def split_batch(
    examples: Examples, rows: RowIndex, count: int
) -> tuple[list[RowIndex], list[float]]:
    """Split a batch into chunks; return them and the share of the weight that each has.

    The mean over all rows is the sum of share * mean over the chunks.
    """
    check_weight(examples, rows)
    numbers = np.arange(len(examples))[rows] if isinstance(rows, slice) else rows
    chunks = [chunk for chunk in np.array_split(numbers, count) if len(chunk)]
    weights = [float(len(chunk)) for chunk in chunks]
    if len(examples.weight):
        weights = [float(examples.weight[chunk].sum(dtype=np.float64)) for chunk in chunks]
    return [*chunks], [weight / sum(weights) for weight in weights]
