"""Rows of an encoded table, checked once so that the training loop does not need to check them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tabnas.errors import TabNASError
from tabnas.nets._arrays import check_array, check_range
from tabnas.nets._network_spec import Inputs, Loss, NetworkSpec
from tabnas.nets._soft_targets import ExampleTarget, TopClasses, check_target
from tabnas.streams import stream
from tabnas.types import Float32Array, Int32Array, IntArray


@dataclass(frozen=True, eq=False, init=False)
class Examples:
    """Inputs and, for training, targets and row weights.

    numeric      float32 [rows, numeric columns]
    categorical  int32 [rows, embeddings], category numbers from 0
    target       logistic: [rows], in [0, 1]; squared error: [rows, outputs], or [rows] for one
                 output; softmax: [rows], class numbers from 0, or a distribution for each row:
                 [rows, outputs], probabilities that sum to 1, or `TopClasses`
    weight       [rows], at least 0; without it all rows have the same weight

    Arrays of another type or memory order, and read-only arrays, are copied. All others are used in
    place; do not change them while the examples are in use.

    >>> spec = NetworkSpec(inputs=Inputs(numeric=2), loss="softmax", outputs=3)
    >>> len(Examples(spec, numeric=[[0.5, -1.0], [0.0, 2.0]], target=[0, 2]))
    2
    """

    spec: NetworkSpec
    numeric: Float32Array
    categorical: Int32Array
    # class numbers: labels [rows, 1], values [0, outputs]; top classes: both [rows, k];
    # probabilities, and the targets of the other losses: labels [0, 0], values [rows, outputs]
    labels: Int32Array
    values: Float32Array
    weight: Float32Array  # [rows] if rows are weighted, else [0]
    has_target: bool
    arrays: tuple[NDArray[Any], ...]  # the five above, as the compiled kernels take them

    def __init__(
        self,
        spec: NetworkSpec,
        *,
        numeric: ArrayLike | None = None,
        categorical: ArrayLike | None = None,
        target: ArrayLike | TopClasses | None = None,
        weight: ArrayLike | None = None,
    ) -> None:
        first = numeric if numeric is not None else categorical
        if first is None:
            raise TabNASError("examples must have numeric or categorical inputs, got neither")
        rows = len(np.asarray(first))
        set_field = object.__setattr__
        set_field(self, "spec", spec)
        set_field(self, "numeric", _check_numeric(numeric, rows, spec.inputs))
        set_field(self, "categorical", _check_categorical(categorical, rows, spec.inputs))
        labels, values = _split_target(target, rows, spec)
        set_field(self, "labels", labels)
        set_field(self, "values", values)
        set_field(self, "weight", _check_weight(weight, rows))
        set_field(self, "has_target", target is not None)
        arrays = (self.numeric, self.categorical, self.labels, self.values, self.weight)
        set_field(self, "arrays", arrays)

    def __len__(self) -> int:
        return len(self.numeric)

    @property
    def target(self) -> ExampleTarget | None:
        """The target in a form that other examples take, without a copy; None without targets.

        Class numbers [rows], values or probabilities [rows, outputs], or the top classes.
        """
        if not self.has_target:
            return None
        if not self.labels.shape[1]:
            return self.values
        if self.values.shape == self.labels.shape:
            return TopClasses(self.labels, self.values)
        return self.labels.reshape(-1)

    def take(self, rows: IntArray | slice) -> Examples:
        """Return some of the rows, given by their numbers or by a slice, which shares memory."""
        target = self.target
        if target is not None:
            target = target.take(rows) if isinstance(target, TopClasses) else target[rows]
        return Examples(
            self.spec,
            numeric=self.numeric[rows],
            categorical=self.categorical[rows],
            target=target,
            weight=self.weight[rows] if len(self.weight) else None,
        )

    @property
    def total_weight(self) -> float:
        """The sum of the row weights: the number of rows, if they have no weights."""
        return float(self.weight.sum(dtype=np.float64)) if len(self.weight) else float(len(self))

    def batches(self, batch_size: int, *, seed: int, workers: int = 1) -> ShuffledBatches:
        """Return batches of `batch_size` rows per worker; every epoch shuffles all rows anew."""
        return ShuffledBatches(self, batch_size, seed, workers)


def _check_numeric(numeric: ArrayLike | None, rows: int, inputs: Inputs) -> Float32Array:
    if numeric is None and inputs.numeric:
        raise TabNASError(
            f"numeric must have {inputs.numeric} columns, as the network spec has, got None"
        )
    numeric = np.zeros((rows, 0)) if numeric is None else numeric
    array = check_array("numeric inputs", numeric, (rows, inputs.numeric), np.float32)
    largest = float(np.finfo(np.float32).max)
    check_range("numeric inputs (as float32)", array, -largest, largest)
    return array


def _check_categorical(categorical: ArrayLike | None, rows: int, inputs: Inputs) -> Int32Array:
    columns = len(inputs.category_embeddings)
    if categorical is None and columns:
        raise TabNASError(
            f"categorical must have {columns} columns, as the network spec has, got None"
        )
    categorical = np.zeros((rows, 0), np.int32) if categorical is None else categorical
    array = check_array("categorical inputs", categorical, (rows, columns), np.int32)
    for column, embedding in enumerate(inputs.category_embeddings):
        name = f"the categories of column {column}"
        check_range(name, array[:, column], 0, embedding.categories - 1)
    return array


def _split_target(
    target: ArrayLike | TopClasses | None, rows: int, spec: NetworkSpec
) -> tuple[Int32Array, Float32Array]:
    """Return the target as the labels and values of `Examples`."""
    no_labels, no_values = np.zeros((0, 0), np.int32), np.zeros((0, spec.outputs), np.float32)
    if target is None:
        return no_labels, no_values
    checked = check_target(spec, target, rows)
    if isinstance(checked, TopClasses):
        return checked.classes, checked.probabilities
    if spec.loss is Loss.SOFTMAX and checked.ndim == 1:
        return checked.reshape(rows, 1), no_values
    return no_labels, checked


def _check_weight(weight: ArrayLike | None, rows: int) -> Float32Array:
    if weight is None:
        return np.zeros(0, np.float32)
    array = check_array("row weights", weight, (rows,), np.float32)
    check_range("row weights", array, 0.0, float(np.finfo(np.float32).max))
    return array


# -- batches ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Batch:
    """The rows of one step: row numbers of the examples, for each worker that has any."""

    examples: Examples
    rows: tuple[IntArray, ...]

    @property
    def weight(self) -> float:
        """The sum of the weights of all workers' rows: their number, if they have no weights."""
        if not len(self.examples.weight):
            return float(sum(map(len, self.rows)))
        weights = self.examples.weight
        return float(sum(weights[rows].sum(dtype=np.float64) for rows in self.rows))


class Batches(Protocol):
    """The batches of a training by step. They depend on seed and step alone."""

    @property
    def steps_per_epoch(self) -> int:
        """Steps in which every row is used once."""

    def at(self, step: int) -> Batch:
        """Return the batch of a step, counted from 0 over all epochs."""

    def steps_ahead(self, step: int) -> int:
        """Return how many steps, this one included, use the same examples in the same epoch."""


class TrainingRows(Protocol):
    """Rows to train on, in memory (`Examples`) or on disk."""

    @property
    def spec(self) -> NetworkSpec:
        """Inputs, loss and outputs."""

    def __len__(self) -> int: ...

    @property
    def total_weight(self) -> float:
        """The sum of the row weights: the number of rows, if they have no weights."""

    def batches(self, batch_size: int, *, seed: int, workers: int = 1) -> Batches:
        """Return batches of `batch_size` rows per worker; every epoch shuffles all rows anew."""


class ShuffledBatches:
    """Batches of shuffled rows in memory; the last of an epoch may be smaller.

    >>> from tabnas.nets import Examples, Inputs
    >>> spec = NetworkSpec(inputs=Inputs(numeric=1), loss="logistic")
    >>> batches = Examples(spec, numeric=np.zeros((10, 1))).batches(4, seed=0)
    >>> [len(batches.at(step).rows[0]) for step in range(4)]
    [4, 4, 2, 4]
    """

    def __init__(self, examples: Examples, batch_size: int, seed: int, workers: int) -> None:
        self._examples = examples
        self._size = batch_size * workers
        self._workers = workers
        self._seed = seed
        self._epoch = 0
        self._order: IntArray
        self.steps_per_epoch = -(-len(examples) // self._size)

    def at(self, step: int) -> Batch:
        """Return the batch of a step. The order of rows depends on seed and epoch alone."""
        epoch, index = divmod(step, self.steps_per_epoch)
        if self._epoch != epoch + 1:
            self._epoch = epoch + 1
            self._order = stream(self._seed, f"shuffle/{self._epoch}").permutation(
                len(self._examples)
            )
        rows = self._order[index * self._size : (index + 1) * self._size]
        if self._workers == 1:
            return Batch(self._examples, (rows,))
        parts = np.array_split(rows, self._workers)
        return Batch(self._examples, tuple(part for part in parts if len(part)))

    def steps_ahead(self, step: int) -> int:
        """Return how many steps are left in the epoch of a step, this one included."""
        return self.steps_per_epoch - step % self.steps_per_epoch
