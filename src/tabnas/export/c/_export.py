"""Export of a model to two C files, which are compiled and checked before they are written."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tabnas.data import LabelledArrays, Table
from tabnas.errors import TabNASError
from tabnas.export._parity import Parity
from tabnas.export.c._compiler import (
    HEADER,
    SOURCE,
    CompiledModel,
    ObjectSize,
    find_compiler,
    measure_size,
    write_files,
)
from tabnas.export.c._header import render_header
from tabnas.export.c._parity import check_compiled
from tabnas.export.c._program import Program, make_program
from tabnas.export.c._source import render_source
from tabnas.files import atomic_write
from tabnas.model import Model
from tabnas.space import Precision

DEFAULT_PREFIX = "tabnas"


@dataclass(frozen=True, kw_only=True)
class CExportResult:
    """Two files that were written: their memory, and how they were checked."""

    header: Path
    source: Path
    parameters: int
    precision: Precision
    weight_bytes: int  # with knots
    column_bytes: int  # what the encoder knows of the columns, such as centers and scales
    max_code_bytes: int  # what gcc -O2 needs besides at most, on x86-64
    ram_bytes: int
    fields: dict[str, str]  # types of the struct's members, by name
    size: ObjectSize | None  # as compiled; None without a compiler or the tool `size`
    parity: Parity | None  # None without a compiler

    @property
    def max_bytes(self) -> int:
        """The largest size of the compiled file, without texts."""
        return self.weight_bytes + self.column_bytes + self.max_code_bytes

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values for JSON."""
        paths = {"header": str(self.header), "source": str(self.source)}
        return asdict(self) | paths | {"max_bytes": self.max_bytes}


def export_c(
    model: Model, folder: str | Path, *, check: Any = None, prefix: str = DEFAULT_PREFIX
) -> CExportResult:
    """Write a model as `model.h` and `model.c`, C99 without any library but that of `math.h`.

    If the machine has a C compiler, the files are compiled first. They are written only if they
    predict the same as the model.

    Parameters
    ----------
    model : Model
        The model to export.
    folder : str or Path
        Where to write. Files of these names are replaced atomically.
    check : table, optional
        Real rows to compare with the model on, in addition to synthetic rows of every category,
        missing and unseen values and extremes. Encoded rows cannot be used.
    prefix : str
        What all names begin with, so that a program can use several models.
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise TabNASError(f"folder must be a folder, but {str(folder)!r} is a file; name another")
    program = make_program(model, prefix)
    rows = None if check is None or isinstance(check, LabelledArrays) else Table.from_data(check)
    size, parity = _check(program, rows)
    _write(program, folder)
    return CExportResult(
        header=folder / HEADER,
        source=folder / SOURCE,
        parameters=int(model.costs["parameters"]),
        precision=model.precision,
        weight_bytes=program.weight_bytes,
        column_bytes=program.column_bytes,
        max_code_bytes=program.max_code_bytes,
        ram_bytes=program.ram_bytes,
        fields={field.name: field.ctype for field in program.fields},
        size=size,
        parity=parity,
    )


def _check(program: Program, rows: Table | None) -> tuple[ObjectSize | None, Parity | None]:
    """Compile the files and compare them with the model, if there is a compiler."""
    compiler = find_compiler()
    if compiler is None:
        return None, None
    with TemporaryDirectory(prefix="tabnas-") as name:
        work = Path(name)
        write_files(program, work)
        compiled = CompiledModel(program, compiler, work)
        parity = check_compiled(program, compiled, rows, compiler.version)
        return measure_size(compiler, work, f"{program.prefix.upper()}_NO_LOOKUP"), parity


def _write(program: Program, folder: Path) -> None:
    """Write both files and create the folder; the source last, since it needs the header."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        atomic_write(folder / HEADER, render_header(program))
        atomic_write(folder / SOURCE, render_source(program))
    except OSError as error:
        raise TabNASError(
            f"{str(folder)!r} cannot be written ({error.strerror or error}); choose another folder"
        ) from None
