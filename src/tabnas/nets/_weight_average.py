"""An exponential moving average of the weights of one training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from math import expm1

import numpy as np

from tabnas.nets._supernet import SuperNet
from tabnas.types import Float32Array

UPDATES_PER_EPOCH, MIN_STEPS_BETWEEN = 16, 8
"""How often the average is updated; always at the end of an epoch, too. More often is no better and
takes longer, since an update reads all rows of all embeddings (results/weight_averaging.md)."""


class WeightAverage:
    """The average of a network's weights, in which those of t epochs ago count exp(-t / `epochs`).

    The weights before the first step are not part of it. When it is updated, and how, follows from
    the number of the step alone.
    """

    def __init__(self, net: SuperNet, *, epochs: float, steps_per_epoch: int) -> None:
        self._net = net
        self._memory = epochs * steps_per_epoch  # in steps
        self._steps_per_epoch = steps_per_epoch
        self._every = max(MIN_STEPS_BETWEEN, steps_per_epoch // UPDATES_PER_EPOCH)
        self._average = [np.zeros_like(buffer) for buffer in net.weight_buffers()]
        # the network's own weights while it has the average; for products during an update
        self._spare = [np.zeros_like(buffer) for buffer in self._average]
        self._is_swapped_in = False

    def update(self, step: int) -> None:
        """Include the weights after the given number of steps, if it is time to.

        It must be called after every step that `steps_ahead` leads to.
        """
        position = (step - 1) % self._steps_per_epoch + 1
        steps = position % self._every  # since the last update
        if steps and position < self._steps_per_epoch:
            return
        rate = np.float32(self._rate(step, steps or self._every))
        # a sum of products, unlike a product of the difference, cannot overflow
        for average, product, weights in zip(
            self._average, self._spare, self._net.weight_buffers(), strict=True
        ):
            np.multiply(weights, rate, out=product)
            average *= np.float32(1) - rate
            average += product

    def steps_ahead(self, step: int) -> int:
        """Return how many steps there are after `step` up to the next update."""
        position = step % self._steps_per_epoch
        return min(self._every - position % self._every, self._steps_per_epoch - position)

    def _rate(self, step: int, steps: int) -> float:
        """Return the share of the weights after `step` that stand for the last `steps`.

        All weights so far have a total weight of 1 - exp(-step / memory), by which it is divided:
        Adam's bias correction.
        """
        return expm1(-steps / self._memory) / expm1(-step / self._memory)

    @contextmanager
    def swap_in(self) -> Iterator[None]:
        """Give the network the average; it gets its own weights back afterwards, bit for bit."""
        for own, weights in zip(self._spare, self._net.weight_buffers(), strict=True):
            np.copyto(own, weights)
        self._is_swapped_in = True
        try:
            self._net.load_weight_buffers(self._average)
            yield
        finally:
            self._net.load_weight_buffers(self._spare)
            self._is_swapped_in = False

    @contextmanager
    def swap_out(self) -> Iterator[None]:
        """Give the network its own weights for a while, if it has the average."""
        if not self._is_swapped_in:
            yield
            return
        try:
            self._net.load_weight_buffers(self._spare)
            yield
        finally:
            self._net.load_weight_buffers(self._average)

    def weights(self) -> dict[str, Float32Array]:
        """Return copies of the average by name."""
        with nullcontext() if self._is_swapped_in else self.swap_in():
            return self._net.weights()

    def load_weights(self, weights: Mapping[str, Float32Array]) -> None:
        """Continue from an average that `weights` has returned."""
        with self.swap_in():
            self._net.load_weights(weights)
            self._average = [np.array(buffer) for buffer in self._net.weight_buffers()]
