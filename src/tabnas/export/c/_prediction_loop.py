"""Compiled loops that predict many times in one call, so that a prediction can be timed.

A prediction in C takes less time than a call from Python. The loop is a file of its own: to its
compiler, a prediction is a call of a function that it knows nothing about and cannot leave out.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.data import Table
from tabnas.errors import TabNASError
from tabnas.export.c._bare_network import render_bare_network
from tabnas.export.c._compiler import (
    FLAGS,
    HEADER,
    LIBRARY_FLAGS,
    SOURCE,
    Compiler,
    find_compiler,
)
from tabnas.export.c._header import render_header
from tabnas.export.c._program import make_program
from tabnas.export.c._row import make_rows
from tabnas.export.c._source import render_source
from tabnas.model import Model, center_weights, quantize_weights
from tabnas.nets import Inputs
from tabnas.space import Architecture, Precision

PREFIX = "timed"
MAX_LIBRARIES = 64
"""Libraries that are kept for another measurement of the same files."""
LOOP, LIBRARY = "loop.c", "loop.so"
LOOP_CODE = f"""
#include "model.h"
#include <stddef.h>

void predict_repeatedly(const {PREFIX}_row *rows, size_t count, size_t predictions,
                        float *outputs);
void predict_repeatedly(const {PREFIX}_row *rows, size_t count, size_t predictions,
                        float *outputs)
{{
    size_t i = 0, wait = 0;
    for (; predictions > 0; predictions--) {{
        @PREDICT@;
        /* 0, but the processor has to compute the outputs to know: predictions do not overlap */
        wait = outputs[0] != outputs[0];
        i = i + 1 < count ? i + 1 : 0;
    }}
}}
"""
PREDICT_OUTPUTS = f"{PREFIX}_predict(rows + i + wait, outputs)"
PREDICT_VALUE = f"outputs[0] = (float){PREFIX}_predict(rows + i + wait)"


class PredictionLoop:
    """Predicts rows one after the other, from the first again after the last."""

    def __init__(self, library: ctypes.CDLL, rows: NDArray[Any], outputs: int) -> None:
        # one row more than the loop reads, in case an output is not a number
        self._rows = np.concatenate([rows, rows[:1]])
        self._outputs = np.empty(outputs, np.float32)
        self._function = library.predict_repeatedly
        self._function.restype = None
        size, address = ctypes.c_size_t, ctypes.c_void_p
        self._function.argtypes = [address, size, size, address]
        self._arguments = self._rows.ctypes.data, len(rows)
        self._address = self._outputs.ctypes.data

    @property
    def outputs(self) -> NDArray[np.float32]:
        """The outputs of the last prediction: probabilities, a value, or those of a network."""
        return self._outputs.copy()

    def __call__(self, predictions: int) -> None:
        """Make this many predictions."""
        self._function(*self._arguments, predictions, self._address)


def compile_model_loop(model: Model, table: Table) -> PredictionLoop:
    """Return a loop over the rows of a table with the exported files of a model."""
    program = make_program(model, PREFIX)
    predict = PREDICT_OUTPUTS if model.classes else PREDICT_VALUE
    library = _compile(render_header(program), render_source(program), predict)
    rows = make_rows(model.encoder, program.fields, table)
    return PredictionLoop(library, rows, max(1, len(model.classes)))


def compile_network_loop(
    architecture: Architecture,
    inputs: Inputs,
    weights: Mapping[str, NDArray[np.float32]],
    precision: Precision,
    rows: NDArray[np.float32],
) -> PredictionLoop:
    """Return a loop over encoded rows [rows, inputs] with a network without preprocessing."""
    stored = quantize_weights(weights) if precision == Precision.INT8 else center_weights(weights)
    outputs = len(weights[f"head.{architecture.depth}.bias"])
    files = render_bare_network(architecture, inputs, stored, outputs, PREFIX)
    library = _compile(files.header, files.source, PREDICT_OUTPUTS)
    return PredictionLoop(library, np.ascontiguousarray(rows), outputs)


def require_compiler() -> Compiler:
    """Return the C compiler of this machine; raise an error if there is none."""
    compiler = find_compiler()
    if compiler is None:
        raise TabNASError(
            "measuring latency in C requires a C compiler, but none was found; install gcc or "
            "clang, or measure in onnxruntime"
        )
    return compiler


def describe_compiler() -> str:
    """Return the version of the C compiler, and the flags that files are compiled with."""
    return " ".join((require_compiler().version, *FLAGS))


@lru_cache(maxsize=MAX_LIBRARIES)
def _compile(header: str, source: str, predict: str) -> ctypes.CDLL:
    """Compile the files and the loop, and load them."""
    compiler = require_compiler()
    with TemporaryDirectory(prefix="tabnas-") as name:
        folder = Path(name)
        (folder / HEADER).write_text(header)
        (folder / SOURCE).write_text(source)
        (folder / LOOP).write_text(LOOP_CODE.replace("@PREDICT@", predict))
        compiler.run(folder, *LIBRARY_FLAGS, SOURCE, LOOP, "-lm", "-o", LIBRARY)
        return ctypes.CDLL(str(folder / LIBRARY))  # stays in memory without its file
