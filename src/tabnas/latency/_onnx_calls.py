"""Calls of networks as they are deployed: in ONNX Runtime, on one thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.errors import TabNASError
from tabnas.latency._terms import NetworkShape
from tabnas.model import weight_shapes
from tabnas.nets import Inputs, NetworkSpec
from tabnas.streams import stream

Call = Callable[[], object]
THREADS = 1
ERRORS_ONLY = 3  # a log level of ONNX Runtime


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
    """Return a call of an ONNX model (or its bytes) on these rows, on one thread.

    The call is `session.run` from Python, so its time includes the way to the runtime and back.
    """
    onnxruntime = import_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.inter_op_num_threads = THREADS
    options.log_severity_level = ERRORS_ONLY
    content = model if isinstance(model, bytes) else model.SerializeToString()
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return partial(session.run, None, dict(rows))


def network_call(shape: NetworkShape, rows: int) -> Call:
    """Return a call of a network without preprocessing, with random weights, on random rows.

    All embedded columns have the same number of knots.
    """
    from tabnas.export import network_model  # loads ONNX, which few runs need

    others = shape.inputs - shape.columns
    count = shape.knots // max(1, shape.columns)
    knots = [np.linspace(-2.0, 2.0, count).tolist()] * shape.columns + [[]] * others
    spec = NetworkSpec(
        inputs=Inputs(numeric=shape.inputs, knots=knots),
        loss="squared_error",
        outputs=shape.outputs,
    )
    rng = stream(0, f"latency weights/{shape.architecture}")
    weights = {
        name: rng.normal(scale=size[0] ** -0.5, size=size).astype(np.float32)
        for name, size in weight_shapes(spec, shape.architecture).items()
    }
    numbers = rng.normal(size=(rows, shape.inputs)).astype(np.float32)
    return onnx_call(network_model(shape.architecture, spec, weights), {"numeric": numbers})
