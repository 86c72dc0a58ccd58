"""Networks as people deploy them: a file in ONNX Runtime, on one thread."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from numpy.typing import NDArray

from tabnas.errors import TabnasError
from tabnas.latency._clock import Call

THREADS = 1
ERRORS_ONLY = 3


def runtime() -> Any:
    """The package `onnxruntime`, which is optional."""
    try:
        import onnxruntime
    except ImportError:
        raise TabnasError(
            "latency must be measured with onnxruntime, however it is not installed; "
            'pip install "tabnas[onnxruntime]"'
        ) from None
    return onnxruntime


def call_of(model: Any, rows: Mapping[str, NDArray[Any]]) -> Call:
    """A call of an ONNX model (its bytes, or itself) on these rows, on one thread.

    What is timed is `session.run` from Python: the time in the runtime and the way there and back.
    """
    onnxruntime = runtime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.inter_op_num_threads = THREADS
    options.log_severity_level = ERRORS_ONLY
    content = model if isinstance(model, bytes) else model.SerializeToString()
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return partial(session.run, None, dict(rows))
