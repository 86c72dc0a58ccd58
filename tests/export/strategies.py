"""Random, untrained models over random tables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from tabnas.data import (
    ClassTarget,
    NumberTarget,
    Table,
    TableEncoder,
    Target,
    choose_knots,
    summarize_values,
)
from tabnas.errors import TabNASError
from tabnas.model import Model, make_network_spec
from tabnas.nets import SGD, SuperNet
from tabnas.space import Architecture

ROWS = 12
Knots = tuple[tuple[float, ...], ...]

NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-100, 100),
    st.sampled_from([0.0, -0.0, 1e300, -1e300, 5e-324, 2.0**53 + 2]),
)
TEXTS = st.one_of(
    st.sampled_from(["Bern", "Basel", "Zürich", "東京", "007", "x y", "NA?", "1.5", "true"]),
    st.text(st.characters(codec="utf-8"), max_size=5).map(str.strip),
)
DATES = st.datetimes(datetime(1, 1, 2), datetime(9999, 1, 1)).map(
    lambda moment: moment.replace(microsecond=0)
)
KINDS = {
    "numeric": (NUMBERS, pa.float64()),
    "boolean": (st.booleans(), pa.bool_()),
    "text": (TEXTS, pa.string()),
    "integers": (st.integers(-(2**63) + 1, 2**63 - 1) | st.integers(0, 4), pa.int64()),
    "datetime": (DATES, pa.timestamp("s")),
}
NAMES = st.one_of(
    st.sampled_from(["age", "label", "probabilities", "value", "raw", "layer.1.weight", "Größe €"]),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=6),
).map(str.strip)
CLASSES = st.sampled_from(
    [
        ("no", "yes"),
        ("a", "b", "c"),
        ("été", "東", "x", "y"),
        (False, True),
        (-3, 7),
        (0, 1, 2),
        (0.5, 1.5),
        (0.25, 0.5, 1e300),
    ]
)


@dataclass(frozen=True)
class RandomModel:
    """A model, the rows that its encoder was fitted on, and other rows."""

    model: Model
    training_rows: Table
    other: Table


@st.composite
def columns(draw: st.DrawFn, kind: str) -> tuple[pa.Array, pa.Array]:
    """Draw two columns of a kind with gaps, one to fit on and one with other values."""
    values, type_ = KINDS[kind]
    any_values = st.lists(st.one_of(st.none(), values, values), min_size=ROWS, max_size=ROWS)
    pool = draw(st.lists(values, min_size=2, max_size=4))
    repeated = st.lists(st.sampled_from([None, *pool]), min_size=ROWS, max_size=ROWS)
    return pa.array(draw(repeated | any_values), type_), pa.array(
        draw(any_values | repeated), type_
    )


@st.composite
def models(draw: st.DrawFn) -> RandomModel:
    """Draw models of every task with columns of every kind."""
    names = draw(st.lists(NAMES.filter(bool), min_size=1, max_size=5, unique=True))
    kinds = [draw(st.sampled_from(sorted(KINDS))) for _ in names]
    pairs = [draw(columns(kind)) for kind in kinds]
    training_rows, other = (
        Table(pa.table({n: pair[i] for n, pair in zip(names, pairs, strict=True)})) for i in (0, 1)
    )
    forced_kinds = {
        name: "categorical"
        for name, kind in zip(names, kinds, strict=True)
        if kind in ("text", "integers") or (kind == "boolean" and draw(st.booleans()))
    }
    encoder = TableEncoder.fit(
        _add_varying_column(training_rows),
        kinds=forced_kinds,
        scaling=draw(st.sampled_from(["robust", "standard", "none"])),
        min_count=draw(st.integers(1, 2)),
    )
    training_rows, other = _add_varying_column(training_rows), _add_varying_column(other)
    model = make_untrained_model(
        encoder,
        draw(targets()),
        draw(st.lists(st.integers(1, 9), max_size=3)),
        dimensions=[draw(st.integers(1, 3)) for _ in encoder.n_categories],
        numeric_dimension=draw(st.sampled_from([0, 0, 1, 3])),
        knots=choose_all_knots(encoder, training_rows, draw(st.integers(3, 8))),
        seed=draw(st.integers(0, 100)),
    )
    return RandomModel(model, training_rows, other)


@st.composite
def targets(draw: st.DrawFn) -> Target:
    if draw(st.booleans()):
        return ClassTarget(name="answer", classes=draw(CLASSES))
    center, scale = draw(st.sampled_from([(0.0, 1.0), (1e6, 3.0), (-1e300, 1e307), (1e-9, 1e-12)]))
    return NumberTarget(name="answer", center=center, scale=scale)


def make_untrained_model(
    encoder: TableEncoder,
    target: Target,
    widths: list[int],
    *,
    dimensions: list[int] | None = None,
    numeric_dimension: int = 0,
    knots: Knots = (),
    seed: int = 0,
    **limits: float,
) -> Model:
    """Make a model with random weights; numbers are embedded if there are knots and a dimension."""
    dimensions = [2] * len(encoder.n_categories) if dimensions is None else dimensions
    spec = make_network_spec(encoder, target, dimensions, knots if numeric_dimension else ())
    architecture = Architecture(tuple(widths), numeric_dimension if spec.inputs.knots else 0)
    rng = np.random.default_rng(seed)
    net = SuperNet.standalone(architecture, spec, optimizer=SGD())
    weights = {
        name: rng.normal(size=array.shape, scale=1 / math.sqrt(array.shape[0]))
        + (1 if name.endswith("scale") else 0)
        for name, array in net.weights().items()
    }
    return Model(
        encoder=encoder,
        target=target,
        architecture=architecture,
        category_dimensions=tuple(dimensions),
        knots=spec.inputs.knots,
        weights=weights,
        limits=limits,
    )


def choose_all_knots(encoder: TableEncoder, table: Table, max_knots: int) -> Knots:
    """Return the knots of every numeric feature, as a run chooses them."""
    summaries = summarize_values(encoder.encode(table).numeric)
    return tuple(choose_knots(summary, max_knots) for summary in summaries)


def can_predict(model: Model, table: Table) -> bool:
    """Return whether the model has finite outputs, which it may not have without scaling."""
    try:
        model.predict_raw(table)
    except TabNASError:
        return False
    return True


def _add_varying_column(table: Table) -> Table:
    """Add a column that is not constant, so that there is always a feature."""
    name = "sure" + "_" * max(map(len, table.names))
    return Table(table.arrow.append_column(name, pa.array(np.arange(ROWS) % 3 * 0.5)))
