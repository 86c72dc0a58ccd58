"""From a model to one file, tried out before it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from tabnas.data import Encoded, Table
from tabnas.errors import TabNASError
from tabnas.export._build import Built, build
from tabnas.export._engine import Engine, EngineName
from tabnas.export._int8 import Quantised, meant, measured, quantise, refuse_larger, rows_with_truth
from tabnas.export._network import Weight, centred
from tabnas.export._parity import Parity, check_parity
from tabnas.files import atomic_write
from tabnas.model import EncodedRows, Model, default_metric, metric_named

ENDING = ".onnx"
MARGIN = 0.01
Tried = tuple[Built, Engine]
"""A file, and an engine that has loaded it."""


@dataclass(frozen=True, kw_only=True)
class Exported:
    """A file that was written: what it takes and gives, its size, and how it was checked."""

    path: Path
    bytes: int
    parameters: int
    inputs: dict[str, str]  # name: type, [rows, 1] each; of weights only, [rows, width]
    outputs: dict[str, str]
    opsets: dict[str, int]  # of operations that a runtime must know
    parity: Parity
    int8: Quantised | None = None

    def to_dict(self) -> dict[str, Any]:
        """All of it, fit for JSON."""
        return asdict(self) | {"path": str(self.path)}


def export_onnx(
    model: Model,
    path: str | Path,
    *,
    check: Any = None,
    answers: Any = None,
    weights_only: bool = False,
    int8: bool = False,
    margin: float = MARGIN,
    metric: str | None = None,
    engine: EngineName | None = None,
) -> Exported:
    """Write a model as one ONNX file, once it has been seen to answer as the model does.

    Parameters
    ----------
    path : str or Path
        Where to write; ends in .onnx. A file there is replaced, at once or not at all.
    check : table or EncodedRows, optional
        Real rows to compare the file with the model on, besides rows made up of what the encoder
        knows: every category, missing and unseen values, extremes. Encoded rows, of a store for
        instance, are compared on the network alone.
    answers : array-like, optional
        The target of these rows, if the table has no column of its name. Only int8 needs it.
    weights_only : bool
        Without preprocessing: encoded rows in, the network's outputs and what follows out.
    int8 : bool
        Store matrices in 8 bits. The score of both files is measured on the rows of `check`, whose
        target must be known. Refused where the file would not be smaller.
    margin : float
        How much of the score int8 may cost, as a share of it.
    metric : str, optional
        What int8 is judged by: log loss for classes or RMSE, unless given.
    engine : {"onnxruntime", "reference"}, optional
        What computes the file for the comparison: ONNX Runtime if it is installed, else ONNX's
        reference.
    """
    path = _refuse_unwritable(Path(path))
    if not 0 <= margin < float("inf"):
        raise TabNASError(f"the margin must be at least 0, got {margin!r}")
    task = model.target.task
    judge = default_metric(task) if metric is None else metric_named(metric, task)
    rows = _rows(check)
    column = _answers(model, rows, answers)

    def tried(weights: Mapping[str, Weight]) -> tuple[Tried, Tried]:
        """Return the file of these weights, and the one that takes the rows as they are."""
        file = _opened(build(model, weights, weights_only=weights_only), engine)
        if weights_only or not isinstance(rows, Encoded):
            return file, file
        return file, _opened(build(model, weights, weights_only=True), engine)

    weights = centred(model.weights)
    file, takes_rows = tried(weights)
    parity = check_parity(model, *file, rows, network=takes_rows)
    built, quantised = file[0], None
    if int8:
        small = quantise(weights)
        rounded, rounded_takes_rows = tried(small)
        refuse_larger(built, rounded[0])
        parity = check_parity(meant(model, small), *rounded, rows, network=rounded_takes_rows)
        scored, truth = _with_truth(model, check, rows, column)
        pair = takes_rows, rounded_takes_rows
        quantised = measured(model, judge, scored, truth, *pair, margin, len(built.data))
        built = rounded[0]
    data = built.data
    _write(path, data)
    return Exported(
        path=path,
        bytes=len(data),
        parameters=int(model.costs["parameters"]),
        inputs=built.inputs,
        outputs={answer.name: answer.dtype for answer in built.outputs},
        opsets=built.opsets,
        parity=parity,
        int8=quantised,
    )


def onnx_bytes(model: Model) -> bytes:
    """The file that `export_onnx` would write for a model, neither tried out nor written."""
    return build(model, centred(model.weights), weights_only=False).data


def _rows(check: Any) -> Table | Encoded | None:
    """Return the rows to compare on, which may be encoded already."""
    if isinstance(check, EncodedRows):
        return check.encoded
    return None if check is None else Table.of(check)


def _with_truth(
    model: Model, check: Any, rows: Table | Encoded | None, column: Any
) -> tuple[Table | Encoded, NDArray[Any]]:
    """Return the rows whose target is known, and their truth."""
    if isinstance(check, EncodedRows):
        return check.encoded, np.asarray(check.truth)
    assert not isinstance(rows, Encoded)
    return rows_with_truth(model, rows, column)


def _answers(model: Model, rows: Table | Encoded | None, given: Any) -> Any:
    """The target column of the rows of a table, or None if it is not known."""
    name = model.target.name
    if not isinstance(rows, Table) or (given is None and not (rows.named and name in rows)):
        return None
    if given is None:
        return rows.column(name)
    column = Table.of({name: given}).column(name)
    if len(column) != len(rows):
        raise TabNASError(
            f"there must be an answer for each of the {len(rows):,} rows to check on, got "
            f"{len(column):,}"
        )
    return column


def _opened(built: Built, engine: EngineName | None) -> Tried:
    """The file as an engine loads it; what is no valid ONNX is refused before."""
    onnx.checker.check_model(built.proto, full_check=True)
    return built, Engine(built.data, engine)


def _refuse_unwritable(path: Path) -> Path:
    if path.suffix.lower() != ENDING:
        raise TabNASError(
            f"the file must end in {ENDING}, got {path.name!r}; name it {path.stem + ENDING!r}"
        )
    if path.is_dir():
        raise TabNASError(f"the path must be a file's, but {str(path)!r} is a folder")
    return path


def _write(path: Path, data: bytes) -> None:
    """The file and the folders it lies in; a refusal names the path."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, data)
    except OSError as error:
        raise TabNASError(
            f"{str(path)!r} cannot be written ({error.strerror or error}); name another"
        ) from None
