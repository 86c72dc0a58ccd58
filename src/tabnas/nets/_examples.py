"""Rows of an encoded table, checked once so that the training loop does not need to check them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tabnas.errors import TabNASError
from tabnas.nets._task import Inputs, Loss, Task
from tabnas.streams import stream
from tabnas.types import IntArray

Float32Array = NDArray[np.float32]
"""Weights, numbers and logits: single precision throughout."""
Int32Array = NDArray[np.int32]


@dataclass(frozen=True, eq=False, init=False)
class Examples:
    """Inputs and, for training, targets and row weights.

    numeric      float32 [rows, numeric columns]
    categorical  int32 [rows, embeddings], category numbers from 0
    target       logistic: [rows], in [0, 1]; softmax: [rows], class numbers from 0;
                 squared error: [rows, outputs], or [rows] for one output
    weight       [rows], at least 0; without it all rows have the same weight

    Arrays of another type or memory order, and read-only arrays, are copied. All others are used in
    place; do not change them while the examples are in use.

    >>> task = Task(inputs=Inputs(numeric=2), loss="softmax", outputs=3)
    >>> len(Examples(task, numeric=[[0.5, -1.0], [0.0, 2.0]], target=[0, 2]))
    2
    """

    task: Task
    numeric: Float32Array
    categorical: Int32Array
    labels: Int32Array  # [rows] for the softmax loss, else [0]
    values: Float32Array  # [rows, outputs] for the other losses, else [0, outputs]
    weight: Float32Array  # [rows] if rows are weighted, else [0]
    has_target: bool
    arrays: tuple[NDArray[Any], ...]  # the five above, as the compiled kernels take them

    def __init__(
        self,
        task: Task,
        *,
        numeric: ArrayLike | None = None,
        categorical: ArrayLike | None = None,
        target: ArrayLike | None = None,
        weight: ArrayLike | None = None,
    ) -> None:
        first = numeric if numeric is not None else categorical
        if first is None:
            raise TabNASError("examples must have numeric or categorical inputs, got neither")
        rows = len(np.asarray(first))
        set_field = object.__setattr__
        set_field(self, "task", task)
        set_field(self, "numeric", _check_numeric(numeric, rows, task.inputs))
        set_field(self, "categorical", _check_categorical(categorical, rows, task.inputs))
        set_field(self, "labels", _check_labels(target, rows, task))
        set_field(self, "values", _check_values(target, rows, task))
        set_field(self, "weight", _check_weight(weight, rows))
        set_field(self, "has_target", target is not None)
        arrays = (self.numeric, self.categorical, self.labels, self.values, self.weight)
        set_field(self, "arrays", arrays)

    def __len__(self) -> int:
        return len(self.numeric)

    @property
    def total_weight(self) -> float:
        """The sum of the row weights: the number of rows, if they have no weights."""
        return float(self.weight.sum(dtype=np.float64)) if len(self.weight) else float(len(self))

    def batches(self, batch_size: int, *, seed: int, workers: int = 1) -> ShuffledBatches:
        """Return batches of `batch_size` rows per worker; every epoch shuffles all rows anew."""
        return ShuffledBatches(self, batch_size, seed, workers)


def _array(
    name: str, values: ArrayLike, shape: tuple[int, ...], dtype: type[np.generic]
) -> NDArray[Any]:
    """Return `values` as an array of that shape and type that the kernels can read in place."""
    array = np.asarray(values)
    if array.shape != shape:
        raise TabNASError(f"{name} must have the shape {shape}, got {array.shape}")
    if array.dtype.kind not in "biuf":
        raise TabNASError(f"{name} must be numbers, got {array.dtype}")
    if dtype is np.int32 and array.dtype.kind == "f" and not np.array_equal(array, np.rint(array)):
        raise TabNASError(f"{name} must be integers, got fractions")
    if dtype is np.int32:
        _check_range(name, array, np.iinfo(np.int32).min, np.iinfo(np.int32).max)
    array = np.require(array, dtype, ["C", "A", "W"])
    # NumPy calls one row of a strided array contiguous whatever its strides are; kernels use them
    contiguous = np.empty(shape, dtype).strides
    return array if array.strides == contiguous else array.copy()


def _check_range(name: str, array: NDArray[Any], minimum: float, maximum: float) -> None:
    """Raise an error that names the first value outside [minimum, maximum]; NaN is outside."""
    if not array.size or (array.min() >= minimum and array.max() <= maximum):
        return
    where = tuple(int(i) for i in np.argwhere(~((array >= minimum) & (array <= maximum)))[0])
    raise TabNASError(
        f"{name} must lie between {minimum} and {maximum}, "
        f"got {array[where]} at {where if len(where) > 1 else where[0]}"
    )


def _check_numeric(numeric: ArrayLike | None, rows: int, inputs: Inputs) -> Float32Array:
    if numeric is None and inputs.numeric:
        raise TabNASError(f"numeric must have {inputs.numeric} columns, as the task has, got None")
    numeric = np.zeros((rows, 0)) if numeric is None else numeric
    array = _array("numeric inputs", numeric, (rows, inputs.numeric), np.float32)
    largest = float(np.finfo(np.float32).max)
    _check_range("numeric inputs (as float32)", array, -largest, largest)
    return array


def _check_categorical(categorical: ArrayLike | None, rows: int, inputs: Inputs) -> Int32Array:
    columns = len(inputs.embeddings)
    if categorical is None and columns:
        raise TabNASError(f"categorical must have {columns} columns, as the task has, got None")
    categorical = np.zeros((rows, 0), np.int32) if categorical is None else categorical
    array = _array("categorical inputs", categorical, (rows, columns), np.int32)
    for column, embedding in enumerate(inputs.embeddings):
        name = f"the categories of column {column}"
        _check_range(name, array[:, column], 0, embedding.categories - 1)
    return array


def _check_labels(target: ArrayLike | None, rows: int, task: Task) -> Int32Array:
    if target is None or task.loss is not Loss.SOFTMAX:
        return np.zeros(0, np.int32)
    labels = _array("class labels", target, (rows,), np.int32)
    _check_range("class labels", labels, 0, task.outputs - 1)
    return labels


def _check_values(target: ArrayLike | None, rows: int, task: Task) -> Float32Array:
    if target is None or task.loss is Loss.SOFTMAX:
        return np.zeros((0, task.outputs), np.float32)
    shaped = np.asarray(target)
    if task.outputs == 1 and shaped.ndim == 1:
        shaped = shaped[:, None]
    values = _array("targets", shaped, (rows, task.outputs), np.float32)
    largest = float(np.finfo(np.float32).max)
    minimum, maximum = (0.0, 1.0) if task.loss is Loss.LOGISTIC else (-largest, largest)
    _check_range("targets", values, minimum, maximum)
    return values


def _check_weight(weight: ArrayLike | None, rows: int) -> Float32Array:
    if weight is None:
        return np.zeros(0, np.float32)
    array = _array("row weights", weight, (rows,), np.float32)
    _check_range("row weights", array, 0.0, float(np.finfo(np.float32).max))
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


class TrainingRows(Protocol):
    """Rows to train on, in memory (`Examples`) or on disk."""

    @property
    def task(self) -> Task:
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
    >>> task = Task(inputs=Inputs(numeric=1), loss="logistic")
    >>> batches = Examples(task, numeric=np.zeros((10, 1))).batches(4, seed=0)
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
