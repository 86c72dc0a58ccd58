"""What an engine can do. All engines do the same, to float32 rounding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from tabnas.nets._examples import Examples, Float32Array
from tabnas.nets._shape import Child
from tabnas.types import IntArray

Rows = slice | IntArray
"""Which rows of the examples."""
State = dict[str, NDArray[Any]]
"""All that shapes the future of a training, as plain arrays by name."""

LARGEST_NORM = 1e18
"""Of a gradient. One above it has exploded: its square, which Adam keeps, would leave float32, and
an element whose average is infinite never moves again."""


class Engine(Protocol):
    """Weights, optimiser state and the arithmetic on them.

    `SuperNet` is the only caller: it resolves children, checks examples and rates, and lets one
    call in at a time. Rows are a slice without a step, or numbers in an array of int64; an engine
    refuses, by a `TabnasError`, rows that are not there, no rows at all, and, where it needs a
    loss, rows that together weigh nothing. `tabnas.testing.check_engine` holds an engine to this.

    A state is made of arrays, the same ones for every engine (see `SuperNetShape` for the names):

    weight/ARRAY              float32, like the array
    first_moment/ARRAY        the same, if the optimiser keeps one moment
    second_moment/ARRAY       the same, if it keeps two
    steps/LAYER               int64 [in_edges, out_edges] of a dense layer: how many steps the
                              elements between two edges have taken, if the optimiser is Adam
    steps/EMBEDDING           int64 [categories]
    """

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
        """Take over a state of any engine."""
