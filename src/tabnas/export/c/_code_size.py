"""The size of compiled code, as the tool `size` measures it."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from tabnas.export.c._compiler import SOURCE, Compiler, run_command


@dataclass(frozen=True)
class ObjectSize:
    """Bytes of machine code and constants, and the compiler that made them."""

    bytes: int  # without texts
    lookup_bytes: int  # the texts of categories and classes, and the functions that search them
    compiler: str  # its version


def measure_size(compiler: Compiler, folder: Path, macro: str) -> ObjectSize | None:
    """Return the size of the compiled file if the tool `size` is there; `macro` omits texts."""
    size = shutil.which("size")
    if size is None:
        return None
    sizes = []
    for flags in ((f"-D{macro}",), ()):
        compiler.run(folder, *flags, "-c", SOURCE, "-o", "model.o")
        done = run_command([size, "model.o"], folder)
        counts = re.match(r".*\n\s*(\d+)\s+(\d+)\s", done.stdout)
        if done.returncode or counts is None:
            return None
        sizes.append(int(counts[1]) + int(counts[2]))  # tables of pointers may count as data
    return ObjectSize(sizes[0], max(0, sizes[1] - sizes[0]), compiler.version)
