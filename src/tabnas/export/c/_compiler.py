"""Compiled files: a C compiler of this machine, the library it makes, and the size of the code."""

from __future__ import annotations

import ctypes
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.errors import TabNASError
from tabnas.export.c._header import render_header
from tabnas.export.c._lookups import Lookup
from tabnas.export.c._program import Program
from tabnas.export.c._row import row_dtype
from tabnas.export.c._source import render_source
from tabnas.types import FloatArray, IntArray

COMPILERS = ("cc", "gcc", "clang")
HEADER, SOURCE, SELF_TEST = "model.h", "model.c", "model_test.c"
FLAGS = ("-std=c99", "-O2")
LIBRARY_FLAGS = ("-fPIC", "-shared")
TIMEOUT = 600  # seconds for one call of the compiler
SMALL_CODE = """
#include <math.h>
#include <stdint.h>
float small_root(float x);
float small_root(float x) { return sqrtf(x); }
"""
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


@dataclass(frozen=True)
class ObjectSize:
    """Bytes of machine code and constants, and the compiler that made them."""

    bytes: int  # without texts
    lookup_bytes: int  # the texts of categories and classes, and the functions that search them
    compiler: str  # its version


@dataclass(frozen=True)
class Compiler:
    """A C compiler of this machine."""

    command: tuple[str, ...]
    version: str  # the first line that it prints about itself

    def run(self, folder: Path, *arguments: str) -> None:
        """Run the compiler in a folder; raise an error if it complains about a file."""
        done = _run([*self.command, *FLAGS, *arguments], folder)
        if done.returncode:
            first = next((line for line in done.stderr.splitlines() if "error" in line), "")
            raise TabNASError(
                f"the C files must compile, but {self.version} says: {first!r}; nothing was "
                "written. This is a bug of tabnas or of that compiler"
            )


def find_compiler() -> Compiler | None:
    """Return a C compiler that can make a library, if there is one: first that of `CC`."""
    own = _split_command(os.environ.get("CC", ""))
    for command in ([own] if own else []) + [[name] for name in COMPILERS]:
        path = shutil.which(command[0])
        if path is not None and (compiler := _try_compiler((path, *command[1:]))) is not None:
            return compiler
    return None


def _split_command(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise TabNASError(
            f"the environment variable CC must be a command, got {command!r} ({error}); correct it"
        ) from None


@cache
def _try_compiler(command: tuple[str, ...]) -> Compiler | None:
    """Return the compiler unless it fails on a small file: the headers of C may be missing."""
    with TemporaryDirectory(prefix="tabnas-") as name:
        folder = Path(name)
        (folder / SOURCE).write_text(SMALL_CODE)
        try:
            version = _run([*command, "--version"], folder).stdout.partition("\n")[0]
            compiler = Compiler(command, version)
            compiler.run(folder, *LIBRARY_FLAGS, SOURCE, "-lm", "-o", "small.so")
            ctypes.CDLL(str(folder / "small.so"))
        except (OSError, TabNASError):  # also if libraries cannot be loaded from the folder
            return None
    return compiler


def _run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=TIMEOUT
        )
    except subprocess.TimeoutExpired:
        raise TabNASError(
            f"{command[0]} must end within {TIMEOUT} seconds, but it did not; nothing was written. "
            "Search within a smaller limit"
        ) from None


def write_files(program: Program, folder: Path) -> None:
    """Write the header and the source to a folder, for a compiler."""
    (folder / HEADER).write_text(render_header(program))
    (folder / SOURCE).write_text(render_source(program))


def measure_size(compiler: Compiler, folder: Path, macro: str) -> ObjectSize | None:
    """Return the size of the compiled file if the tool `size` is there; `macro` omits texts."""
    size = shutil.which("size")
    if size is None:
        return None
    sizes = []
    for flags in ((f"-D{macro}",), ()):
        compiler.run(folder, *flags, "-c", SOURCE, "-o", "model.o")
        done = _run([size, "model.o"], folder)
        counts = re.match(r".*\n\s*(\d+)\s+(\d+)\s", done.stdout)
        if done.returncode or counts is None:
            return None
        sizes.append(int(counts[1]) + int(counts[2]))  # tables of pointers may count as data
    return ObjectSize(sizes[0], max(0, sizes[1] - sizes[0]), compiler.version)


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
