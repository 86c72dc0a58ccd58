"""The encoder as a graph: columns as they are in a table to what the network takes.

Columns of a kind are computed side by side, as one matrix: a graph of hundreds of columns has not
many more nodes than one of two. Formulas are those of `tabnas.data.columns`, in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike
from onnx import TensorProto

from tabnas.data import MISSING_MARKS, TableEncoder
from tabnas.data.columns import (
    CYCLES,
    DAY,
    FAR,
    FARTHEST,
    SMOOTH_LIMIT,
    BooleanColumn,
    CategoricalColumn,
    DatetimeColumn,
    EncodedColumn,
    NumericColumn,
)
from tabnas.export._graph import ML, Graph
from tabnas.export._inputs import NO_INTEGER, as_integer, column_input, takes_integers

HUGE = 1e290  # statistics below it leave room for differences of any two floats
LARGEST32 = float(np.finfo(np.float32).max)


def add_preprocessing(graph: Graph, encoder: TableEncoder) -> tuple[str | None, str | None]:
    """Inputs for all columns, and from them the network's: names of numbers and of codes."""
    for column in encoder.columns:
        known = column_input(column)
        graph.input(known.name, known.dtype, 1, known.words)
    features = _Features(graph, encoder.columns)
    quantities = [c for c in encoder.columns if isinstance(c, NumericColumn | BooleanColumn)]
    moments = [c for c in encoder.columns if isinstance(c, DatetimeColumn)]
    if quantities:
        _add_quantities(graph, quantities, features)
    if moments:
        _add_moments(graph, moments, features)
    categorical = [c for c in encoder.columns if isinstance(c, CategoricalColumn)]
    codes = [_add_codes(graph, column) for column in categorical]
    return features.in_order(), _joined(graph, codes) if codes else None


class _Features:
    """Matrices of features as they come, put into the encoder's order at the end."""

    def __init__(self, graph: Graph, columns: Sequence[EncodedColumn]) -> None:
        self._graph = graph
        # by number, for the name of a feature may be that of another column, too
        self._places = {(c.name, i): 0 for c in columns for i in range(len(c.features))}
        self._pieces: list[str] = []
        self._width = 0

    def add(self, piece: str, owners: Sequence[tuple[EncodedColumn, int]]) -> None:
        """A matrix, and of which column each of its columns is the feature of which number."""
        self._pieces.append(piece)
        for column, number in owners:
            self._places[column.name, number] = self._width
            self._width += 1

    def in_order(self) -> str | None:
        if not self._pieces:
            return None
        joined = _joined(self._graph, self._pieces)
        return _columns(self._graph, joined, list(self._places.values()), self._width)


# -- numbers -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Scaling:
    """(x - center) / scale within +-far, then bent towards +-limit; missing values are `fill`."""

    center: float
    scale: float
    fill: float
    far: float
    limit: float
    marked: bool

    @classmethod
    def of(cls, column: EncodedColumn) -> _Scaling:
        if isinstance(column, BooleanColumn):  # -1 and 1 from 0 and 1, and 0 from what is missing
            return cls(center=0.5, scale=0.5, fill=0.5, far=FAR, limit=np.inf, marked=False)
        assert isinstance(column, NumericColumn)
        plain = column.scaling == "none"
        return cls(
            center=0.0 if plain else column.center,
            scale=1.0 if plain else column.scale,
            fill=column.fill,
            far=LARGEST32 if plain else FAR,
            limit=SMOOTH_LIMIT if column.scaling == "robust" else np.inf,
            marked=column.marks_missing,
        )


def _add_quantities(graph: Graph, columns: Sequence[EncodedColumn], features: _Features) -> None:
    scalings = [_Scaling.of(column) for column in columns]

    def row(name: str, number: Callable[[_Scaling], float]) -> str:
        return _row(graph, name, [number(s) for s in scalings])

    given = _joined(graph, [column.name for column in columns])
    missing = graph.node("IsNaN", given)
    x = graph.node("Where", missing, row("fill", lambda s: s.fill), given)
    # halves, where the difference of two values may be beyond the largest float
    if any(map(_half_needed, scalings)):
        x = graph.node("Mul", x, row("half", _half))
    x = graph.node("Sub", x, row("center", lambda s: s.center * _half(s)))
    x = graph.node("Div", x, row("scale", lambda s: s.scale * _half(s)))
    x = graph.node("Max", x, row("least", lambda s: -s.far))
    x = graph.node("Min", x, row("most", lambda s: s.far))
    if any(s.limit < np.inf for s in scalings):
        share = graph.node("Div", x, row("limit", lambda s: s.limit))
        square = graph.node("Mul", share, share)
        root = graph.node("Sqrt", graph.node("Add", square, graph.constant("one", np.float64(1))))
        x = graph.node("Div", x, root)
    features.add(_float32(graph, x), [(column, 0) for column in columns])
    _mark(graph, columns, [s.marked for s in scalings], missing, features)


def _half_needed(scaling: _Scaling) -> bool:
    return max(abs(scaling.center), scaling.scale) >= HUGE


def _half(scaling: _Scaling) -> float:
    return 0.5 if _half_needed(scaling) else 1.0


# -- moments -------------------------------------------------------------------------------------


def _add_moments(graph: Graph, columns: Sequence[DatetimeColumn], features: _Features) -> None:
    given = _joined(graph, [column.name for column in columns])
    missing = graph.node("Equal", given, graph.constant("none", np.int64(NO_INTEGER)))
    exact = graph.node("Cast", given, to=TensorProto.DOUBLE)
    days = graph.node("Div", exact, graph.constant("day", np.float64(DAY)))
    x = graph.node("Sub", days, _row(graph, "center", [column.center for column in columns]))
    x = graph.node("Div", x, _row(graph, "scale", [column.scale for column in columns]))
    least, most = (graph.constant("far", np.float64(end)) for end in (-FARTHEST, FARTHEST))
    x = _zero_where(graph, missing, graph.node("Clip", x, least, most))
    features.add(_float32(graph, x), [(column, 0) for column in columns])
    _mark(graph, columns, [column.marks_missing for column in columns], missing, features)
    if any(column.cycles for column in columns):
        _add_waves(graph, columns, days, missing, features)


def _add_waves(
    graph: Graph,
    columns: Sequence[DatetimeColumn],
    days: str,
    missing: str,
    features: _Features,
) -> None:
    """Sine and cosine of every cycle of every column."""
    waves = [(i, k) for i, column in enumerate(columns) for k in range(len(column.cycles))]
    lengths, starts = np.array([CYCLES[columns[i].cycles[k]] for i, k in waves]).T
    owners = [i for i, _ in waves]
    x = _columns(graph, days, owners, len(columns))
    x = graph.node("Sub", x, _row(graph, "start", starts))
    # the sign of the remainder does not matter to sine and cosine
    x = graph.node("Mod", x, _row(graph, "length", lengths), fmod=1)
    angle = graph.node("Mul", x, _row(graph, "turn", 2 * np.pi / lengths))
    gone = _columns(graph, missing, owners, len(columns))
    for second, operation in enumerate(("Sin", "Cos")):
        swing = _zero_where(graph, gone, graph.node(operation, angle))
        features.add(_float32(graph, swing), [(columns[i], 1 + 2 * k + second) for i, k in waves])


# -- categories ----------------------------------------------------------------------------------


def _add_codes(graph: Graph, column: CategoricalColumn) -> str:
    """The column's code for each category, by asking the column itself; others are 0."""
    known: dict[str, Any]
    if takes_integers(column):
        codes = _codes(column, [*column.vocabulary, None])
        integers = [*(as_integer(category) for category in column.vocabulary), NO_INTEGER]
        known = {"keys_int64s": integers}
    else:
        # truth values also as Python and Excel write them
        truths = [w for word in ("true", "false") for w in (word, word.title(), word.upper())]
        words = list(dict.fromkeys([*column.vocabulary, *MISSING_MARKS, *truths]))
        codes = _codes(column, words)
        known = {"keys_strings": words}
    return graph.node(
        "LabelEncoder", column.name, domain=ML, values_int64s=codes, default_int64=0, **known
    )


def _codes(column: CategoricalColumn, words: Sequence[str | None]) -> list[int]:
    codes = np.empty(len(words), np.int32)
    column.encode(pa.chunked_array([words], pa.string()), np.empty((0, 0), np.float32), codes)
    return [int(code) for code in codes]


# -- common --------------------------------------------------------------------------------------


def _mark(
    graph: Graph,
    columns: Sequence[EncodedColumn],
    marked: Sequence[bool],
    missing: str,
    features: _Features,
) -> None:
    """1 where a value is missing, for the columns that have such a feature."""
    places = [i for i, wanted in enumerate(marked) if wanted]
    if places:
        chosen = _columns(graph, missing, places, len(columns))
        last = [(columns[i], len(columns[i].features) - 1) for i in places]
        features.add(_float32(graph, chosen), last)


def _columns(graph: Graph, matrix: str, places: Sequence[int], width: int) -> str:
    """Some columns of a matrix of that width; nothing is done if they are all, in order."""
    if list(places) == list(range(width)):
        return matrix
    return graph.node("Gather", matrix, graph.constant("places", np.array(places)), axis=1)


def _joined(graph: Graph, pieces: Sequence[str]) -> str:
    return pieces[0] if len(pieces) == 1 else graph.node("Concat", *pieces, axis=1)


def _zero_where(graph: Graph, condition: str, x: str) -> str:
    return graph.node("Where", condition, graph.constant("zero", np.float64(0)), x)


def _row(graph: Graph, name: str, numbers: ArrayLike) -> str:
    """A float64 for each column."""
    return graph.constant(name, np.asarray(numbers, np.float64)[None])


def _float32(graph: Graph, x: str) -> str:
    return graph.node("Cast", x, to=TensorProto.FLOAT)
