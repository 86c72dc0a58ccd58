"""A trained model: an encoder, a network, a target, and the limits it satisfies."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tabnas.data import (
    ClassTarget,
    DataWarning,
    EncodedTable,
    NumberTarget,
    Table,
    TableEncoder,
    Target,
    UnseenCategories,
)
from tabnas.data.lowlevel import RowError, renumber_rows
from tabnas.errors import InfeasibleError, TabNASError
from tabnas.model._limits import compute_network_costs, normalize_limits
from tabnas.model._network_spec import make_examples, make_network_spec
from tabnas.model._rounding import round_weights
from tabnas.model._weights import check_weights, weight_shapes
from tabnas.nets import SGD, NetworkSpec, SuperNet
from tabnas.space import Architecture, Precision, check_precision
from tabnas.threads import stream_in_threads
from tabnas.types import Float32Array, FloatArray

Result = TypeVar("Result")

MAX_CHUNK_ROWS = 1 << 16
"""Rows are read, encoded and predicted in chunks, so that memory does not grow with the table."""
MAX_CHUNK_CELLS = 1 << 21  # rows times columns; chunks of wide tables have fewer rows
MIN_CHUNK_ROWS = 1 << 10


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Model:
    """A trained network that predicts from tables.

    Its probabilities are calibrated: the temperature, fitted on held-out rows, is part of the
    weights of the output layer.

    The limits are hard: a model that exceeds one of them cannot be created, loaded or unpickled. A
    limit on a measured cost, such as a latency, cannot be checked here and is only stored.
    """

    encoder: TableEncoder
    target: Target
    architecture: Architecture
    category_dimensions: tuple[int, ...] = ()  # of the embedding of each categorical column
    knots: tuple[tuple[float, ...], ...] = ()  # of each numeric feature, if numbers are embedded
    precision: Precision = Precision.FLOAT32  # that weights are stored in, and rounded to
    weights: Mapping[str, Float32Array]  # by name, as `SuperNet.standalone(...).weights()`
    limits: Mapping[str, float] = field(default_factory=dict)  # upper bounds by cost

    def __post_init__(self) -> None:
        if not isinstance(self.target, ClassTarget | NumberTarget):
            raise TabNASError(
                "the target must be a ClassTarget or a NumberTarget, "
                f"got {type(self.target).__name__}"
            )
        set_field = object.__setattr__
        set_field(self, "category_dimensions", tuple(map(int, self.category_dimensions)))
        set_field(self, "precision", check_precision(self.precision))
        if not self.architecture.dimension:
            set_field(self, "knots", ())
        spec = make_network_spec(self.encoder, self.target, self.category_dimensions, self.knots)
        set_field(self, "knots", spec.inputs.knots)  # as float32
        # read-only, so that limits cannot change after the model was checked against them
        set_field(self, "limits", MappingProxyType(normalize_limits(self.limits)))
        self.check_limits()
        shapes = weight_shapes(spec, self.architecture)
        weights = round_weights(check_weights(self.weights, shapes), self.precision)
        for array in weights.values():
            array.flags.writeable = False
        set_field(self, "weights", MappingProxyType(weights))

    # -- properties ------------------------------------------------------------------------------

    @cached_property
    def spec(self) -> NetworkSpec:
        """The inputs, outputs and loss of the network."""
        return make_network_spec(self.encoder, self.target, self.category_dimensions, self.knots)

    @property
    def costs(self) -> dict[str, float]:
        """Every cost of the network that can be computed, by name."""
        return compute_network_costs(self.spec, self.architecture, self.precision)

    def check_limits(self) -> None:
        """Raise an error if the network exceeds a limit. Measured costs cannot be checked here."""
        costs = compute_network_costs(
            self.spec, self.architecture, self.precision, required=self.limits
        )
        for name, upper in self.limits.items():
            if name in costs and costs[name] > upper:
                raise InfeasibleError(
                    f"the limit on {name} is {upper:,}, but the architecture {self.architecture} "
                    f"needs {costs[name]:,} as {self.precision}; choose one within the limit"
                )

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels in the order of `predict_proba`; empty for regression."""
        return self.target.classes if isinstance(self.target, ClassTarget) else ()

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The columns of the training table in order."""
        return self.encoder.names

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Columns of a CSV file that must be read as text, since "007" is not 7."""
        commas = getattr(self.target, "decimal", ".") != "."
        as_written = commas or any(isinstance(label, str) for label in self.classes)
        return (*self.encoder.text_columns, *([self.target.name] if as_written else []))

    def __repr__(self) -> str:
        return (
            f"<Model {self.architecture} for {self.target.task} target {self.target.name!r}, "
            f"{self.costs['parameters']:,} parameters>"
        )

    # -- prediction ------------------------------------------------------------------------------

    def predict_raw(self, table: Any, *, unseen: UnseenCategories | None = None) -> Float32Array:
        """Return the network's outputs [rows, outputs]: logits, or standardized values.

        Warn about columns with nearly only unseen values, unless `unseen` counts them.
        """
        table = Table.from_data(table)
        out = np.empty((len(table), self.target.outputs), np.float32)
        self._fill(out, table, lambda raw: raw, unseen)
        return out

    def map_outputs(
        self,
        function: Callable[[Float32Array], Result],
        table: Any,
        *,
        unseen: UnseenCategories | None = None,
    ) -> Iterator[Result]:
        """Yield the function of each chunk of `predict_raw`, in order.

        Idle cores compute some chunks ahead, and the function with them.
        """
        counter = UnseenCategories(self.encoder) if unseen is None else unseen

        def predict(start: int, chunk: Table) -> Result:
            with renumber_rows(np.arange(start, start + len(chunk))):
                encoded = self.encoder.encode(chunk)
                raw = self._forward(encoded)
            counter.add(encoded)
            return function(raw)

        yield from self.map_chunks(predict, Table.from_data(table))
        if unseen is None:
            for note in counter.notes():
                warnings.warn(note, DataWarning, stacklevel=2)

    def map_chunks(
        self, function: Callable[[int, Table], Result], table: Table, *extra: str
    ) -> Iterator[Result]:
        """Yield the function of each chunk of rows, in order; idle cores compute some ahead.

        The function takes the number of a chunk's first row, and the chunk: the columns that the
        model needs, and the columns `extra`.
        """
        if table.has_names and self.encoder.has_names:
            # a missing column raises an error with the nearest name
            self.encoder.match_columns(table)
            names = {column.name for column in self.encoder.columns}
            names |= {table.resolve_name(name) for name in extra}
            table = table.select([name for name in table if name in names])
        rows = chunk_rows(max(len(table.names), self.target.outputs))
        return stream_in_threads(
            lambda numbered: function(rows * numbered[0], numbered[1]),
            enumerate(table.iter_batches(rows)),
            count=-(-len(table) // rows),
        )

    def predict(self, table: Any) -> NDArray[Any]:
        """Return the labels, or values in the units of the target, [rows]."""
        table = Table.from_data(table)
        if isinstance(self.target, NumberTarget):
            values = np.empty(len(table))
            self._fill(values, table, self.decode)
            return values
        assert isinstance(self.target, ClassTarget)
        codes = np.empty(len(table), np.int64)
        self._fill(codes, table, lambda raw: probabilities(raw).argmax(axis=1))
        return self.target.decode(codes)

    def predict_proba(self, table: Any) -> FloatArray:
        """Return the probability of every class [rows, classes], in the order of `classes`."""
        if not self.classes:
            raise TabNASError(
                f"predict_proba needs a target of classes, but {self.target.name!r} is numeric; "
                "use predict"
            )
        table = Table.from_data(table)
        out = np.empty((len(table), len(self.classes)))
        self._fill(out, table, self.decode)
        return out

    def predict_encoded(self, encoded: EncodedTable) -> FloatArray:
        """Predict rows that the encoder of this model has encoded already.

        Returns the same as `predict_proba` for classes, and as `predict` for numbers.
        """
        return self.decode(self._forward(encoded))

    def decode(self, raw: Float32Array) -> FloatArray:
        """Convert the network's outputs to probabilities [rows, classes] or values [rows]."""
        return decode_outputs(self.target, raw)

    def _fill(
        self,
        out: NDArray[Any],
        table: Table,
        convert: Callable[[Float32Array], NDArray[Any]],
        unseen: UnseenCategories | None = None,
    ) -> None:
        """Write the converted outputs of the network into `out`, chunk by chunk."""
        start = 0
        for values in self.map_outputs(convert, table, unseen=unseen):
            out[start : start + len(values)] = values
            start += len(values)

    def load_network(self) -> None:
        """Load the network now instead of at the first prediction."""
        _ = self._net

    def _forward(self, encoded: EncodedTable) -> Float32Array:
        raw = self._net.logits(self.architecture, make_examples(self.spec, encoded))
        if not np.isfinite(raw).all():
            raise RowError(
                "the network's outputs must be finite, but those of",
                int((~np.isfinite(raw)).any(axis=1).argmax()),
                "are not: its weights are too large for float32",
            )
        return raw

    # -- copies ----------------------------------------------------------------------------------

    @cached_property
    def _net(self) -> SuperNet:
        # Threads may build one each at the same time; they are equal, and the network has a lock.
        net = SuperNet.standalone(self.architecture, self.spec, optimizer=SGD())
        net.load_weights(self.weights)
        return net

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle by the fields, so that copies are checked like any model."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        plain = {n: dict(v) if isinstance(v, MappingProxyType) else v for n, v in values.items()}
        return _rebuild, (plain,)


def chunk_rows(columns: int) -> int:
    """Return the number of rows of a chunk, of which `columns` columns are read or predicted."""
    return min(MAX_CHUNK_ROWS, max(MIN_CHUNK_ROWS, MAX_CHUNK_CELLS // max(columns, 1)))


def _rebuild(values: dict[str, Any]) -> Model:
    return Model(**values)


def decode_outputs(target: Target, raw: Float32Array) -> FloatArray:
    """Convert network outputs to probabilities [rows, classes] or values of the target [rows]."""
    if isinstance(target, NumberTarget):
        return target.unscale_values(raw[:, 0])
    return probabilities(raw)


def probabilities(raw: FloatArray | Float32Array) -> FloatArray:
    """Return softmax probabilities [rows, classes] of logits [rows, outputs].

    A single logit is that of the second of two classes.

    >>> probabilities(np.zeros((1, 1), np.float32)).tolist()
    [[0.5, 0.5]]
    """
    z = np.asarray(raw, np.float64)
    if z.shape[1] == 1:  # softmax of (0, z) is the logistic function
        z = np.concatenate([np.zeros_like(z), z], axis=1)
    # the same bits as scipy.special.softmax, whose import would take a fifth of this package's
    exp = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(exp / exp.sum(axis=1, keepdims=True))
