"""Sessions that run ONNX files: by ONNX Runtime, or by ONNX's reference implementation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tabnas.errors import TabNASError, did_you_mean

RuntimeName = Literal["onnxruntime", "reference"]
"""ONNX Runtime, or the reference implementation of the package onnx."""
CHUNK_ROWS = 1 << 14
ERRORS_ONLY = 3  # a log level of ONNX Runtime
Arrays = Mapping[str, NDArray[Any]]


class OnnxSession:
    """An ONNX file loaded by a runtime; by default ONNX Runtime, if it is installed."""

    def __init__(self, data: bytes, runtime: RuntimeName | None = None) -> None:
        names = get_args(RuntimeName)
        if runtime is not None and runtime not in names:
            raise TabNASError(f"there is no runtime {runtime!r}; {did_you_mean(runtime, names)}")
        ort = None if runtime == "reference" else _import_onnxruntime()
        if runtime == "onnxruntime" and ort is None:
            raise TabNASError(
                "onnxruntime is not installed; install it with: pip install 'tabnas[onnxruntime]'"
            )
        self._session: Any
        if ort is None:
            from onnx import __version__, load_model_from_string
            from onnx.reference import ReferenceEvaluator

            self.name = f"onnx {__version__} (reference)"
            self._session = ReferenceEvaluator(load_model_from_string(data))
            self._outputs = list(self._session.output_names)
            return
        self.name = f"onnxruntime {ort.__version__}"
        options = ort.SessionOptions()
        options.log_severity_level = ERRORS_ONLY
        options.intra_op_num_threads = 1  # networks of this size gain nothing by more
        self._session = ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        self._outputs = [value.name for value in self._session.get_outputs()]

    def run(self, inputs: Arrays) -> dict[str, NDArray[Any]]:
        """Return the outputs by name."""
        chunks = [self._run(chunk) for chunk in _iter_chunks(inputs)]
        outputs = zip(*chunks, strict=True)
        return {n: np.concatenate(o) for n, o in zip(self._outputs, outputs, strict=True)}

    def _run(self, inputs: Arrays) -> list[NDArray[Any]]:
        with np.errstate(all="ignore"):  # the reference uses NumPy, and overflow is intended
            return [np.asarray(array) for array in self._session.run(None, dict(inputs))]


def _iter_chunks(inputs: Arrays) -> Iterator[Arrays]:
    rows = len(next(iter(inputs.values())))
    for start in range(0, max(rows, 1), CHUNK_ROWS):
        yield {name: array[start : start + CHUNK_ROWS] for name, array in inputs.items()}


def _import_onnxruntime() -> Any:
    try:
        import onnxruntime
    except ImportError:
        return None
    return onnxruntime
