"""The parts that a run learns, chooses and judges from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tabnas.data import NumberTarget, Table, TableEncoder, Target
from tabnas.model import probabilities
from tabnas.nets import Task, TrainingRows
from tabnas.runs._part import Part, joined
from tabnas.types import FloatArray, IntArray

SMALL_TABLE = 3_000
"""Up to so many rows for learning and choosing, candidates are chosen by cross-validation."""


class Learned(Protocol):
    """Rows that weights are learned from, wherever they are."""

    def __len__(self) -> int: ...

    @property
    def examples(self) -> TrainingRows:
        """As a training takes them."""


@dataclass(frozen=True, eq=False)
class Parts:
    """Everything that follows from table and settings, but for the plan."""

    encoder: TableEncoder
    target: Target
    dimensions: tuple[int, ...]
    development: Part  # training rows, then validation rows
    train_rows: int
    test: Part | None  # None where a caller judges by other means
    folds: int = 0  # to choose candidates by; 0: the validation part
    groups: IntArray | None = None  # of the development rows, which no fold may tear apart
    sample: Table | None = None  # rows as they are in the table, for limits on latency
    notes: tuple[str, ...] = ()  # what people should know of the rows

    @property
    def train(self) -> Learned:
        """The rows that weights are learned from."""
        return self.known

    @cached_property
    def known(self) -> Part:
        """The same in memory: all of them, or a sample where they are too many for it."""
        return self.development.take(slice(0, self.train_rows))

    @cached_property
    def validation(self) -> Part:
        """The rows that architectures are chosen by."""
        return self.development.take(slice(self.train_rows, None))

    @property
    def everything(self) -> Part:
        """All rows, those of the test included."""
        return self.development if self.test is None else joined(self.development, self.test)

    @property
    def task(self) -> Task:
        """The two ends of every network of the run."""
        return self.development.examples.task

    def digest(self) -> str:
        """A number for all that a run sees of its table: rows, split, encoding, target."""
        found = sha256(json.dumps([self.encoder.to_dict(), self.target.to_dict()]).encode())
        for part in (self.development, *filter(None, [self.test])):
            for array in (*part.examples.arrays, part.truth):
                found.update(np.ascontiguousarray(array).data)
        found.update(str(self.train_rows).encode())
        return found.hexdigest()[:16]

    def target_prediction(self, raw: NDArray[np.float32]) -> FloatArray:
        """Probabilities, or values in the target's own units, from a network's outputs."""
        if isinstance(self.target, NumberTarget):
            return self.target.decode(raw[:, 0])
        return probabilities(raw)
