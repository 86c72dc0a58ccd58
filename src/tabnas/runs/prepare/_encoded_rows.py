"""Rows in memory as networks take them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.data import Encoded, NumberTarget, TableEncoder, Target
from tabnas.model import examples
from tabnas.nets import Examples, Loss, Task
from tabnas.types import FloatArray, IntArray


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
    def training_weight(self) -> FloatArray | None:
        """What rows weigh in training, classes included; None if they weigh the same."""
        return self.examples.weight if len(self.examples.weight) else None  # type: ignore[return-value]

    @property
    def learned_truth(self) -> NDArray[Any]:
        """Class numbers, or values in the units in which networks learn them."""
        quantity = self.examples.task.loss is Loss.SQUARED_ERROR
        return self.examples.values[:, 0] if quantity else self.truth

    def recoded(self, task: Task, encoder: TableEncoder, max_categories: int) -> Part:
        """The same rows with the categories of `encoder.limited(max_categories)`.

        Numbers are shared with these.
        """
        categorical = self.encoded.categorical.copy()
        encoder.recode(categorical, max_categories)
        encoded = Encoded(self.encoded.numeric, categorical)
        own = self.examples
        target = own.labels if len(own.labels) else own.values
        weight = own.weight if len(own.weight) else None
        return Part(examples(task, encoded, target, weight), encoded, self.truth, self.weight)

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


def make_part(
    task: Task,
    target: Target,
    encoded: Encoded,
    truth: NDArray[Any],
    *,
    own: FloatArray | None = None,
    balance: FloatArray | None = None,
) -> Part:
    """Encoded rows with their truth; `own` is what a user weighs them, `balance` each class."""
    learned = target.scaled(truth) if isinstance(target, NumberTarget) else truth
    weight = own
    if balance is not None:
        weight = balance[truth] if own is None else own * balance[truth]
    return Part(examples(task, encoded, learned, weight), encoded, truth, own)


def joined(first: Part, second: Part) -> Part:
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
