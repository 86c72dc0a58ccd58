"""Stretches of training steps that an engine takes in one call.

A call of Python for every step of a small network takes nearly as long as the step, and trainings
in several threads wait for each other's calls.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from tabnas.nets._examples import Batches, Examples
from tabnas.types import IntArray

MAX_STEPS = 64
"""Steps of one call: more take no less time for each."""
MAX_MULTIPLY_ADDS = 1 << 26
"""Of one call, for the outputs of its rows. One thread takes some milliseconds for them and for
the gradients, so that a training can be stopped soon, whatever the size of the network."""


@dataclass(frozen=True, eq=False)
class Stretch:
    """Steps on rows of the same examples, without those whose rows have no weight."""

    examples: Examples
    steps: list[int]
    rows: list[IntArray]
    weights: list[float]  # of the rows of each step


def count_steps(multiply_adds: Iterable[int]) -> int:
    """Return how many of the steps, by their multiply-adds, one call should take: at least one.

    >>> count_steps([1_000] * 100), count_steps([10_000_000] * 100), count_steps([10**10])
    (64, 6, 1)
    """
    count = total = 0
    for step in islice(multiply_adds, MAX_STEPS):
        total += step
        if count and total > MAX_MULTIPLY_ADDS:
            break
        count += 1
    return count


def collect_stretch(batches: Batches, step: int, count: int) -> Stretch:
    """Return the batches of `count` steps, which must not go beyond `batches.steps_ahead(step)`."""
    examples = batches.at(step).examples
    stretch = Stretch(examples, [], [], [])
    for number in range(step, step + count):
        batch = batches.at(number)
        if (weight := batch.weight) > 0:  # else there is no loss, and no gradient
            (rows,) = batch.rows
            stretch.steps.append(number)
            stretch.rows.append(rows)
            stretch.weights.append(weight)
    return stretch
