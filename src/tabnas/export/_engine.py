"""What computes a file: ONNX Runtime, or where it is not installed, ONNX's own reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tabnas.errors import TabNASError, did_you_mean

EngineName = Literal["onnxruntime", "reference"]
"""What computes a file to check it: ONNX Runtime, or ONNX's own reference."""
CHUNK = 1 << 14  # rows computed at a time
ERRORS_ONLY = 3  # of ONNX Runtime's levels of logging
Arrays = Mapping[str, NDArray[Any]]


class Engine:
    """A file, ready to answer."""

    def __init__(self, data: bytes, name: EngineName | None = None) -> None:
        if name is not None and name not in get_args(EngineName):
            raise TabNASError(
                f"there is no engine {name!r}; {did_you_mean(str(name), get_args(EngineName))}"
            )
        runtime = None if name == "reference" else _onnxruntime()
        if name == "onnxruntime" and runtime is None:
            raise TabNASError(
                "the engine must be installed, but onnxruntime is not; "
                "install it with: pip install 'tabnas[onnxruntime]'"
            )
        self._session: Any
        if runtime is None:
            from onnx import __version__, load_model_from_string
            from onnx.reference import ReferenceEvaluator

            self.name = f"onnx {__version__} (reference)"
            self._session = ReferenceEvaluator(load_model_from_string(data))
            self._outputs = list(self._session.output_names)
            return
        self.name = f"onnxruntime {runtime.__version__}"
        options = runtime.SessionOptions()
        options.log_severity_level = ERRORS_ONLY
        options.intra_op_num_threads = 1  # networks of this size gain nothing by more
        self._session = runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        self._outputs = [value.name for value in self._session.get_outputs()]

    def run(self, inputs: Arrays) -> dict[str, NDArray[Any]]:
        """The outputs by name."""
        pieces = [self._run(piece) for piece in _chunks(inputs)]
        columns = zip(*pieces, strict=True)
        return {n: np.concatenate(c) for n, c in zip(self._outputs, columns, strict=True)}

    def _run(self, inputs: Arrays) -> list[NDArray[Any]]:
        with np.errstate(all="ignore"):  # the reference computes with NumPy, and overflow is meant
            return [np.asarray(array) for array in self._session.run(None, dict(inputs))]


def _chunks(inputs: Arrays) -> Iterator[Arrays]:
    rows = len(next(iter(inputs.values())))
    for start in range(0, max(rows, 1), CHUNK):
        yield {name: array[start : start + CHUNK] for name, array in inputs.items()}


def _onnxruntime() -> Any:
    try:
        import onnxruntime
    except ImportError:
        return None
    return onnxruntime
