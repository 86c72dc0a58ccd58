"""The size of a model as a C program, without writing or checking it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from tabnas.errors import TabNASError
from tabnas.export.c._code_size import ObjectSize, measure_size
from tabnas.export.c._compiler import Compiler, find_compiler, write_files
from tabnas.export.c._names import DEFAULT_PREFIX
from tabnas.export.c._program import Program, make_program
from tabnas.model import Model
from tabnas.results import CSize

MAX_COMPILED_PARAMETERS = 500_000
"""Compiling takes a second for 300,000 parameters, and several for a million."""


def measure_c_size(model: Model) -> CSize:
    """Return the size of a model as C files, compiled if this machine has a C compiler.

    There are no compiled sizes if the compiler fails, no files can be written for it, or the model
    is so large that compiling takes long. If the model cannot be exported to C, an error is raised.
    """
    program = make_program(model, DEFAULT_PREFIX)
    if model.costs["parameters"] > MAX_COMPILED_PARAMETERS:
        return make_c_size(program, None)
    try:
        compiler = find_compiler()
        compiled = None if compiler is None else _compile(program, compiler)
    except (TabNASError, OSError):
        compiled = None
    return make_c_size(program, compiled)


def _compile(program: Program, compiler: Compiler) -> ObjectSize | None:
    with TemporaryDirectory(prefix="tabnas-") as name:
        folder = Path(name)
        write_files(program, folder)
        return measure_size(compiler, folder, program.no_lookup_macro)


def make_c_size(program: Program, compiled: ObjectSize | None) -> CSize:
    """Return the size of a program, with what a compiler made of it if that was measured."""
    return CSize(
        weight_bytes=program.weight_bytes,
        column_bytes=program.column_bytes,
        max_code_bytes=program.max_code_bytes,
        ram_bytes=program.ram_bytes,
        compiled_bytes=None if compiled is None else compiled.bytes,
        lookup_bytes=None if compiled is None else compiled.lookup_bytes,
        compiler=None if compiled is None else compiled.compiler,
    )
