"""Whether a file answers as the model does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabnas.data import Encoded, NumberTarget, Table
from tabnas.errors import TabNASError
from tabnas.export._answers import LABEL, PROBABILITIES, VALUE
from tabnas.export._build import Built
from tabnas.export._cancellation import cancellation
from tabnas.export._engine import Arrays, Engine
from tabnas.export._inputs import encoded_inputs
from tabnas.export._network import CODES, NUMERIC
from tabnas.export._probes import probe_rows
from tabnas.model import Model
from tabnas.types import BoolArray, FloatArray

TOLERANCE = 1e-4
"""The largest difference allowed: of a probability, or in deviations of a quantity."""
LARGE = 10.0
"""Inputs of the network, and values in deviations of a quantity, beyond this are less exact in
float32, and allow proportionally more."""
CANCELLED = 10.0
"""So do rows on which a layer loses more digits to cancellation than layers usually do."""
MOST_ROWS = 10_000
ROUNDING = 4 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, kw_only=True)
class Parity:
    """What a file was tried on, and how far it was off."""

    engine: str
    rows: int  # of the table that was given
    made_rows: int
    difference: float  # the largest
    tolerance: float  # what was allowed on that row


def check_parity(
    model: Model,
    built: Built,
    engine: Engine,
    rows: Table | Encoded | None,
    *,
    network: tuple[Built, Engine] | None = None,
) -> Parity:
    """Compare a file with the model on rows made up, and on those given; disagreement raises.

    A file that has preprocessing cannot take encoded rows: they are compared on its network alone,
    the file of the same weights that `network` is.
    """
    made = _answerable(model, probe_rows(model.encoder))
    found = [_compare(model, built, engine, made, "made-up rows")]
    given = 0
    if rows is not None and len(rows):
        rows = sampled(rows, MOST_ROWS)
        given = len(rows)
        tried = (built, engine) if network is None else network
        found.append(_compare(model, *tried, rows, "rows given"))
    difference, tolerance = max(found)
    return Parity(
        engine=engine.name,
        rows=given,
        made_rows=len(made),
        difference=difference,
        tolerance=tolerance,
    )


def sampled(rows: Table | Encoded, most: int) -> Table | Encoded:
    """At most so many of the rows, evenly from first to last."""
    if len(rows) <= most:
        return rows
    return rows.take(np.linspace(0, len(rows) - 1, most).astype(np.int64))


def file_inputs(model: Model, built: Built, rows: Table | Encoded) -> Arrays:
    """The rows as the file takes them."""
    if not built.weights_only:
        assert isinstance(rows, Table)
        return encoded_inputs(model.encoder, rows)
    encoded = _encoded(model, rows)
    arrays: Arrays = {NUMERIC: encoded.numeric, CODES: encoded.categorical.astype(np.int64)}
    return {name: arrays[name] for name in built.inputs}


def prediction(model: Model, built: Built, outputs: Arrays) -> FloatArray:
    """What `score` takes, from a file's outputs."""
    name = built.name_of(PROBABILITIES if model.classes else VALUE)
    assert name is not None
    said = np.asarray(outputs[name], np.float64)
    return said if model.classes else said[:, 0]


def _compare(
    model: Model, built: Built, engine: Engine, rows: Table | Encoded, where: str
) -> tuple[float, float]:
    """The largest difference, and what is allowed there."""
    outputs = engine.run(file_inputs(model, built, rows))
    said = prediction(model, built, outputs)
    ours = _predicted(model, rows)
    difference = _difference(model, said, ours)
    allowed = _allowed(model, rows, ours)
    wrong = ~(difference <= allowed)
    label = built.name_of(LABEL)
    if label is not None:
        wrong |= _mislabelled(outputs[label], model, ours, allowed)
    if wrong.any():
        row = int(wrong.argmax())
        raise TabNASError(
            f"the file must answer as the model does, within {allowed[row]:.1g}, but row "
            f"{row + 1} of the {where} differs by {difference[row]:.2g} in {engine.name}; "
            "nothing was written. This is a fault of tabnas or of that engine, not of yours"
        )
    if not len(difference):
        return 0.0, TOLERANCE
    row = int(difference.argmax())
    return float(difference[row]), float(allowed[row])


def _encoded(model: Model, rows: Table | Encoded) -> Encoded:
    return rows if isinstance(rows, Encoded) else model.encoder.encode(rows)


def _predicted(model: Model, rows: Table | Encoded) -> FloatArray:
    """Return what the model itself predicts, as `score` takes it."""
    if isinstance(rows, Encoded):
        return model.predict_encoded(rows)
    return model.predict_proba(rows) if model.classes else model.predict(rows)


def _difference(model: Model, said: FloatArray, ours: FloatArray) -> FloatArray:
    with np.errstate(all="ignore"):  # what is not finite is found by the comparison
        if not isinstance(model.target, NumberTarget):
            return np.asarray(np.abs(said - ours).max(axis=1))
        return np.asarray(np.abs(said / 2 - ours / 2) / model.target.scale * 2)


def _allowed(model: Model, rows: Table | Encoded, ours: FloatArray) -> FloatArray:
    encoded = _encoded(model, rows)
    largest = np.abs(encoded.numeric).max(axis=1, initial=0.0).astype(np.float64)
    lost = cancellation(model, encoded)
    grounds = [np.ones(len(lost)), largest / LARGE, lost / CANCELLED]
    target = model.target
    if not isinstance(target, NumberTarget):
        return np.asarray(TOLERANCE * np.maximum.reduce(grounds))
    with np.errstate(over="ignore"):
        deviations = np.abs(ours / 2 - target.center / 2) / target.scale * 2
        allowed = TOLERANCE * np.maximum.reduce([*grounds, deviations / LARGE])
        # units far from 0 have few digits for differences
        return np.asarray(allowed + ROUNDING * np.abs(ours) / target.scale)


def _mislabelled(
    labels: NDArray[np.generic], model: Model, ours: FloatArray, allowed: FloatArray
) -> BoolArray:
    """Which labels are others than ours, where the best two classes are not as good as equal."""
    best = np.sort(ours, axis=1)[:, -2:]
    expected = np.array(model.classes, dtype=labels.dtype)[ours.argmax(axis=1)]
    return np.asarray((labels != expected) & (best[:, 1] - best[:, 0] > 2 * allowed))


def _answerable(model: Model, rows: Table) -> Table:
    """The rows that the model itself can answer: without scaling, extremes may be too much."""
    try:
        model.raw(rows)
        return rows
    except TabNASError:
        kept = [number for number in range(len(rows)) if _answers(model, rows, number)]
        return rows.take(np.array(kept, np.int64))


def _answers(model: Model, rows: Table, number: int) -> bool:
    try:
        model.raw(rows.take(np.array([number])))
    except TabNASError:
        return False
    return True
