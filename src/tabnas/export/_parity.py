"""Whether a file predicts the same as the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabnas.data import EncodedTable, NumberTarget, Table
from tabnas.data.lowlevel import renumber_rows
from tabnas.errors import TabNASError
from tabnas.export._inputs import encoder_inputs
from tabnas.export._network import CODES, NUMERIC
from tabnas.export._onnx_file import OnnxFile
from tabnas.export._outputs import LABEL, PROBABILITIES, VALUE
from tabnas.export._probes import make_probe_rows
from tabnas.export._session import Arrays, OnnxSession
from tabnas.model import Model
from tabnas.nets import plain_forward
from tabnas.types import BoolArray, FloatArray, IntArray

TOLERANCE = 1e-4
"""The largest allowed difference of a probability, or of a value in standard deviations."""
LARGE_INPUT = 10.0
"""Beyond this, inputs of the network and standardized values are less exact in float32, and the
tolerance grows in proportion."""
LARGE_AMPLIFICATION = 10.0
"""The same for rows on which a layer amplifies rounding errors more than usual."""
MAX_ROWS = 10_000
ROUNDING = 4 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, kw_only=True)
class Parity:
    """How a file was compared with its model, and how much they differ."""

    runtime: str
    rows: int  # of the table to check on
    probe_rows: int  # synthetic rows
    difference: float  # the largest
    tolerance: float  # on that row


def check_parity(
    model: Model,
    file: OnnxFile,
    session: OnnxSession,
    rows: Table | EncodedTable | None,
    *,
    network: tuple[OnnxFile, OnnxSession] | None = None,
) -> Parity:
    """Compare a file with the model on synthetic and given rows; raise an error if they differ.

    A file with preprocessing cannot take encoded rows. They are compared on `network` instead: the
    file of the same weights without preprocessing.
    """
    probes = make_predictable_probes(model)
    results = [_compare(model, file, session, probes, "synthetic rows")]
    n_rows = 0
    if rows is not None and len(rows):
        numbers = choose_rows(len(rows), MAX_ROWS)
        n_rows = len(numbers)
        pair = (file, session) if network is None else network
        with renumber_rows(numbers):
            results.append(_compare(model, *pair, rows.take(numbers), "given rows", numbers))
    difference, tolerance = max(results)
    return Parity(
        runtime=session.name,
        rows=n_rows,
        probe_rows=len(probes),
        difference=difference,
        tolerance=tolerance,
    )


def choose_rows(count: int, max_rows: int) -> IntArray:
    """Return the numbers of at most `max_rows` rows, evenly spaced from first to last."""
    if count <= max_rows:
        return np.arange(count)
    return np.linspace(0, count - 1, max_rows).astype(np.int64)


def make_inputs(model: Model, file: OnnxFile, rows: Table | EncodedTable) -> Arrays:
    """Return the inputs of a file for these rows."""
    if not file.weights_only:
        assert isinstance(rows, Table)
        return encoder_inputs(model.encoder, rows)
    encoded = _encode(model, rows)
    arrays: Arrays = {NUMERIC: encoded.numeric, CODES: encoded.categorical.astype(np.int64)}
    return {name: arrays[name] for name in file.inputs}


def get_prediction(model: Model, file: OnnxFile, outputs: Arrays) -> FloatArray:
    """Return the prediction among the outputs of a file, as `score` takes it."""
    name = file.output_name(PROBABILITIES if model.classes else VALUE)
    assert name is not None
    y_pred = np.asarray(outputs[name], np.float64)
    return y_pred if model.classes else y_pred[:, 0]


def _compare(
    model: Model,
    file: OnnxFile,
    session: OnnxSession,
    rows: Table | EncodedTable,
    description: str,
    numbers: IntArray | None = None,
) -> tuple[float, float]:
    """Return the largest difference, and the tolerance on that row."""
    outputs = session.run(make_inputs(model, file, rows))
    y_pred, label = get_prediction(model, file, outputs), file.output_name(LABEL)
    labels = None if label is None else outputs[label]
    return compare_predictions(model, rows, y_pred, labels, session.name, description, numbers)


def compare_predictions(
    model: Model,
    rows: Table | EncodedTable,
    y_pred: FloatArray,
    labels: NDArray[np.generic] | None,
    runtime: str,
    description: str,
    numbers: IntArray | None = None,
) -> tuple[float, float]:
    """Return the largest difference from the model's predictions, and the tolerance on that row.

    Raise an error if a row differs by more than its tolerance, or has another label. If the rows
    were selected from a table, `numbers` are their numbers there, which the error names.
    """
    expected = _predict(model, rows)
    difference = _difference(model, y_pred, expected)
    tolerance = compute_tolerance(model, rows, expected)
    is_wrong = ~(difference <= tolerance)
    if labels is not None:
        is_wrong |= _is_mislabelled(labels, model, expected, tolerance)
    if is_wrong.any():
        row = int(is_wrong.argmax())
        number = row if numbers is None else numbers[row]
        raise TabNASError(
            f"the file must predict the same as the model, within {tolerance[row]:.1g}, but row "
            f"{number + 1} of the {description} differs by {difference[row]:.2g} in {runtime}; "
            "nothing was written. This is a bug of tabnas or of that runtime"
        )
    if not len(difference):
        return 0.0, TOLERANCE
    row = int(difference.argmax())
    return float(difference[row]), float(tolerance[row])


def _encode(model: Model, rows: Table | EncodedTable) -> EncodedTable:
    return rows if isinstance(rows, EncodedTable) else model.encoder.encode(rows)


def _predict(model: Model, rows: Table | EncodedTable) -> FloatArray:
    """Return the prediction of the model itself, as `score` takes it.

    Unlike `Model.predict`, it does not warn about unseen categories, of which synthetic rows have
    many.
    """
    return model.predict_encoded(_encode(model, rows))


def _difference(model: Model, y_pred: FloatArray, expected: FloatArray) -> FloatArray:
    with np.errstate(all="ignore"):  # the comparison finds what is not finite
        if not isinstance(model.target, NumberTarget):
            return np.asarray(np.abs(y_pred - expected).max(axis=1))
        # halves, because the difference of two floats may overflow
        return np.asarray(np.abs(y_pred / 2 - expected / 2) / model.target.scale * 2)


def compute_tolerance(model: Model, rows: Table | EncodedTable, expected: FloatArray) -> FloatArray:
    """Return the largest allowed difference of each row, [rows].

    That of values is in standard deviations of the target.
    """
    encoded = _encode(model, rows)
    largest = np.abs(encoded.numeric).max(axis=1, initial=0.0).astype(np.float64)
    amplification = rounding_amplification(model, encoded)
    factors = [
        np.ones(len(encoded)),
        largest / LARGE_INPUT,
        amplification / LARGE_AMPLIFICATION,
    ]
    target = model.target
    if not isinstance(target, NumberTarget):
        return np.asarray(TOLERANCE * np.maximum.reduce(factors))
    with np.errstate(over="ignore"):
        standardized = np.abs(expected / 2 - target.center / 2) / target.scale * 2
        tolerance = TOLERANCE * np.maximum.reduce([*factors, standardized / LARGE_INPUT])
        # values far from 0 have few digits for differences
        return np.asarray(tolerance + ROUNDING * np.abs(expected) / target.scale)


def rounding_amplification(model: Model, rows: EncodedTable) -> FloatArray:
    """Return by how much layer normalization amplifies rounding errors, [rows].

    It is the magnitude of a layer's sums over the standard deviation that normalizes them, of the
    worst layer. The magnitude is the larger of a sum itself and the root sum of squares of its
    terms: rounding errors of many terms have random signs and grow like the latter, not like the
    sum of absolute values, which would tolerate ever more in tables of ever more columns.

    It is usually about 2, for any number of columns. If the units of a layer are nearly equal,
    which happens to layers of two or three, it is in the hundreds.
    """
    weights = {name: np.asarray(array, np.float64) for name, array in model.weights.items()}
    depth = model.architecture.depth
    _, layers, _ = plain_forward(weights, model.spec.inputs, rows.numeric, rows.categorical, depth)
    worst = np.zeros(len(rows))
    for number, layer in enumerate(layers, start=1):
        weight, bias = weights[f"layer.{number}.weight"], weights[f"layer.{number}.bias"]
        sums = np.abs(layer.inputs @ weight + bias)
        terms = np.sqrt(np.square(layer.inputs) @ np.square(weight) + np.square(bias))
        worst = np.maximum(worst, np.maximum(sums, terms).max(axis=1) / layer.deviation[:, 0])
    return worst


def _is_mislabelled(
    labels: NDArray[np.generic], model: Model, expected: FloatArray, tolerance: FloatArray
) -> BoolArray:
    """Return which labels differ from the model's although the best two classes are not tied."""
    best = np.sort(expected, axis=1)[:, -2:]
    expected_labels = np.array(model.classes, dtype=labels.dtype)[expected.argmax(axis=1)]
    return np.asarray((labels != expected_labels) & (best[:, 1] - best[:, 0] > 2 * tolerance))


def make_predictable_probes(model: Model) -> Table:
    """Return the synthetic rows that the model can predict: without scaling, extremes overflow."""
    rows = make_probe_rows(model.encoder)
    try:
        _predict(model, rows)
        return rows
    except TabNASError:
        numbers = [number for number in range(len(rows)) if _is_predictable(model, rows, number)]
        return rows.take(np.array(numbers, np.int64))


def _is_predictable(model: Model, rows: Table, number: int) -> bool:
    try:
        _predict(model, rows.take(np.array([number])))
    except TabNASError:
        return False
    return True
