"""The effect of int8 weights on the score of a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.data import EncodedTable, Table, find_labelled_rows
from tabnas.data.lowlevel import is_text, renumber_rows
from tabnas.errors import TabNASError
from tabnas.export._onnx_file import OnnxFile
from tabnas.export._parity import get_prediction, make_inputs
from tabnas.export._session import OnnxSession
from tabnas.model import Metric, Model, primary_loss


@dataclass(frozen=True, kw_only=True)
class QuantizationResult:
    """The score before and after quantization, on the same rows."""

    metric: str
    rows: int
    score_before: float
    score_after: float
    bytes_before: int  # of the file with the weights of the model: float32 or float16
    margin: float  # the relative loss that was allowed


def check_smaller(original: OnnxFile, int8: OnnxFile) -> None:
    """Raise an error unless int8 saves space: in a small network the scales take more than that."""
    before, after = len(original.data), len(int8.data)
    if after >= before:
        raise TabNASError(
            f"int8 weights must make the file smaller, but it would have {after:,} bytes instead "
            f"of {before:,}; nothing was written. Export without int8"
        )


def select_labelled_rows(model: Model, rows: Table | None, y: Any) -> tuple[Table, NDArray[Any]]:
    """Return the rows of a table whose target is known, and its values; raise if there are none."""
    known = np.empty(0, np.int64) if y is None else find_labelled_rows(y, model.target)
    if rows is None or not len(known):
        raise TabNASError(
            f"int8 weights must be checked on rows with the target {model.target.name!r}, got "
            "none; pass a table that has it as `check`"
        )
    own = rows.has_names and model.target.name in rows
    mark = rows.decimals.mark if own and is_text(y) else None
    with renumber_rows(known):
        return rows.take(known), model.target.encode(y.take(known), mark)


def compare_scores(
    model: Model,
    metric: Metric,
    rows: Table | EncodedTable,
    y: NDArray[Any],
    original: tuple[OnnxFile, OnnxSession],
    int8: tuple[OnnxFile, OnnxSession],
    margin: float,
    bytes_before: int,
) -> QuantizationResult:
    """Score both files on the same rows; raise an error if int8 costs more than the margin."""
    losses = []
    for file, session in (original, int8):
        y_pred = get_prediction(model, file, session.run(make_inputs(model, file, rows)))
        losses.append(primary_loss(metric, model.target, y, y_pred))
    before, after = (metric.loss(loss) for loss in losses)  # `loss` is its own inverse
    if losses[1] - losses[0] > margin * abs(losses[0]):
        raise TabNASError(
            f"int8 weights must keep {metric.name} within {margin:.2%} of {before:.5g}, but "
            f"it is {after:.5g} on {len(rows):,} rows; nothing was written. Set a larger "
            "margin, or export without int8"
        )
    return QuantizationResult(
        metric=metric.name,
        rows=len(rows),
        score_before=before,
        score_after=after,
        bytes_before=bytes_before,
        margin=margin,
    )
