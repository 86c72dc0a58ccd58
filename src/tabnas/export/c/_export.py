"""Export of a model to C files, which are compiled and checked before they are written."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tabnas.data import LabelledArrays, Table
from tabnas.errors import TabNASError
from tabnas.export._parity import Parity
from tabnas.export.c._code_size import ObjectSize, measure_size
from tabnas.export.c._compiled_model import CompiledModel
from tabnas.export.c._compiler import HEADER, SELF_TEST, SOURCE, find_compiler, write_files
from tabnas.export.c._header import render_header
from tabnas.export.c._names import DEFAULT_PREFIX
from tabnas.export.c._parity import check_compiled, check_lookups
from tabnas.export.c._program import Program, make_program
from tabnas.export.c._self_test import render_self_test
from tabnas.export.c._size import make_c_size
from tabnas.export.c._source import render_source
from tabnas.files import atomic_write
from tabnas.model import Model
from tabnas.results import CSize
from tabnas.space import Precision


@dataclass(frozen=True, kw_only=True)
class CExportResult:
    """The files that were written: their memory, and how they were checked."""

    header: Path
    source: Path
    self_test: Path  # not needed to predict
    model_id: str
    parameters: int
    precision: Precision
    size: CSize
    fields: dict[str, str]  # types of the struct's members, by name
    parity: Parity | None  # None without a compiler
    texts: int  # different categories of the given rows that were looked up in C as written

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values for JSON."""
        paths = {name: str(getattr(self, name)) for name in ("header", "source", "self_test")}
        size = asdict(self.size) | {"max_bytes": self.size.max_bytes}
        return asdict(self) | paths | {"size": size}


def export_c(
    model: Model, folder: str | Path, *, check: Any = None, prefix: str = DEFAULT_PREFIX
) -> CExportResult:
    """Write a model as `model.h` and `model.c`, C99 without any library but that of `math.h`.

    `model_test.c` has synthetic rows with their predictions, to test a device: real ones may be
    private.

    If the machine has a C compiler, the files are compiled first. They are written only if they
    predict the same as the model, and look up categories as the table writes them.

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
    rows = None if check is None or isinstance(check, LabelledArrays) else Table.from_data(check)
    program = make_program(model, prefix, rows)
    self_test = render_self_test(program)
    compiled, parity, texts = _check(program, self_test, rows)
    _write(program, self_test, folder)
    return CExportResult(
        header=folder / HEADER,
        source=folder / SOURCE,
        self_test=folder / SELF_TEST,
        model_id=program.model_id,
        parameters=int(model.costs["parameters"]),
        precision=model.precision,
        size=make_c_size(program, compiled),
        fields={field.name: field.ctype for field in program.fields},
        parity=parity,
        texts=texts,
    )


def _check(
    program: Program, self_test: str, rows: Table | None
) -> tuple[ObjectSize | None, Parity | None, int]:
    """Compile the files and compare them with the model, if there is a compiler."""
    compiler = find_compiler()
    if compiler is None:
        return None, None, 0
    with TemporaryDirectory(prefix="tabnas-") as name:
        work = Path(name)
        write_files(program, work)
        (work / SELF_TEST).write_text(self_test)
        compiled = CompiledModel(program, compiler, work)
        parity = check_compiled(program, compiled, rows, compiler.version)
        texts = check_lookups(program, compiled, rows)
        if (failures := compiled.self_test()) != 0:
            raise TabNASError(
                f"{SELF_TEST} must find no difference, but it finds {failures} with "
                f"{compiler.version}; nothing was written. This is a bug of tabnas or of the "
                "compiler"
            )
        return measure_size(compiler, work, program.no_lookup_macro), parity, texts


def _write(program: Program, self_test: str, folder: Path) -> None:
    """Write all files and create the folder; the compiler refuses files of different exports."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        atomic_write(folder / SOURCE, render_source(program))
        atomic_write(folder / HEADER, render_header(program))
        atomic_write(folder / SELF_TEST, self_test)
    except OSError as error:
        raise TabNASError(
            f"{str(folder)!r} cannot be written ({error.strerror or error}); choose another folder"
        ) from None
