"""The fitted thing: an encoder, a network and a target, and the limits it keeps."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.data import (
    ClassTarget,
    DataWarning,
    Encoded,
    NumberTarget,
    Table,
    TableEncoder,
    Target,
    UnseenCategories,
)
from tabnas.data.reading import RowError, rename_rows
from tabnas.errors import TabNASError
from tabnas.model._limits import checked_limits, costs_of, refuse_broken
from tabnas.model._shapes import checked_weights, weight_shapes
from tabnas.model._task import Float32Array, examples, network_task
from tabnas.nets import SGD, SuperNet, Task
from tabnas.space import Architecture
from tabnas.types import FloatArray

PIECE_ROWS = 1 << 16
"""The most rows read, encoded and computed at a time, so that memory does not grow with the table.
"""
PIECE_CELLS = 1 << 21  # the same for rows times columns, down to the fewest rows
FEWEST_ROWS = 1 << 10


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Model:
    """A trained network from table to answers.

    The network's outputs are calibrated as they are: the temperature of its probabilities, fitted
    on rows held out, is in the weights of the output layer.

    The limits are sacred: a model that breaks one of its own cannot be made, loaded or unpickled.
    A limit on something measured, such as a latency, cannot be checked again here and is kept.
    """

    encoder: TableEncoder
    target: Target
    architecture: Architecture
    dimensions: tuple[int, ...] = ()  # of the embedding of each categorical column
    weights: Mapping[str, Float32Array]  # by name, as `SuperNet.standalone(...).weights()`
    limits: Mapping[str, float] = field(default_factory=dict)  # cost: at most

    def __post_init__(self) -> None:
        if not isinstance(self.target, ClassTarget | NumberTarget):
            raise TabNASError(
                "the target must be a ClassTarget or a NumberTarget, "
                f"got {type(self.target).__name__}"
            )
        task = network_task(self.encoder, self.target, self.dimensions)
        set_field = object.__setattr__
        set_field(self, "dimensions", tuple(map(int, self.dimensions)))
        # read-only, lest a limit be changed under a model that was checked against it
        set_field(self, "limits", MappingProxyType(checked_limits(self.limits)))
        costs = costs_of(task, self.architecture, self.limits)
        refuse_broken(self.limits, costs, self.architecture)
        shapes = weight_shapes(task, self.architecture)
        set_field(self, "weights", MappingProxyType(checked_weights(self.weights, shapes)))

    # -- what it is ------------------------------------------------------------------------------

    @cached_property
    def task(self) -> Task:
        """The network's task: binary is logistic, multiclass softmax, regression squared error."""
        return network_task(self.encoder, self.target, self.dimensions)

    @property
    def costs(self) -> dict[str, float]:
        """What the network uses of every cost that can be computed, by name."""
        return costs_of(self.task, self.architecture)

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels, in the order of `predict_proba`; none for a quantity."""
        return self.target.classes if isinstance(self.target, ClassTarget) else ()

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The columns of the training table, in order."""
        return self.encoder.names

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Columns that a separated file must be read as it writes them: "007" is not 7."""
        commas = getattr(self.target, "decimal", ".") != "."
        as_written = commas or any(isinstance(label, str) for label in self.classes)
        return (*self.encoder.text_columns, *([self.target.name] if as_written else []))

    def __repr__(self) -> str:
        return (
            f"<Model {self.architecture} for {self.target.task} target {self.target.name!r}, "
            f"{self.costs['parameters']:,} parameters>"
        )

    # -- what it says ----------------------------------------------------------------------------

    def raw(self, table: Any, *, unseen: UnseenCategories | None = None) -> Float32Array:
        """The network's outputs [rows, outputs]: logits, or the scaled quantity.

        Warns of columns of which nearly all values are unseen, unless `unseen` counts them.
        """
        table = Table.of(table)
        out = np.empty((len(table), self.target.outputs), np.float32)
        self._fill(out, table, lambda raw: raw, unseen)
        return out

    def raw_pieces(
        self, table: Any, *, unseen: UnseenCategories | None = None
    ) -> Iterator[Float32Array]:
        """Yield the rows of `raw` some at a time, so that neither table nor outputs fill memory."""
        start = 0
        counted = UnseenCategories(self.encoder) if unseen is None else unseen
        for piece in self.pieces(Table.of(table)):
            with rename_rows(np.arange(start, start + len(piece))):
                encoded = self.encoder.encode(piece)
                raw = self._outputs(encoded)
            counted.add(encoded)
            yield raw
            start += len(piece)
        if unseen is None:
            for note in counted.notes():
                warnings.warn(note, DataWarning, stacklevel=2)

    def pieces(self, table: Table, *others: str) -> Iterator[Table]:
        """Yield some rows at a time, with the columns that the model needs and some others."""
        if table.named and self.encoder.named:
            self.encoder.matched(table)  # what is missing may be there by another name
            names = {column.name for column in self.encoder.columns}
            names |= {table.known(name) for name in others}
            table = table.select([name for name in table if name in names])
        return table.pieces(piece_rows(len(table.names)))

    def predict(self, table: Any) -> NDArray[Any]:
        """Labels of their own type, or values in the target's own units, [rows]."""
        table = Table.of(table)
        if isinstance(self.target, NumberTarget):
            values = np.empty(len(table))
            self._fill(values, table, self.decode)
            return values
        assert isinstance(self.target, ClassTarget)
        codes = np.empty(len(table), np.int64)
        self._fill(codes, table, lambda raw: probabilities(raw).argmax(axis=1))
        return self.target.decode(codes)

    def predict_proba(self, table: Any) -> FloatArray:
        """The probability of every class [rows, classes], in the order of `classes`."""
        if not self.classes:
            raise TabNASError(
                f"probabilities must be of classes, but the target {self.target.name!r} is a "
                "quantity; use predict"
            )
        table = Table.of(table)
        out = np.empty((len(table), len(self.classes)))
        self._fill(out, table, self.decode)
        return out

    def predict_encoded(self, encoded: Encoded) -> FloatArray:
        """Predict rows that this model's encoder has encoded already.

        Returns what `predict_proba` does of classes, and `predict` of quantities.
        """
        return self.decode(self._outputs(encoded))

    def decode(self, raw: Float32Array) -> FloatArray:
        """What the network's outputs say: probabilities [rows, classes], or values [rows]."""
        if isinstance(self.target, NumberTarget):
            return self.target.decode(raw[:, 0])
        return probabilities(raw)

    def _fill(
        self,
        out: NDArray[Any],
        table: Table,
        finish: Callable[[Float32Array], NDArray[Any]],
        unseen: UnseenCategories | None = None,
    ) -> None:
        """Write what `finish` makes of the network's outputs, a piece of the rows at a time."""
        start = 0
        for raw in self.raw_pieces(table, unseen=unseen):
            out[start : start + len(raw)] = finish(raw)
            start += len(raw)

    def _outputs(self, encoded: Encoded) -> Float32Array:
        raw = self._net.logits(self.architecture, examples(self.task, encoded))
        if not np.isfinite(raw).all():
            raise RowError(
                "the network's outputs must be finite, but those of",
                int((~np.isfinite(raw)).any(axis=1).argmax()),
                "are not: its weights are too large for float32",
            )
        return raw

    # -- how it is kept --------------------------------------------------------------------------

    @cached_property
    def _net(self) -> SuperNet:
        # Threads that come at once may build one each; they are equal, and the network has a lock.
        net = SuperNet.standalone(self.architecture, self.task, optimizer=SGD())
        net.load_weights(self.weights)
        return net

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are made anew from the fields, so they are checked like any model."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        plain = {n: dict(v) if isinstance(v, MappingProxyType) else v for n, v in given.items()}
        return _rebuilt, (plain,)


def piece_rows(columns: int) -> int:
    """How many rows of a table of so many columns are worked on at a time."""
    return min(PIECE_ROWS, max(FEWEST_ROWS, PIECE_CELLS // max(columns, 1)))


def _rebuilt(given: dict[str, Any]) -> Model:
    return Model(**given)


def probabilities(raw: FloatArray | Float32Array) -> FloatArray:
    """[rows, classes] from logits [rows, outputs], where a single one is that of the second class.

    >>> probabilities(np.zeros((1, 1), np.float32)).tolist()
    [[0.5, 0.5]]
    """
    z = np.asarray(raw, np.float64)
    if z.shape[1] == 1:  # softmax of (0, z) is the logistic function
        z = np.concatenate([np.zeros_like(z), z], axis=1)
    # the largest logit becomes 0, so that nothing overflows
    share = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(share / share.sum(axis=1, keepdims=True))
