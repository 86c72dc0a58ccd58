"""Compiled models for tests, with every warning as an error."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.export.c._compiled_model import CompiledModel
from tabnas.export.c._compiler import SOURCE, Compiler, find_compiler, write_files
from tabnas.export.c._program import Program, make_program
from tabnas.export.c._row import make_rows
from tabnas.model import Model

STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wdouble-promotion")
STRICT += ("-Wshadow", "-Wundef", "-Wstrict-prototypes")
ENCODE_CODE = """
#include "model.c"
void encode_row(const tabnas_row *row, float *memory);
void encode_row(const tabnas_row *row, float *memory)
{
    float *x = memory;
    {calls}
}
"""
"""Has access to the static functions of the model."""


def get_compiler() -> Compiler:
    compiler = find_compiler()
    assert compiler is not None, "the tests need a C compiler"
    return compiler


def build(
    model: Model, folder: Path, *flags: str, prefix: str = "tabnas"
) -> tuple[Program, CompiledModel]:
    folder.mkdir(parents=True, exist_ok=True)
    program = make_program(model, prefix)
    write_files(program, folder)
    return program, CompiledModel(program, get_compiler(), folder, [*STRICT, *flags])


def encode(program: Program, folder: Path, table: Any) -> NDArray[np.float32]:
    """Return the inputs of the network that C computes, in the order of the model."""
    write_files(program, folder)
    calls = " ".join(f"x = {part.call};" for part in program.parts)
    (folder / "encode.c").write_text(ENCODE_CODE.replace("{calls}", calls + " (void)x;"))
    get_compiler().run(folder, *STRICT, "-fPIC", "-shared", "encode.c", "-lm", "-o", "encode.so")
    assert (folder / SOURCE).exists()
    library = ctypes.CDLL(str(folder / "encode.so"))
    rows = make_rows(program.model.encoder, program.fields, table)
    order = [number for part in program.parts for number in part.inputs]
    out = np.full((len(rows), len(order)), np.nan, np.float32)
    for number in range(len(rows)):
        row, x = rows[number : number + 1], out[number : number + 1]
        library.encode_row(row.ctypes.data_as(ctypes.c_void_p), x.ctypes.data_as(ctypes.c_void_p))
    return out[:, np.argsort(order)]
