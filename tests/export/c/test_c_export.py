"""The files that are written: sizes, memory, what they need of a system, and errors."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

from tabnas import export_c
from tabnas.data import ClassTarget, LabelledRows, NumberTarget, Table, TableEncoder
from tabnas.errors import InfeasibleError, TabNASError
from tabnas.export.c import _compiler, _export, _program
from tabnas.export.c._compiler import find_compiler
from tabnas.model import Model
from tabnas.space import Precision
from tests.export.c.builds import get_compiler
from tests.export.c.test_c_parity import TARGETS, make_model, make_table
from tests.export.strategies import choose_all_knots, make_untrained_model
from tests.export.test_export import ShiftedColumn

MATH = {"expf", "sqrt", "sqrtf", "sin", "cos", "fmod", "trunc", "fabsf", "sincos"}
"""All that may be called; some compilers join sines and cosines."""


@pytest.fixture
def model() -> Model:
    return make_model("multiclass", "all", 2, [20, 9])[0]


def test_the_files_with_their_facts(model: Model, tmp_path: Path) -> None:
    exported = export_c(model, tmp_path / "new" / "c", check=make_table(300))
    assert exported.header == tmp_path / "new" / "c" / "model.h"
    names = {path.name for path in exported.header.parent.iterdir()}
    assert names == {"model.h", "model.c", "model_test.c"}
    assert exported.parity is not None
    assert exported.parity.rows == 300
    assert exported.parity.difference < 1e-5
    assert exported.parity.runtime == get_compiler().version
    numbers = exported.parameters + sum(map(len, model.knots))
    assert exported.weight_bytes == model.costs["bytes"] == 4 * numbers
    assert exported.fields == {
        "size": "double",
        "weight": "double",
        "member": "int8_t",
        "city": "int32_t",
        "zone": "int32_t",
        "since": "double",
    }
    json.dumps(exported.to_dict())
    header = exported.header.read_text()
    assert f"#define TABNAS_RAM_BYTES {exported.ram_bytes} " in header
    assert f"#define TABNAS_WEIGHT_BYTES {exported.weight_bytes} " in header
    assert "#define TABNAS_CLASSES 5\n" in header
    assert "TABNAS_CITY_ZURICH" in header
    assert "TABNAS_ZONE_MINUS_3" in header


def test_equal_models_give_equal_files(model: Model, tmp_path: Path) -> None:
    for name in ("a", "b"):
        export_c(model, tmp_path / name)
    for name in ("model.h", "model.c", "model_test.c"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize(
    ("task", "kinds", "widths"),
    [
        ("multiclass", "all", [24] * 30),
        ("multiclass", "categorical", []),
        ("binary", "all", [64, 32]),
        ("binary", "numeric", []),
        ("regression", "numeric", [13]),
        ("regression", "categorical", [5, 24]),
    ],
)
@pytest.mark.parametrize("precision", [Precision.FLOAT32, Precision.INT8])
def test_the_compiled_size(
    task: str, kinds: str, widths: list[int], precision: Precision, tmp_path: Path
) -> None:
    """Weights and tables have the size that was computed, and code takes no more than it may."""
    dimension = 2 if kinds != "categorical" else 0
    model, _ = make_model(task, kinds, dimension, widths, precision=precision)
    exported = export_c(model, tmp_path)
    assert exported.weight_bytes == model.costs["bytes"]
    assert exported.size is not None
    constants = exported.weight_bytes + exported.column_bytes
    assert constants < exported.size.bytes <= exported.max_bytes
    assert exported.size.lookup_bytes > 0 or (task, kinds) == ("regression", "numeric")
    # without optimization, which would put small tables into the code
    file = _compile(tmp_path, "-O0", "-DTABNAS_NO_LOOKUP")
    done = subprocess.run(["nm", "-S", "-t", "d", file], capture_output=True, text=True)
    arrays = re.findall(r"^\d+ (\d+) r (?!lengths|starts)", done.stdout, re.M)
    assert sum(map(int, arrays)) == constants


def test_code_does_not_grow_with_columns(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    sizes = []
    for count in (30, 300):
        table = Table.from_data({f"x{i}": rng.normal(size=50) for i in range(count)})
        encoder = TableEncoder.fit(table)
        knots = choose_all_knots(encoder, table, 8)
        target = NumberTarget(name="y", center=0.0, scale=1.0)
        model = make_untrained_model(encoder, target, [8], numeric_dimension=1, knots=knots)
        exported = export_c(model, tmp_path)
        assert exported.size is not None
        sizes.append(exported.size.bytes - exported.weight_bytes - exported.column_bytes)
    assert abs(sizes[1] - sizes[0]) < 200


def test_memory_is_the_largest_sum_of_neighbours(tmp_path: Path) -> None:
    table = Table.from_data({f"x{i}": np.random.default_rng(i).normal(size=9) for i in range(7)})
    encoder = TableEncoder.fit(table)
    target = ClassTarget(name="y", classes=("a", "b", "c"))
    for widths, floats in (([], 10), ([2], 9), ([30, 4], 37), ([4, 30, 20, 6], 50)):
        exported = export_c(make_untrained_model(encoder, target, widths), tmp_path)
        assert exported.ram_bytes == 4 * floats
        assert f"    float memory[{floats}];\n" in exported.source.read_text()


def _compile(folder: Path, *flags: str) -> Path:
    get_compiler().run(folder, *flags, "-c", "model.c", "-o", "model.o")
    return folder / "model.o"


@pytest.mark.parametrize("task", TARGETS)
def test_nothing_but_math_is_needed(task: str, tmp_path: Path) -> None:
    """No allocation, no input or output, no memory that is written to but the stack."""
    export_c(make_model(task, "all", 2, [20, 9])[0], tmp_path)
    for flags in ((), ("-DTABNAS_NO_LOOKUP",)):
        file = _compile(tmp_path, *flags, "-fno-pic", "-fno-stack-protector")
        done = subprocess.run(["nm", file], capture_output=True, text=True, check=True)
        symbols = re.findall(r"([A-Za-z]) (\w+)$", done.stdout, re.M)
        assert {name for kind, name in symbols if kind == "U"} <= MATH
        assert not [name for kind, name in symbols if kind in "BbDdCc"]
        functions = {name for kind, name in symbols if kind == "T"}
        lookups = {"tabnas_code_city", "tabnas_code_zone"}
        assert functions == {"tabnas_predict"} | (set() if flags else lookups)
        assert ("tabnas_labels" in done.stdout) == (task != "regression" and not flags)


@pytest.mark.parametrize("flag", ["-ffast-math", "-Ofast", "-ffinite-math-only"])
def test_fast_math_is_refused(model: Model, tmp_path: Path, flag: str) -> None:
    """Compilers would then take NAN for a number."""
    export_c(model, tmp_path)
    with pytest.raises(TabNASError, match="missing values are NAN: compile without"):
        _compile(tmp_path, flag)


def test_two_models_in_one_program(model: Model, tmp_path: Path) -> None:
    export_c(model, tmp_path / "a", prefix="first")
    export_c(make_model("regression", "all", 0, [4])[0], tmp_path / "b", prefix="second")
    (tmp_path / "main.c").write_text(
        '#include "a/model.h"\n#include "b/model.h"\n#include <stdio.h>\n'
        "int main(void) { first_row a = FIRST_EMPTY_ROW; second_row b = SECOND_EMPTY_ROW;\n"
        'float p[FIRST_CLASSES]; a.city = FIRST_CITY_BERN; b.city = second_code_city("Bern");\n'
        'printf("%s ", first_labels[first_predict(&a, p)]);\n'
        'printf("%.9g %.12g", p[0], second_predict(&b));\n'
        "return 0; }\n"
    )
    get_compiler().run(tmp_path, "main.c", "a/model.c", "b/model.c", "-lm", "-o", "main")
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    names = [column.name for column in model.encoder.columns]
    row = Table.from_data({name: ["Bern" if name == "city" else None] for name in names})
    label, probability, value = done.stdout.split()
    assert label == str(model.predict(row)[0])
    assert float(probability) == pytest.approx(model.predict_proba(row)[0, 0], abs=1e-6)
    expected = make_model("regression", "all", 0, [4])[0].predict(row)[0]
    assert float(value) == pytest.approx(expected, abs=1e-3)


# -- errors --------------------------------------------------------------------------------------


def test_files_that_disagree_are_not_written(tmp_path: Path) -> None:
    shifted = ShiftedColumn.fit("x", Table.from_data({"x": [1.0, 2.0, 5.0]}).column("x"))
    encoder = TableEncoder((shifted,), (), (), ("x",), True)
    model = make_untrained_model(encoder, NumberTarget(name="y", center=0, scale=1), [])
    with pytest.raises(TabNASError, match=r"of the synthetic rows differs .*; nothing was written"):
        export_c(model, tmp_path / "c")
    assert not list(tmp_path.iterdir())


def test_files_that_do_not_compile_are_not_written(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_c(model, tmp_path)
    before = (tmp_path / "model.c").read_bytes()
    monkeypatch.setattr(_compiler, "render_source", lambda program: "int x = ;\n")
    with pytest.raises(TabNASError, match=r"must compile, but .*expected.*; nothing was written"):
        export_c(model, tmp_path)
    assert (tmp_path / "model.c").read_bytes() == before


def test_without_a_compiler_files_are_written_and_not_checked(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = export_c(model, tmp_path / "a")
    monkeypatch.setattr(_export, "find_compiler", lambda: None)
    exported = export_c(model, tmp_path / "b")
    assert exported.parity is None
    assert exported.size is None
    assert exported.max_bytes == checked.max_bytes
    assert exported.source.read_bytes() == checked.source.read_bytes()


def test_a_compiler_that_does_not_work_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in _compiler.COMPILERS:
        (tmp_path / name).write_text("#!/bin/sh\necho no headers >&2\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_compiler() is None
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert find_compiler() is None


def test_without_the_tool_size_there_is_no_size(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_export, "measure_size", lambda *arguments: None)
    assert export_c(model, tmp_path).size is None


def test_float16_is_refused(model: Model, tmp_path: Path) -> None:
    """As float32, its weights would take twice the bytes of the model."""
    with pytest.raises(TabNASError, match="must have float32 or int8 weights"):
        export_c(replace(model, precision=Precision.FLOAT16), tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_limit_is_checked_again(model: Model, tmp_path: Path) -> None:
    object.__setattr__(model, "limits", MappingProxyType({"parameters": 10}))
    with pytest.raises(InfeasibleError, match="the limit on parameters is 10, but"):
        export_c(model, tmp_path / "c")
    assert not list(tmp_path.iterdir())


def test_networks_too_large_for_compilers_are_refused(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_program, "MAX_PARAMETERS", 1_000)
    with pytest.raises(TabNASError, match=r"can hold at most 1,000 parameters, but .* 1,349;"):
        export_c(model, tmp_path / "c")
    assert not list(tmp_path.iterdir())


def test_a_file_is_no_folder(model: Model, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(TabNASError, match="folder must be a folder, but"):
        export_c(model, tmp_path / "file")
    with pytest.raises(TabNASError, match="cannot be written"):
        export_c(model, tmp_path / "file" / "below")


def test_encoded_rows_are_not_compared(model: Model, tmp_path: Path) -> None:
    encoded = model.encoder.encode(make_table(20))
    exported = export_c(model, tmp_path, check=LabelledRows(encoded, np.zeros(20)))
    assert exported.parity is not None
    assert exported.parity.rows == 0
    assert exported.parity.probe_rows > 50


def test_a_kind_that_c_does_not_know_is_refused(tmp_path: Path) -> None:
    from tests.export.test_inputs import YES_NO, OddColumn

    encoder = TableEncoder((OddColumn(name="odd"),), (), (), ("odd",), True)
    with pytest.raises(TabNASError, match="to be written in C, but 'odd' is OddColumn"):
        export_c(make_untrained_model(encoder, YES_NO, [2]), tmp_path)
    assert not list(tmp_path.iterdir())
