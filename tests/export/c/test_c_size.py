"""The size of a model as C, measured without an export; nothing that fails there raises."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tabnas.errors import TabNASError
from tabnas.export import export_c, measure_c_size
from tabnas.export.c import _compiler, _program, _size
from tabnas.export.c._compiler import Compiler, find_compiler
from tabnas.model import Model
from tabnas.space import Precision
from tests.export.c.builds import get_compiler
from tests.export.c.test_c_parity import make_model, make_table


@pytest.fixture
def model() -> Model:
    return make_model("multiclass", "all", 2, [20, 9])[0]


@pytest.mark.parametrize("precision", [Precision.FLOAT32, Precision.INT8])
@pytest.mark.parametrize("task", ["multiclass", "binary", "regression"])
def test_the_sizes_are_those_of_an_export(task: str, precision: Precision, tmp_path: Path) -> None:
    model, _ = make_model(task, "all", 2, [20, 9], precision=precision)
    size = measure_c_size(model)
    assert size == measure_c_size(model)
    assert size == export_c(model, tmp_path, check=make_table(50), prefix="bird").size
    assert size.weight_bytes == model.costs["bytes"]
    assert size.ram_bytes == model.costs["ram_bytes"]
    assert size.compiled_bytes is not None
    assert size.weight_bytes < size.compiled_bytes <= size.max_bytes
    assert size.compiler == get_compiler().version


def fail(error: Exception) -> Callable[..., None]:
    def raise_error(*_: object, **__: object) -> None:
        raise error

    return raise_error


def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_size, "find_compiler", lambda: None)


def failing_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """It compiles what `find_compiler` tries it on, and nothing else."""
    works = get_compiler()
    monkeypatch.setattr(_size, "find_compiler", lambda: replace(works, command=("false",)))


def vanished_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = Compiler(("/nowhere/cc",), "cc 1.0")
    monkeypatch.setattr(_size, "find_compiler", lambda: gone)


def slow_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    get_compiler()
    monkeypatch.setattr(_compiler, "TIMEOUT", 1e-6)


def no_temporary_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere/tmp")


def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_size, "write_files", fail(OSError(28, "No space left on device")))


def malformed_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "gcc '")


def no_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    find = _compiler.shutil.which
    monkeypatch.setattr(
        _compiler.shutil, "which", lambda name: None if name == "size" else find(name)
    )


@pytest.mark.parametrize(
    "break_it",
    [
        no_compiler,
        failing_compiler,
        vanished_compiler,
        slow_compiler,
        no_temporary_folder,
        full_disk,
        malformed_variable,
        no_tool,
    ],
)
def test_what_cannot_be_compiled_has_a_bound(
    break_it: Callable[[pytest.MonkeyPatch], None], model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = measure_c_size(model)
    assert compiled.compiled_bytes is not None
    break_it(monkeypatch)
    size = measure_c_size(model)
    assert size == replace(compiled, compiled_bytes=None, lookup_bytes=None, compiler=None)


@pytest.mark.parametrize(
    "output", ["", "text", "   text data\\n", "text data\\n7 nan 3\\n", "\\n\\n\\n"]
)
def test_a_tool_size_that_prints_something_else_is_not_used(
    output: str, model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    get_compiler()
    (tmp_path / "size").write_text(f"#!/bin/sh\nprintf '{output}'\n")
    (tmp_path / "size").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert measure_c_size(model).compiled_bytes is None


def test_a_malformed_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    malformed_variable(monkeypatch)
    with pytest.raises(TabNASError, match=r"variable CC must be a command, got \"gcc '\""):
        find_compiler()


def test_models_that_c_cannot_hold_are_refused(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TabNASError, match="must have float32 or int8 weights"):
        measure_c_size(replace(model, precision=Precision.FLOAT16))
    monkeypatch.setattr(_program, "MAX_PARAMETERS", 100)
    with pytest.raises(TabNASError, match="can hold at most 100 parameters"):
        measure_c_size(model)
