"""A C compiler of this machine, and the files that it compiles."""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tabnas.errors import TabNASError
from tabnas.export.c._header import render_header
from tabnas.export.c._program import Program
from tabnas.export.c._source import render_source

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


@dataclass(frozen=True)
class Compiler:
    """A C compiler of this machine."""

    command: tuple[str, ...]
    version: str  # the first line that it prints about itself

    def run(self, folder: Path, *arguments: str) -> None:
        """Run the compiler in a folder; raise an error if it complains about a file."""
        done = run_command([*self.command, *FLAGS, *arguments], folder)
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
            version = run_command([*command, "--version"], folder).stdout.partition("\n")[0]
            compiler = Compiler(command, version)
            compiler.run(folder, *LIBRARY_FLAGS, SOURCE, "-lm", "-o", "small.so")
            ctypes.CDLL(str(folder / "small.so"))
        except (OSError, TabNASError):  # also if libraries cannot be loaded from the folder
            return None
    return compiler


def run_command(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder and capture its output; raise an error if it takes too long."""
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
