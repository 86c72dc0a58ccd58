"""Export of a model to one ONNX file, which is checked before it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import onnx
from numpy.typing import NDArray

from tabnas.data import EncodedTable, LabelledArrays, Table
from tabnas.errors import TabNASError
from tabnas.export._int8 import (
    QuantizationResult,
    check_smaller,
    compare_scores,
    select_labelled_rows,
)
from tabnas.export._network import network_weights
from tabnas.export._onnx_file import OnnxFile, build_file
from tabnas.export._parity import Parity, check_parity
from tabnas.export._session import OnnxSession, RuntimeName
from tabnas.files import atomic_write
from tabnas.model import (
    Model,
    Weight,
    center_weights,
    default_metric,
    dequantize,
    get_metric,
    quantize_weights,
)
from tabnas.space import Precision

SUFFIX = ".onnx"
DEFAULT_MARGIN = 0.01
LoadedFile = tuple[OnnxFile, OnnxSession]
"""A file, and a session that has loaded it."""


@dataclass(frozen=True, kw_only=True)
class ExportResult:
    """A file that was written: its inputs and outputs, its size, and how it was checked."""

    path: Path
    bytes: int
    parameters: int
    inputs: dict[str, str]  # types by name; [rows, 1] each, or [rows, width] of weights only
    outputs: dict[str, str]
    opsets: dict[str, int]  # versions of the operator sets that a runtime must support
    parity: Parity
    int8: QuantizationResult | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values for JSON."""
        return asdict(self) | {"path": str(self.path)}


def export_onnx(
    model: Model,
    path: str | Path,
    *,
    check: Any = None,
    y: Any = None,
    weights_only: bool = False,
    int8: bool = False,
    margin: float = DEFAULT_MARGIN,
    metric: str | None = None,
    runtime: RuntimeName | None = None,
) -> ExportResult:
    """Write a model as one ONNX file after checking that it predicts the same as the model.

    Parameters
    ----------
    model : Model
        The model to export.
    path : str or Path
        Where to write; must end in .onnx. An existing file is replaced atomically.
    check : table or LabelledArrays, optional
        Real rows to compare the file with the model on, in addition to synthetic rows of every
        category, missing and unseen values and extremes. Encoded rows, for instance of a store, are
        compared on the network only.
    y : array-like, optional
        The target of these rows, if the table has no column of its name. Only int8 needs it.
    weights_only : bool
        Whether to leave out preprocessing. The file then takes encoded rows, and also returns the
        network's outputs.
    int8 : bool
        Whether to store matrices in 8 bits. Both files are scored on the rows of `check`, whose
        target must be known. It is an error if the file does not become smaller.
    margin : float
        The relative loss of the score that int8 may cause.
    metric : str, optional
        The score for int8; by default log loss for classes, else RMSE.
    runtime : {"onnxruntime", "reference"}, optional
        What runs the file for the comparison; by default ONNX Runtime if it is installed, else
        ONNX's reference implementation.
    """
    path = _check_path(Path(path))
    if not 0 <= margin < float("inf"):
        raise TabNASError(f"margin must be a number of at least 0, got {margin!r}")
    task = model.target.task
    score_metric = default_metric(task) if metric is None else get_metric(metric, task)
    rows = _get_rows(check)
    column = _get_target_column(model, rows, y)

    def load(model: Model, weights: Mapping[str, Weight]) -> tuple[LoadedFile, LoadedFile]:
        """Return the file of a model with these weights, and the file that can take `rows`."""
        file = _load_file(build_file(model, weights, weights_only=weights_only), runtime)
        if weights_only or not isinstance(rows, EncodedTable):
            return file, file
        return file, _load_file(build_file(model, weights, weights_only=True), runtime)

    if int8 and model.precision == Precision.INT8:
        raise TabNASError("the weights of this model are int8 already; leave int8 out")
    loaded, scored = load(model, network_weights(model))
    parity = check_parity(model, *loaded, rows, network=scored)
    file, quantization = loaded[0], None
    if int8:
        quantized = quantize_weights(center_weights(model.weights))
        # checks the limits: with its scales, int8 may take more bytes than float16
        model_int8 = replace(model, precision=Precision.INT8, weights=dequantize(quantized))
        loaded_int8, scored_int8 = load(model_int8, quantized)
        check_smaller(file, loaded_int8[0])
        parity = check_parity(model_int8, *loaded_int8, rows, network=scored_int8)
        labelled, y = _get_labelled_rows(model, check, rows, column)
        quantization = compare_scores(
            model, score_metric, labelled, y, scored, scored_int8, margin, len(file.data)
        )
        file = loaded_int8[0]
    _write(path, file.data)
    return ExportResult(
        path=path,
        bytes=len(file.data),
        parameters=int(model.costs["parameters"]),
        inputs=file.inputs,
        outputs={output.name: output.dtype for output in file.outputs},
        opsets=file.opsets,
        parity=parity,
        int8=quantization,
    )


def onnx_bytes(model: Model) -> bytes:
    """Return the file that `export_onnx` would write, unchecked."""
    return build_file(model, network_weights(model), weights_only=False).data


def _get_rows(check: Any) -> Table | EncodedTable | None:
    """Return the rows to compare on, which may be encoded already."""
    if isinstance(check, LabelledArrays):
        return check.encoded
    return None if check is None else Table.from_data(check)


def _get_labelled_rows(
    model: Model, check: Any, rows: Table | EncodedTable | None, column: Any
) -> tuple[Table | EncodedTable, NDArray[Any]]:
    """Return the rows whose target is known, and its values."""
    if isinstance(check, LabelledArrays):
        return check
    assert not isinstance(rows, EncodedTable)
    return select_labelled_rows(model, rows, column)


def _get_target_column(model: Model, rows: Table | EncodedTable | None, y: Any) -> Any:
    """Return the target column of the rows of a table, or None if it is not known."""
    name = model.target.name
    if not isinstance(rows, Table) or (y is None and not (rows.has_names and name in rows)):
        return None
    if y is None:
        return rows.column(name)
    column = Table.from_data({name: y}).column(name)
    if len(column) != len(rows):
        raise TabNASError(
            f"y must have a value for each of the {len(rows):,} rows to check on, got "
            f"{len(column):,}"
        )
    return column


def _load_file(file: OnnxFile, runtime: RuntimeName | None) -> LoadedFile:
    """Check that the file is valid ONNX, and load it."""
    onnx.checker.check_model(file.proto, full_check=True)
    return file, OnnxSession(file.data, runtime)


def _check_path(path: Path) -> Path:
    if path.suffix.lower() != SUFFIX:
        raise TabNASError(
            f"path must end in {SUFFIX}, got {path.name!r}; use {path.stem + SUFFIX!r}"
        )
    if path.is_dir():
        raise TabNASError(f"path must be a file, but {str(path)!r} is a folder")
    return path


def _write(path: Path, data: bytes) -> None:
    """Write the file and create the folders above it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, data)
    except OSError as error:
        raise TabNASError(
            f"{str(path)!r} cannot be written ({error.strerror or error}); choose another path"
        ) from None
