"""From a table to the parts that a run learns, chooses and judges from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabnas.data import (
    ClassTarget,
    Encoded,
    NumberTarget,
    TableEncoder,
    Target,
    refuse_lonely_classes,
)
from tabnas.errors import TabnasError
from tabnas.model import EncodedRows, examples, network_task, probabilities
from tabnas.nets import Examples, Task
from tabnas.runs._embedding_rule import fit_embeddings
from tabnas.runs._labelled import Labelled
from tabnas.runs._settings import RunSettings
from tabnas.runs._splitting import class_balance, split_rows
from tabnas.types import FloatArray, IntArray

FEWEST_ROWS = 10
"""Fewer cannot be learned from, chosen by and judged on."""
SMALL_TABLE = 3_000
"""Up to so many rows for learning and choosing, candidates are chosen by cross-validation."""


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows, as a network takes them, with their truth for judging."""

    examples: Examples
    encoded: Encoded
    truth: NDArray[Any]
    weight: FloatArray | None  # the user's own, for scores; training may weigh classes besides

    def __len__(self) -> int:
        return len(self.truth)

    @property
    def rows(self) -> EncodedRows:
        """The same for other learners, classes weighed as in training."""
        weight = self.examples.weight if len(self.examples.weight) else None
        return EncodedRows(encoded=self.encoded, truth=self.truth, weight=weight)

    def take(self, rows: IntArray | slice) -> Part:
        """Some of the rows; a slice shares memory."""
        whole = self.examples
        target = whole.labels if len(whole.labels) else whole.values
        encoded = Encoded(self.encoded.numeric[rows], self.encoded.categorical[rows])
        weight = whole.weight[rows] if len(whole.weight) else None
        return Part(
            examples(whole.task, encoded, target[rows], weight),
            encoded,
            self.truth[rows],
            None if self.weight is None else self.weight[rows],
        )


@dataclass(frozen=True, eq=False)
class Parts:
    """Everything that follows from table and settings, but for the plan."""

    encoder: TableEncoder
    target: Target
    dimensions: tuple[int, ...]
    development: Part  # training rows, then validation rows
    train_rows: int
    test: Part | None  # None where a caller judges by other means

    @cached_property
    def train(self) -> Part:
        """The rows that weights are learned from."""
        return self.development.take(slice(0, self.train_rows))

    @cached_property
    def validation(self) -> Part:
        """The rows that architectures are chosen by."""
        return self.development.take(slice(self.train_rows, None))

    @property
    def everything(self) -> Part:
        """All rows, those of the test included."""
        return self.development if self.test is None else _joined(self.development, self.test)

    @property
    def task(self) -> Task:
        """The two ends of every network of the run."""
        return self.development.examples.task

    def target_prediction(self, raw: NDArray[np.float32]) -> FloatArray:
        """Probabilities, or values in the target's own units, from a network's outputs."""
        if isinstance(self.target, NumberTarget):
            return self.target.decode(raw[:, 0])
        return probabilities(raw)


def prepare(
    data: Labelled,
    settings: RunSettings,
    *,
    validation: Labelled | None = None,
    test: Labelled | None = None,
) -> Parts:
    """Split the rows, and encode them by what the rows that may be learned from show.

    Rows of the test part shape nothing: neither vocabularies and scales nor the target's units.
    `validation` and `test` are a user's own, from other files; they replace the shares.
    """
    if len(data) < FEWEST_ROWS:
        raise TabnasError(
            f"the table must have at least {FEWEST_ROWS} rows with a target, "
            f"however it has {len(data)}"
        )
    judged = test is not None or settings.shares.test > 0
    if judged and isinstance(data.target, ClassTarget):
        refuse_lonely_classes(data.target, data.truth)
    split = split_rows(data, settings, own_validation=bool(validation), own_test=bool(test))
    development = np.concatenate([split.train, split.validation])
    # small tables train their final network on all of these; large ones have rows enough without
    shown = development if len(development) <= SMALL_TABLE else split.train
    encoder = TableEncoder.fit(
        data.features,
        kinds=settings.kinds,
        scaling=settings.scaling,
        drop=_dropped(settings),
        rows=shown,
    )
    encoder, dimensions = fit_embeddings(encoder, settings.budget)
    target = data.target
    if isinstance(target, NumberTarget):
        target = NumberTarget.fit(target.name, pa.chunked_array([data.truth[shown]]))
    task = network_task(encoder, target, dimensions)
    balance = class_balance(data, split.train, settings)

    def part(rows: Labelled, taken: IntArray | None = None) -> Part:
        return _part(task, encoder, target, balance, rows, taken)

    learned = part(data, development)
    if validation:
        learned = _joined(learned, part(validation))
    tested = part(test) if test else part(data, split.test) if len(split.test) else None
    return Parts(
        encoder=encoder,
        target=target,
        dimensions=dimensions,
        development=learned,
        train_rows=len(split.train),
        test=tested,
    )


def _dropped(settings: RunSettings) -> tuple[str, ...]:
    """Columns that are no features; what orders the split would tell the parts apart."""
    return tuple(dict.fromkeys([*settings.drop, *filter(None, [settings.order_column])]))


def _part(
    task: Task,
    encoder: TableEncoder,
    target: Target,
    balance: FloatArray | None,
    data: Labelled,
    rows: IntArray | None,
) -> Part:
    encoded = encoder.encode(data.features, rows=rows)
    truth = data.truth if rows is None else data.truth[rows]
    own = data.weight if data.weight is None or rows is None else data.weight[rows]
    learned = target.scaled(truth) if isinstance(target, NumberTarget) else truth
    weight = own
    if balance is not None:
        weight = balance[truth] if own is None else own * balance[truth]
    return Part(examples(task, encoded, learned, weight), encoded, truth, own)


def _joined(first: Part, second: Part) -> Part:
    """The rows of both, one after the other."""

    def both(get: Callable[[Part], NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate([get(first), get(second)])

    encoded = Encoded(both(lambda p: p.encoded.numeric), both(lambda p: p.encoded.categorical))
    task = first.examples.task
    target = both(lambda p: p.examples.labels if len(p.examples.labels) else p.examples.values)
    weighted = len(first.examples.weight) and len(second.examples.weight)
    weight = both(lambda p: p.examples.weight) if weighted else None
    own = None
    if first.weight is not None and second.weight is not None:
        own = np.concatenate([first.weight, second.weight])
    truth = both(lambda p: p.truth)
    return Part(examples(task, encoded, target, weight), encoded, truth, own)
