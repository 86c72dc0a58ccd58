"""Where the rows of every training step come from."""

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
    """The rows of one step: for each worker that has some, their numbers among the examples."""

    examples: Examples
    rows: tuple[IntArray, ...]

    @property
    def weight(self) -> float:
        """What the rows of all workers weigh together: their number, if they have no weights."""
        if not len(self.examples.weight):
            return float(sum(map(len, self.rows)))
        weights = self.examples.weight
        return float(sum(weights[rows].sum(dtype=np.float64) for rows in self.rows))


class Batches(Protocol):
    """The batches of a training, by step: the same for the same seed, wherever it goes on from."""

    @property
    def steps_per_epoch(self) -> int:
        """Steps until every row was seen once."""

    def at(self, step: int) -> Batch:
        """The batch of a step, counted from 0 over all epochs."""


class TrainingRows(Protocol):
    """Rows to learn from, in memory (`Examples`) or elsewhere."""

    @property
    def task(self) -> Task:
        """What is learned from them."""

    def __len__(self) -> int: ...

    @property
    def total_weight(self) -> float:
        """What the rows weigh together: their number, if they have no weights."""

    def batches(self, batch_size: int, *, seed: int, workers: int = 1) -> Batches:
        """All rows in a random order, epoch by epoch; each worker takes `batch_size` in a step."""


class Shuffle:
    """The batches of rows in memory; the last of an epoch is as small as it comes.

    >>> from tabnas.nets import Examples, Inputs
    >>> task = Task(inputs=Inputs(numeric=1), loss="logistic")
    >>> shuffle = Examples(task, numeric=np.zeros((10, 1))).batches(4, seed=0)
    >>> [len(shuffle.at(step).rows[0]) for step in range(4)]
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
        """The order depends on seed and epoch alone."""
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
