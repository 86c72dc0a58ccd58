"""The batches of a training: which rows each step uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tabnas.nets._task import Task
from tabnas.streams import stream
from tabnas.types import IntArray

if TYPE_CHECKING:
    from tabnas.nets._examples import Examples


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
