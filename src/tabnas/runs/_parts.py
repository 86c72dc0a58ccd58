"""From a table to the parts that a run learns, chooses and judges from."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabnas.data import (
    ClassTarget,
    Encoded,
    NumberTarget,
    Table,
    TableEncoder,
    Target,
    group_numbers,
    refuse_lonely_classes,
)
from tabnas.errors import TabnasError
from tabnas.latency import COST_NAMES
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
FOLDS = 5
HUGE = 1e15
SAMPLE_ROWS = max(COST_NAMES.values())


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
    folds: int = 0  # to choose candidates by; 0: the validation part
    groups: IntArray | None = None  # of the development rows, which no fold may tear apart
    sample: Table | None = None  # rows as they are in the table, for limits on latency

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
    data = data.weighing()
    validation = None if validation is None else _matching("validation", validation, data)
    test = None if test is None else _matching("test", test, data)
    if len(data) < FEWEST_ROWS:
        raise TabnasError(
            f"the table must have at least {FEWEST_ROWS} rows with a target, "
            f"however it has {len(data)}"
        )
    judged = test is not None or settings.shares.test > 0
    if judged and isinstance(data.target, ClassTarget):
        refuse_lonely_classes(data.target, data.truth)
    split = split_rows(
        data, settings, own_validation=validation is not None, own_test=test is not None
    )
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
    if settings.scaling == "none":
        _refuse_huge(encoder, learned)
    if validation is not None:
        learned = _joined(learned, part(validation))
    tested = part(data, split.test) if len(split.test) else None
    groups = None
    if settings.order == "group" and settings.order_column is not None:
        name = settings.order_column
        groups = group_numbers(name, data.features.column(name, development))
    return Parts(
        encoder=encoder,
        target=target,
        dimensions=dimensions,
        development=learned,
        train_rows=len(split.train),
        test=tested if test is None else part(test),
        folds=_fold_count(settings, learned, groups, own_validation=validation is not None),
        groups=groups,
        sample=_sample(data.features, encoder, shown)
        if settings.limits.keys() & COST_NAMES
        else None,
    )


def _fold_count(
    settings: RunSettings, development: Part, groups: IntArray | None, *, own_validation: bool
) -> int:
    """How many folds choose among candidates; 0 where the validation part does.

    A user's own validation rows are there to choose by, and rows in the order of time cannot be
    dealt out; groups can, as long as every fold gets some.
    """
    rows = len(development)
    if rows > SMALL_TABLE or own_validation or settings.order == "time":
        return 0
    if groups is not None:
        return FOLDS if len(np.unique(groups)) >= 2 * FOLDS else 0
    return min(FOLDS, rows // 2)


def _matching(name: str, own: Labelled, data: Labelled) -> Labelled:
    """A user's own rows, whose target must be that of the table."""
    own = own.weighing()
    if not len(own):
        raise TabnasError(f"the {name} part must have rows with a target, however it has none")
    same = own.target == data.target
    if isinstance(own.target, NumberTarget) and isinstance(data.target, NumberTarget):
        same = True  # their units are found from the training rows
    if not same:
        raise TabnasError(
            f"the {name} part must have the target of the table, classes in the same order, "
            "however it has another; make it with Labelled.of(table, data.target)"
        )
    return own


def _refuse_huge(encoder: TableEncoder, part: Part) -> None:
    """Unscaled, products of such values would leave what float32 can hold."""
    largest = np.abs(part.encoded.numeric).max(axis=0, initial=0.0)
    for feature, value in zip(encoder.features, largest.tolist(), strict=True):
        if value > HUGE:
            raise TabnasError(
                f"the column {feature!r} must stay below {HUGE:g} to be taken as it is, however it "
                f"holds {value:g}; use the scaling robust, or give it in another unit"
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


def _sample(features: Table, encoder: TableEncoder, rows: IntArray) -> Table:
    """Copies of the first of these rows, so that the table itself can be let go."""
    if features.named:
        features = features.select([column.name for column in encoder.columns])
    taken = features.take(rows[:SAMPLE_ROWS])
    return Table(taken.arrow.combine_chunks(), named=features.named)


def _joined(first: Part, second: Part) -> Part:
    """The rows of both, one after the other."""

    def both(get: Callable[[Part], NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate([get(first), get(second)])

    encoded = Encoded(both(lambda p: p.encoded.numeric), both(lambda p: p.encoded.categorical))
    task = first.examples.task
    target = both(lambda p: p.examples.labels if len(p.examples.labels) else p.examples.values)
    weight, own = None, None
    if len(first.examples.weight) or len(second.examples.weight):
        weight = both(lambda p: p.examples.weight if len(p.examples.weight) else np.ones(len(p)))
    if first.weight is not None or second.weight is not None:
        own = both(lambda p: np.ones(len(p)) if p.weight is None else p.weight)
    truth = both(lambda p: p.truth)
    return Part(examples(task, encoded, target, weight), encoded, truth, own)
