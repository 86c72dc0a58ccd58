"""The encoder as a graph: from the columns of a table to the inputs of the network.

Columns of the same kind are computed as one matrix, so that a graph of hundreds of columns has few
nodes more than one of two columns. The formulas are those of `tabnas.data.columns`, in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike
from onnx import TensorProto

from tabnas.data import NA_VALUES, TableEncoder
from tabnas.data.columns import (
    CYCLES,
    DAY,
    FAR,
    MAX_SCALED_TIME,
    SMOOTH_LIMIT,
    BooleanColumn,
    CategoricalColumn,
    DatetimeColumn,
    FittedColumn,
    NumericColumn,
)
from tabnas.export._graph import ML, Graph
from tabnas.export._inputs import MISSING_INTEGER, column_input, parse_integer, takes_integers

HUGE = 1e290  # with statistics below it, differences do not overflow
LARGEST32 = float(np.finfo(np.float32).max)


def add_preprocessing(graph: Graph, encoder: TableEncoder) -> tuple[str | None, str | None]:
    """Add inputs for all columns; return the names of the network's numbers and codes."""
    for column in encoder.columns:
        spec = column_input(column)
        graph.add_input(spec.name, spec.dtype, 1, spec.description)
    features = _Features(graph, encoder.columns)
    numeric = [c for c in encoder.columns if isinstance(c, NumericColumn | BooleanColumn)]
    dates = [c for c in encoder.columns if isinstance(c, DatetimeColumn)]
    if numeric:
        _add_numbers(graph, numeric, features)
    if dates:
        _add_dates(graph, dates, features)
    categorical = [c for c in encoder.columns if isinstance(c, CategoricalColumn)]
    codes = [_add_codes(graph, column) for column in categorical]
    return features.concatenate(), _concat(graph, codes) if codes else None


class _Features:
    """Collects matrices of features in any order, and concatenates them in the encoder's."""

    def __init__(self, graph: Graph, columns: Sequence[FittedColumn]) -> None:
        self._graph = graph
        # by number, because a feature may have the name of another column
        self._positions = {(c.name, i): 0 for c in columns for i in range(len(c.features))}
        self._matrices: list[str] = []
        self._width = 0

    def add(self, matrix: str, owners: Sequence[tuple[FittedColumn, int]]) -> None:
        """Add a matrix; `owners` has the column and the number of the feature of each part."""
        self._matrices.append(matrix)
        for column, number in owners:
            self._positions[column.name, number] = self._width
            self._width += 1

    def concatenate(self) -> str | None:
        if not self._matrices:
            return None
        matrix = _concat(self._graph, self._matrices)
        return _select(self._graph, matrix, list(self._positions.values()), self._width)


# -- numbers -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Scaling:
    """(x - center) / scale, clipped to +-far, then squashed to +-limit; missing is `fill`."""

    center: float
    scale: float
    fill: float
    far: float
    limit: float
    marks_missing: bool

    @classmethod
    def from_column(cls, column: FittedColumn) -> _Scaling:
        if isinstance(column, BooleanColumn):  # false is -1, true is 1 and missing is 0
            return cls(center=0.5, scale=0.5, fill=0.5, far=FAR, limit=np.inf, marks_missing=False)
        assert isinstance(column, NumericColumn)
        unscaled = column.scaling == "none"
        return cls(
            center=0.0 if unscaled else column.center,
            scale=1.0 if unscaled else column.scale,
            fill=column.fill,
            far=LARGEST32 if unscaled else FAR,
            limit=SMOOTH_LIMIT if column.scaling == "robust" else np.inf,
            marks_missing=column.marks_missing,
        )

    @property
    def may_overflow(self) -> bool:
        return max(abs(self.center), self.scale) >= HUGE

    @property
    def prescale(self) -> float:
        """A factor so that the difference of two values does not overflow."""
        return 0.5 if self.may_overflow else 1.0


def _add_numbers(graph: Graph, columns: Sequence[FittedColumn], features: _Features) -> None:
    scalings = [_Scaling.from_column(column) for column in columns]

    def row(name: str, number: Callable[[_Scaling], float]) -> str:
        return _add_row(graph, name, [number(s) for s in scalings])

    values = _concat(graph, [column.name for column in columns])
    missing = graph.add_node("IsNaN", values)
    x = graph.add_node("Where", missing, row("fill", lambda s: s.fill), values)
    if any(s.may_overflow for s in scalings):
        x = graph.add_node("Mul", x, row("prescale", lambda s: s.prescale))
    x = graph.add_node("Sub", x, row("center", lambda s: s.center * s.prescale))
    x = graph.add_node("Div", x, row("scale", lambda s: s.scale * s.prescale))
    x = graph.add_node("Max", x, row("minimum", lambda s: -s.far))
    x = graph.add_node("Min", x, row("maximum", lambda s: s.far))
    if any(s.limit < np.inf for s in scalings):
        share = graph.add_node("Div", x, row("limit", lambda s: s.limit))
        square = graph.add_node("Mul", share, share)
        root = graph.add_node(
            "Sqrt", graph.add_node("Add", square, graph.add_constant("one", np.float64(1)))
        )
        x = graph.add_node("Div", x, root)
    features.add(_cast_float32(graph, x), [(column, 0) for column in columns])
    _add_indicators(graph, columns, [s.marks_missing for s in scalings], missing, features)


# -- dates ---------------------------------------------------------------------------------------


def _add_dates(graph: Graph, columns: Sequence[DatetimeColumn], features: _Features) -> None:
    seconds = _concat(graph, [column.name for column in columns])
    no_date = graph.add_constant("none", np.int64(MISSING_INTEGER))
    missing = graph.add_node("Equal", seconds, no_date)
    floats = graph.add_node("Cast", seconds, to=TensorProto.DOUBLE)
    days = graph.add_node("Div", floats, graph.add_constant("day", np.float64(DAY)))
    x = graph.add_node("Sub", days, _add_row(graph, "center", [c.center for c in columns]))
    x = graph.add_node("Div", x, _add_row(graph, "scale", [c.scale for c in columns]))
    bounds = [
        graph.add_constant("far", np.float64(end)) for end in (-MAX_SCALED_TIME, MAX_SCALED_TIME)
    ]
    x = _zero_where(graph, missing, graph.add_node("Clip", x, *bounds))
    features.add(_cast_float32(graph, x), [(column, 0) for column in columns])
    _add_indicators(graph, columns, [c.marks_missing for c in columns], missing, features)
    if any(column.cycles for column in columns):
        _add_cycles(graph, columns, days, missing, features)


def _add_cycles(
    graph: Graph,
    columns: Sequence[DatetimeColumn],
    days: str,
    missing: str,
    features: _Features,
) -> None:
    """Add sine and cosine of every cycle of every column."""
    cycles = [(i, k) for i, column in enumerate(columns) for k in range(len(column.cycles))]
    lengths, starts = np.array([CYCLES[columns[i].cycles[k]] for i, k in cycles]).T
    owners = [i for i, _ in cycles]
    x = _select(graph, days, owners, len(columns))
    x = graph.add_node("Sub", x, _add_row(graph, "start", starts))
    # sine and cosine do not depend on the sign of the remainder
    x = graph.add_node("Mod", x, _add_row(graph, "length", lengths), fmod=1)
    angle = graph.add_node("Mul", x, _add_row(graph, "turn", 2 * np.pi / lengths))
    missing = _select(graph, missing, owners, len(columns))
    for i_wave, operation in enumerate(("Sin", "Cos")):
        wave = _zero_where(graph, missing, graph.add_node(operation, angle))
        numbers = [(columns[i], 1 + 2 * k + i_wave) for i, k in cycles]
        features.add(_cast_float32(graph, wave), numbers)


# -- categories ----------------------------------------------------------------------------------


def _add_codes(graph: Graph, column: CategoricalColumn) -> str:
    """Add the codes of a column, as the column itself encodes its categories; others are 0."""
    keys: dict[str, Any]
    if takes_integers(column):
        codes = encode_texts(column, [*column.vocabulary, None])
        integers = [*(parse_integer(category) for category in column.vocabulary), MISSING_INTEGER]
        keys = {"keys_int64s": integers}
    else:
        texts = list_texts(column)
        codes = encode_texts(column, texts)
        keys = {"keys_strings": texts}
    return graph.add_node(
        "LabelEncoder", column.name, domain=ML, values_int64s=codes, default_int64=0, **keys
    )


def list_texts(column: CategoricalColumn) -> list[str]:
    """Return all texts that a file must know: categories, marks of missing values, booleans."""
    # booleans also as Python and Excel write them
    booleans = [b for text in ("true", "false") for b in (text, text.title(), text.upper())]
    digits = ("1", "0") if column.spelling == "truths" else ()
    return list(dict.fromkeys([*column.vocabulary, *NA_VALUES, *booleans, *digits]))


def encode_texts(column: FittedColumn, texts: Sequence[str | None]) -> list[int]:
    """Return the codes of texts, as the column itself encodes them."""
    codes = np.empty(len(texts), np.int32)
    column.encode(pa.chunked_array([texts], pa.string()), np.empty((0, 0), np.float32), codes)
    return [int(code) for code in codes]


# -- common --------------------------------------------------------------------------------------


def _add_indicators(
    graph: Graph,
    columns: Sequence[FittedColumn],
    marks_missing: Sequence[bool],
    missing: str,
    features: _Features,
) -> None:
    """Add the missing indicator of the columns that have one."""
    indices = [i for i, marks in enumerate(marks_missing) if marks]
    if indices:
        selected = _select(graph, missing, indices, len(columns))
        last = [(columns[i], len(columns[i].features) - 1) for i in indices]
        features.add(_cast_float32(graph, selected), last)


def _select(graph: Graph, matrix: str, indices: Sequence[int], width: int) -> str:
    """Select columns of a matrix of that width; add no node if they are all, in order."""
    if list(indices) == list(range(width)):
        return matrix
    constant = graph.add_constant("indices", np.array(indices))
    return graph.add_node("Gather", matrix, constant, axis=1)


def _concat(graph: Graph, matrices: Sequence[str]) -> str:
    return matrices[0] if len(matrices) == 1 else graph.add_node("Concat", *matrices, axis=1)


def _zero_where(graph: Graph, condition: str, x: str) -> str:
    return graph.add_node("Where", condition, graph.add_constant("zero", np.float64(0)), x)


def _add_row(graph: Graph, name: str, numbers: ArrayLike) -> str:
    """Add one float64 constant for each column."""
    return graph.add_constant(name, np.asarray(numbers, np.float64)[None])


def _cast_float32(graph: Graph, x: str) -> str:
    return graph.add_node("Cast", x, to=TensorProto.FLOAT)
