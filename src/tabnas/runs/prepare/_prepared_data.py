"""The parts that a run learns, chooses and judges from."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tabnas.data import NumberTarget, Table, TableEncoder, Target
from tabnas.model import network_task, probabilities
from tabnas.nets import Task, TrainingRows
from tabnas.runs._tree_parts import TreeParts
from tabnas.runs.prepare._embedding_rule import embeddings_within
from tabnas.runs.prepare._encoded_rows import Part, joined
from tabnas.space import Budget
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
    trees: TreeParts | None = None  # the same rows for boosted trees; None if none are grown
    uncut_digest: str | None = None  # of the parts with all categories, if a limit has cut them

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

    def within(self, budget: Budget) -> Self:
        """The parts with vocabularies and embeddings that the budget bears; rows are shared."""
        encoder, most, dimensions = embeddings_within(self.encoder, budget)
        if encoder is self.encoder and dimensions == self.dimensions:
            return self
        task = network_task(encoder, self.target, dimensions)
        return replace(
            self,
            uncut_digest=self.digest(),
            encoder=encoder,
            dimensions=dimensions,
            development=self.development.recoded(task, self.encoder, most),
            test=None if self.test is None else self.test.recoded(task, self.encoder, most),
        )

    def tree_parts(self) -> TreeParts | None:
        """The rows for boosted trees, if some are to be grown."""
        return self.trees

    def digest(self) -> str:
        """A number for all that a run can see of its table: rows, split, encoding, target.

        It is the same for every limit.
        """
        if self.uncut_digest is not None:
            return self.uncut_digest
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
