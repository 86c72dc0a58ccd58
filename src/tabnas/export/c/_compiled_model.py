"""A model that is compiled to a library and loaded, so that its predictions can be checked."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.export.c._compiler import LIBRARY_FLAGS, SELF_TEST, SOURCE, Compiler
from tabnas.export.c._lookups import Lookup
from tabnas.export.c._program import Program
from tabnas.export.c._row import row_dtype
from tabnas.types import FloatArray, IntArray

LOOP_CODE = """
#include "model.h"
#include <stddef.h>
size_t size_of_row(void);
size_t size_of_row(void) { return sizeof(@row); }
"""
CLASSES_LOOP_CODE = """
void predict_rows(const @row *rows, size_t count, float *probabilities, int32_t *labels);
void predict_rows(const @row *rows, size_t count, float *probabilities, int32_t *labels)
{
    size_t i;
    for (i = 0; i < count; i++) labels[i] = @predict(rows + i, probabilities + i * {classes});
}
"""
VALUES_LOOP_CODE = """
void predict_rows(const @row *rows, size_t count, double *values);
void predict_rows(const @row *rows, size_t count, double *values)
{
    size_t i;
    for (i = 0; i < count; i++) values[i] = @predict(rows + i);
}
"""


class CompiledModel:
    """A model that was compiled to a library and loaded."""

    def __init__(
        self, program: Program, compiler: Compiler, folder: Path, flags: Sequence[str] = ()
    ) -> None:
        self._program = program
        classes = len(program.model.classes)
        loop = CLASSES_LOOP_CODE if classes else VALUES_LOOP_CODE
        code = (LOOP_CODE + loop).replace("{classes}", str(classes))
        (folder / "loop.c").write_text(code.replace("@", f"{program.prefix}_"))
        sources = [path.name for path in (folder / SOURCE, folder / SELF_TEST) if path.exists()]
        compiler.run(folder, *flags, *LIBRARY_FLAGS, *sources, "loop.c", "-lm", "-o", "model.so")
        self._library = ctypes.CDLL(str(folder / "model.so"))
        self._library.size_of_row.restype = ctypes.c_size_t
        assert self._library.size_of_row() == row_dtype(program.fields).itemsize

    def predict(self, rows: NDArray[Any]) -> tuple[FloatArray, IntArray | None]:
        """Return probabilities [rows, classes] and class numbers, or values [rows] and None."""
        rows = np.ascontiguousarray(rows)
        count = ctypes.c_size_t(len(rows))
        address = rows.ctypes.data_as(ctypes.c_void_p)
        if not self._program.model.classes:
            values = np.empty(len(rows))
            self._library.predict_rows(address, count, values.ctypes.data_as(ctypes.c_void_p))
            return values, None
        probabilities = np.empty((len(rows), len(self._program.model.classes)), np.float32)
        labels = np.empty(len(rows), np.int32)
        outputs = (array.ctypes.data_as(ctypes.c_void_p) for array in (probabilities, labels))
        self._library.predict_rows(address, count, *outputs)
        return probabilities.astype(np.float64), labels.astype(np.int64)

    def self_test(self) -> int:
        """Return how many rows of the test file fail."""
        return int(self._library[f"{self._program.prefix}_self_test"]())

    def look_up(self, lookup: Lookup, value: bytes | int | None) -> int:
        """Return the code of a category."""
        function = self._library[lookup.name]
        function.restype = ctypes.c_int32
        function.argtypes = [ctypes.c_int64 if lookup.integers else ctypes.c_char_p]
        return int(function(value))
