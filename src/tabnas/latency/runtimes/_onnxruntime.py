"""Models as they are deployed with ONNX Runtime: the exported file, on one thread."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from numpy.typing import NDArray

from tabnas.data import Table
from tabnas.errors import TabNASError
from tabnas.latency._clock import Call
from tabnas.latency._terms import NetworkShape
from tabnas.latency.runtimes._runtime import (
    Runtime,
    SurveySize,
    make_spec,
    make_weights_and_rows,
    take_rows,
)
from tabnas.model import Model
from tabnas.space import Precision

ERRORS_ONLY = 3  # a log level of ONNX Runtime


class OnnxRuntime(Runtime):
    """ONNX Runtime. A call is `session.run`, including the time to enter it from Python.

    Files can hold weights of any precision, but all compute with float32 and take equally long.
    """

    name = "onnxruntime"
    precisions = (Precision.FLOAT32,)
    survey = SurveySize(fitted=60, held_out=40, tables=16, embedded=32, max_width=512)
    has_single_units = False
    loops_over_rows = False
    build_threads = 1

    def version(self) -> str:
        return str(import_onnxruntime().__version__)

    def describe(self, version: str) -> str:
        return f"onnxruntime {version}"

    def model_call(self, model: Model, table: Table, rows: int) -> Call:
        from tabnas.export import onnx_bytes, onnx_inputs  # loads ONNX, which few runs need

        return onnx_call(onnx_bytes(model), onnx_inputs(model, take_rows(table, rows)))

    def network_call(
        self, shape: NetworkShape, rows: int, precision: Precision = Precision.FLOAT32
    ) -> Call:
        from tabnas.export import network_model

        spec = make_spec(shape)
        weights, numbers = make_weights_and_rows(shape, spec, rows)
        return onnx_call(network_model(shape.architecture, spec, weights), {"numeric": numbers})


def import_onnxruntime() -> Any:
    """Return the package `onnxruntime`, which is optional."""
    try:
        import onnxruntime
    except ImportError:
        raise TabNASError(
            "measuring latency requires onnxruntime, which is not installed; "
            'pip install "tabnas[onnxruntime]"'
        ) from None
    return onnxruntime


def onnx_call(model: Any, rows: Mapping[str, NDArray[Any]]) -> Call:
    """Return a call of an ONNX model (or its bytes) on these rows, on one thread."""
    onnxruntime = import_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = ERRORS_ONLY
    content = model if isinstance(model, bytes) else model.SerializeToString()
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return Call(partial(session.run, None, dict(rows)))
