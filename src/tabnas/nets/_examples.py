"""Rows of an encoded table, checked once so that the training loop need not check them again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tabnas.errors import TabnasError
from tabnas.nets._batches import Shuffle
from tabnas.nets._task import Inputs, Loss, Task

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
    weight       [rows], at least 0; without it every row counts the same

    Arrays of another type or memory order, and read-only ones, are copied; all others are used in
    place, and should not be changed while the examples are in use.

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
    arrays: tuple[NDArray[Any], ...]  # the five above, as the engines pass them on

    def __init__(
        self,
        task: Task,
        *,
        numeric: ArrayLike | None = None,
        categorical: ArrayLike | None = None,
        target: ArrayLike | None = None,
        weight: ArrayLike | None = None,
    ) -> None:
        given = numeric if numeric is not None else categorical
        if given is None:
            raise TabnasError("examples must have numeric or categorical inputs, but have neither")
        rows = len(np.asarray(given))
        set_field = object.__setattr__
        set_field(self, "task", task)
        set_field(self, "numeric", _numeric(numeric, rows, task.inputs))
        set_field(self, "categorical", _categorical(categorical, rows, task.inputs))
        set_field(self, "labels", _labels(target, rows, task))
        set_field(self, "values", _values(target, rows, task))
        set_field(self, "weight", _weight(weight, rows))
        set_field(self, "has_target", target is not None)
        arrays = (self.numeric, self.categorical, self.labels, self.values, self.weight)
        set_field(self, "arrays", arrays)

    def __len__(self) -> int:
        return len(self.numeric)

    @property
    def total_weight(self) -> float:
        """What the rows weigh together: their number, if they have no weights."""
        return float(self.weight.sum(dtype=np.float64)) if len(self.weight) else float(len(self))

    def batches(self, batch_size: int, *, seed: int, workers: int = 1) -> Shuffle:
        """All rows in a random order, epoch by epoch; each worker takes `batch_size` in a step."""
        return Shuffle(self, batch_size, seed, workers)


def _array(
    name: str, given: ArrayLike, shape: tuple[int, ...], dtype: type[np.generic]
) -> NDArray[Any]:
    """`given` as an array of that shape and type that the compiled kernels can read in place."""
    array = np.asarray(given)
    if array.shape != shape:
        raise TabnasError(f"{name} must have the shape {shape}, however {array.shape} was given")
    if array.dtype.kind not in "biuf":
        raise TabnasError(f"{name} must be numbers, however {array.dtype} was given")
    if dtype is np.int32 and array.dtype.kind == "f" and not np.array_equal(array, np.rint(array)):
        raise TabnasError(f"{name} must be whole numbers, however fractions were given")
    if dtype is np.int32:
        _within(name, array, np.iinfo(np.int32).min, np.iinfo(np.int32).max)
    array = np.require(array, dtype, ["C", "A", "W"])
    # NumPy calls one row of a strided array contiguous, whatever its strides say; kernels use them
    plain = np.empty(shape, dtype).strides
    return array if array.strides == plain else array.copy()


def _within(name: str, array: NDArray[Any], least: float, most: float) -> None:
    """Refuse values outside [least, most], NaN included, naming the first."""
    if not array.size or (array.min() >= least and array.max() <= most):
        return
    where = tuple(int(i) for i in np.argwhere(~((array >= least) & (array <= most)))[0])
    raise TabnasError(
        f"{name} must lie between {least} and {most}, "
        f"however {array[where]} was given at {where if len(where) > 1 else where[0]}"
    )


def _numeric(given: ArrayLike | None, rows: int, inputs: Inputs) -> Float32Array:
    if given is None and inputs.numeric:
        raise TabnasError(f"the task has {inputs.numeric} numeric columns, but none were given")
    numeric = np.zeros((rows, 0)) if given is None else given
    array = _array("numeric inputs", numeric, (rows, inputs.numeric), np.float32)
    largest = float(np.finfo(np.float32).max)
    _within("numeric inputs (as float32)", array, -largest, largest)
    return array


def _categorical(given: ArrayLike | None, rows: int, inputs: Inputs) -> Int32Array:
    columns = len(inputs.embeddings)
    if given is None and columns:
        raise TabnasError(f"the task has {columns} categorical columns, but none were given")
    categorical = np.zeros((rows, 0), np.int32) if given is None else given
    array = _array("categorical inputs", categorical, (rows, columns), np.int32)
    for column, embedding in enumerate(inputs.embeddings):
        most = embedding.categories - 1
        _within(f"the categories of column {column}", array[:, column], 0, most)
    return array


def _labels(target: ArrayLike | None, rows: int, task: Task) -> Int32Array:
    if target is None or task.loss is not Loss.SOFTMAX:
        return np.zeros(0, np.int32)
    labels = _array("class labels", target, (rows,), np.int32)
    _within("class labels", labels, 0, task.outputs - 1)
    return labels


def _values(target: ArrayLike | None, rows: int, task: Task) -> Float32Array:
    if target is None or task.loss is Loss.SOFTMAX:
        return np.zeros((0, task.outputs), np.float32)
    shaped = np.asarray(target)
    if task.outputs == 1 and shaped.ndim == 1:
        shaped = shaped[:, None]
    values = _array("targets", shaped, (rows, task.outputs), np.float32)
    largest = float(np.finfo(np.float32).max)
    least, most = (0.0, 1.0) if task.loss is Loss.LOGISTIC else (-largest, largest)
    _within("targets", values, least, most)
    return values


def _weight(given: ArrayLike | None, rows: int) -> Float32Array:
    if given is None:
        return np.zeros(0, np.float32)
    weight = _array("row weights", given, (rows,), np.float32)
    _within("row weights", weight, 0.0, float(np.finfo(np.float32).max))
    return weight
