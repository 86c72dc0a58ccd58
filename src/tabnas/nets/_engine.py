"""What an engine can do. Both engines do the same to float32 rounding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from tabnas.nets._examples import Examples, Float32Array
from tabnas.nets._shape import Child
from tabnas.types import IntArray

Rows = slice | IntArray
State = dict[str, NDArray[Any]]

LARGEST_NORM = 1e18
"""Of a gradient. One above it has exploded: its square, which Adam keeps, would leave float32, and
an element whose average is infinite never moves again."""


class Engine(Protocol):
    """Weights, optimiser state and the arithmetic on them."""

    def train_step(self, child: Child, examples: Examples, rows: Rows, rate: float) -> float:
        """One step of one child; returns the loss before it. Not finite: nothing has moved.

        A gradient that exploded counts as an infinite loss.
        """

    def train_step_workers(
        self, children: Sequence[Child], examples: Examples, rows: Sequence[Rows], rate: float
    ) -> list[float]:
        """One step by the average gradient of several children, each on its own rows."""

    def loss(self, child: Child, examples: Examples, rows: Rows) -> float:
        """The weighted mean loss."""

    def losses(self, children: Sequence[Child], examples: Examples, rows: Rows) -> list[float]:
        """The loss of each child, all on the same rows."""

    def logits(self, child: Child, examples: Examples, rows: Rows) -> Float32Array:
        """[rows, outputs]."""

    def gradients(self, child: Child, examples: Examples, rows: Rows) -> dict[str, Float32Array]:
        """The gradient of every array the child uses, in the child's shapes."""

    def weights(self) -> dict[str, Float32Array]:
        """Every array of the SuperNet; writing to them changes the network or not, at will."""

    def state(self) -> State:
        """Copies of all that shapes the future: weights, moments, step counts."""

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over a state of either engine."""
