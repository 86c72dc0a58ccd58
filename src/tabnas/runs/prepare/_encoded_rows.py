"""Encoded rows in memory, ready for a network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.data import EncodedTable, TableEncoder, Target
from tabnas.model import make_examples
from tabnas.nets import Examples, Loss, NetworkSpec, concatenate_targets
from tabnas.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """Rows as a network reads them, with their target values for scores."""

    examples: Examples
    encoded: EncodedTable
    y: NDArray[Any]
    weight: FloatArray | None  # sample weights, for scores; training may weigh classes, too

    def __len__(self) -> int:
        return len(self.y)

    @property
    def training_weight(self) -> FloatArray | None:
        """The weights of the rows in training, with class weights; None if all are equal."""
        return self.examples.weight if len(self.examples.weight) else None  # type: ignore[return-value]

    @property
    def training_target(self) -> NDArray[Any]:
        """Class indices, or values as scaled for training."""
        is_regression = self.examples.spec.loss is Loss.SQUARED_ERROR
        return self.examples.values[:, 0] if is_regression else self.y

    def recode(self, spec: NetworkSpec, encoder: TableEncoder, max_categories: int) -> EncodedRows:
        """Return the same rows with at most `max_categories` categories of each column.

        The numbers are shared with these rows.
        """
        categorical = self.encoded.categorical.copy()
        encoder.recode(categorical, max_categories)
        encoded = EncodedTable(self.encoded.numeric, categorical)
        return replace(self, encoded=encoded).with_spec(spec)

    def with_spec(self, spec: NetworkSpec) -> EncodedRows:
        """Return the same rows for networks of another spec, which share the arrays."""
        examples = make_examples(spec, self.encoded, self.examples.target, self.training_weight)
        return EncodedRows(examples, self.encoded, self.y, self.weight)

    def take(self, rows: IntArray | slice) -> EncodedRows:
        """Return some of the rows; a slice shares memory."""
        examples = self.examples.take(rows)
        return EncodedRows(
            examples,
            EncodedTable(examples.numeric, examples.categorical),
            self.y[rows],
            None if self.weight is None else self.weight[rows],
        )


def make_encoded_rows(
    spec: NetworkSpec,
    target: Target,
    encoded: EncodedTable,
    y: NDArray[Any],
    *,
    weight: FloatArray | None = None,
    class_weight: FloatArray | None = None,
) -> EncodedRows:
    """Return encoded rows with their target values, sample weights and class weights."""
    training_weight = weight
    if class_weight is not None:
        training_weight = class_weight[y]
        if weight is not None:
            training_weight = weight * training_weight
    examples = make_examples(spec, encoded, target.scale_values(y), training_weight)
    return EncodedRows(examples, encoded, y, weight)


def concatenate(first: EncodedRows, second: EncodedRows) -> EncodedRows:
    """Return the rows of both, one after the other."""

    def join(get: Callable[[EncodedRows], NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate([get(first), get(second)])

    encoded = EncodedTable.concatenate([first.encoded, second.encoded])
    spec = first.examples.spec
    target = concatenate_targets(spec, first.examples.target, second.examples.target)
    training_weight, weight = None, None
    if len(first.examples.weight) or len(second.examples.weight):
        training_weight = join(
            lambda r: r.examples.weight if len(r.examples.weight) else np.ones(len(r))
        )
    if first.weight is not None or second.weight is not None:
        weight = join(lambda r: np.ones(len(r)) if r.weight is None else r.weight)
    joined = make_examples(spec, encoded, target, training_weight)
    return EncodedRows(joined, encoded, join(lambda r: r.y), weight)
