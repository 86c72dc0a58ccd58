"""The interface of engines. All engines compute the same, to float32 rounding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from tabnas.nets._examples import Examples
from tabnas.nets._shape import Child
from tabnas.types import Float32Array, IntArray

RowIndex = slice | IntArray
"""Which rows of the examples: a slice without a step, or row numbers."""
State = dict[str, NDArray[Any]]
"""All that a training needs to continue, as plain arrays by name."""

MAX_GRADIENT_NORM = 1e18
"""A gradient with a larger norm has exploded. Its square, which Adam averages, would overflow
float32, and an element whose average is infinite never moves again."""


class Engine(Protocol):
    """Weights, optimizer state and the arithmetic on them.

    `SuperNet` is the only caller: it resolves children, checks examples and learning rates, and
    makes one call at a time. Rows are a slice without a step, or row numbers as an int64 array. An
    engine raises a `TabNASError` if there are no rows, if one does not exist, and, where it needs a
    loss, if the weights of all rows are 0. `tabnas.testing.check_engine` tests an engine.

    A state consists of arrays, the same ones for every engine (see `SuperNetShape` for the names):

    weight/ARRAY              float32, like the array
    first_moment/ARRAY        the same, if the optimizer keeps one moment
    second_moment/ARRAY       the same, if it keeps two
    steps/LAYER               int64 [in_widths, out_widths] of a dense layer: how many steps the
                              elements between two widths have taken, if the optimizer is Adam
    steps/EMBEDDING           int64 [categories]
    steps/numeric_embedding   int64 [dimensions above 0, knots]: how many steps a knot has taken
                              in the dimensions between two candidates
    """

    def train_steps(
        self,
        children: Sequence[Child],
        examples: Examples,
        rows: Sequence[RowIndex],
        learning_rates: Sequence[float],
    ) -> list[float]:
        """Take one step after another, each of one child; return the losses before each.

        A step whose loss is not finite moves nothing and is the last: its loss ends the list. An
        exploded gradient counts as an infinite loss. An engine may also stop after any other step;
        the caller asks for the rest again.
        """

    def train_step_workers(
        self,
        children: Sequence[Child],
        examples: Examples,
        rows: Sequence[RowIndex],
        learning_rate: float,
    ) -> list[float]:
        """Take one step by the average gradient of several children, each on its own rows."""

    def loss(self, child: Child, examples: Examples, rows: RowIndex) -> float:
        """Return the weighted mean loss."""

    def losses(self, children: Sequence[Child], examples: Examples, rows: RowIndex) -> list[float]:
        """Return the loss of each child, all on the same rows.

        A child that is only evaluated may have any widths up to those of the SuperNet.
        """

    def logits(self, child: Child, examples: Examples, rows: RowIndex) -> Float32Array:
        """Return the logits [rows, outputs]."""

    def gradients(
        self, child: Child, examples: Examples, rows: RowIndex
    ) -> dict[str, Float32Array]:
        """Return the gradient of every array the child uses, in the child's shapes."""

    def weights(self) -> dict[str, Float32Array]:
        """Return every array of the SuperNet, as copies or in place; do not write to them."""

    def weight_buffers(self) -> list[Float32Array]:
        """Return all weights as few arrays, as copies or in place; do not write to them.

        Their order and shapes are the engine's own, and always the same. They may have elements
        that are no weights, whose values do not matter.
        """

    def load_weight_buffers(self, buffers: Sequence[Float32Array]) -> None:
        """Replace all weights by such arrays; moments and step counts do not change."""

    def state_dict(self) -> State:
        """Return copies of weights, moments and step counts."""

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Load a state that any engine has returned."""
