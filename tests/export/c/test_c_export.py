"""The files that are written: sizes, memory, what they need of a system, and errors."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pytest

from tabnas import export_c
from tabnas.data import ClassTarget, LabelledArrays, NumberTarget, Table, TableEncoder
from tabnas.data.columns import HashedColumn
from tabnas.errors import InfeasibleError, TabNASError
from tabnas.export.c import _compiler, _export, _program
from tabnas.export.c._code_size import measure_size
from tabnas.export.c._compiled_model import CompiledModel
from tabnas.export.c._compiler import find_compiler, write_files
from tabnas.export.c._header import render_header
from tabnas.export.c._program import make_program
from tabnas.export.c._row import make_rows
from tabnas.model import Model
from tabnas.space import Precision
from tests.export.c.builds import STRICT, build, get_compiler
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
    assert exported.size.weight_bytes == model.costs["bytes"] == 4 * numbers
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
    assert f"#define TABNAS_RAM_BYTES {exported.size.ram_bytes} " in header
    assert f"#define TABNAS_WEIGHT_BYTES {exported.size.weight_bytes} " in header
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
    assert exported.size.weight_bytes == model.costs["bytes"]
    assert exported.size.compiled_bytes is not None
    constants = exported.size.weight_bytes + exported.size.column_bytes
    assert constants < exported.size.compiled_bytes <= exported.size.max_bytes
    assert exported.size.lookup_bytes or (task, kinds) == ("regression", "numeric")
    # without optimization, which would put small tables into the code
    file = _compile(tmp_path, "-O0", "-DTABNAS_NO_LOOKUP")
    done = subprocess.run(["nm", "-S", "-t", "d", file], capture_output=True, text=True)
    arrays = re.findall(r"^\d+ (\d+) r (?!lengths|starts)", done.stdout, re.M)
    assert sum(map(int, arrays)) == constants


ARCHITECTURES = [
    [],
    [1],
    [9],
    [3, 3],
    [33, 1, 40],
    [9] * 8,
    [9] * 14,
    [7] * 19,
    [11, 2, 30, 5] * 6,
    [9] * 30,
    [33] * 32,
]


@pytest.mark.parametrize("precision", [Precision.FLOAT32, Precision.INT8])
@pytest.mark.parametrize("widths", ARCHITECTURES, ids=lambda widths: f"{len(widths)}x{widths[:1]}")
def test_the_bound_of_the_compiled_size(
    widths: list[int], precision: Precision, tmp_path: Path
) -> None:
    """Layers have code of their own, and arrays are aligned; all kinds of columns, and hashes."""
    size_of = {}
    for number, (task, kinds, dimension) in enumerate(
        [("multiclass", "all", 3), ("binary", "numeric", 1), ("regression", "categorical", 0)]
    ):
        model, _ = make_model(task, kinds, dimension, widths, precision=precision)
        if kinds == "all" and len(widths) % 2 == 0:
            model = hash_cities(model)
        program = make_program(model, "tabnas")
        write_files(program, tmp_path)
        size = measure_size(get_compiler(), tmp_path, "TABNAS_NO_LOOKUP")
        assert size is not None
        size_of[number] = size.bytes
        constants = program.weight_bytes + program.column_bytes
        assert constants < size.bytes <= constants + program.max_code_bytes
    assert len(set(size_of.values())) == 3


def hash_cities(model: Model) -> Model:
    """Return the model with a hashed column of as many codes."""
    columns = tuple(
        HashedColumn(name="city", buckets=4, has_missing=True) if c.name == "city" else c
        for c in model.encoder.columns
    )
    return replace(model, encoder=replace(model.encoder, columns=columns))


def test_the_stack_besides_activations(tmp_path: Path) -> None:
    """The summary says that it is some 200 bytes."""
    for precision in (Precision.FLOAT32, Precision.INT8):
        model, _ = make_model("multiclass", "all", 2, [20, 9], precision=precision)
        exported = export_c(model, tmp_path)
        _compile(tmp_path, "-fstack-usage")
        usage = re.findall(r":(\w+)[.\w]*\t(\d+)", (tmp_path / "model.su").read_text())
        frames = {name: int(size) for name, size in usage}
        callees = max(size for name, size in frames.items() if name in ("dense", "normalize"))
        assert 100 < frames["tabnas_predict"] - exported.size.ram_bytes + callees < 256


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
        assert exported.size.compiled_bytes is not None
        sizes.append(
            exported.size.compiled_bytes - exported.size.weight_bytes - exported.size.column_bytes
        )
    assert abs(sizes[1] - sizes[0]) < 200


def test_memory_is_the_largest_sum_of_neighbours(tmp_path: Path) -> None:
    table = Table.from_data({f"x{i}": np.random.default_rng(i).normal(size=9) for i in range(7)})
    encoder = TableEncoder.fit(table)
    target = ClassTarget(name="y", classes=("a", "b", "c"))
    for widths, floats in (([], 10), ([2], 9), ([30, 4], 37), ([4, 30, 20, 6], 50)):
        exported = export_c(make_untrained_model(encoder, target, widths), tmp_path)
        assert exported.size.ram_bytes == 4 * floats
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


def test_files_of_different_exports_do_not_compile(model: Model, tmp_path: Path) -> None:
    """They may have the same columns, and classes in another order."""
    weights = {name: array.copy() for name, array in model.weights.items()}
    weights["head.2.bias"][0] += 1
    first = export_c(model, tmp_path)
    header = first.header.read_text()
    second = export_c(replace(model, weights=weights), tmp_path)
    assert first.model_id != second.model_id
    _compile(tmp_path)
    second.header.write_text(header)
    with pytest.raises(TabNASError, match="are of different exports"):
        _compile(tmp_path)
    with pytest.raises(TabNASError, match="are of different exports"):
        get_compiler().run(tmp_path, "-c", "model_test.c", "-o", "test.o")


MAIN_CODE = """
#include "model.h"
#include <stdio.h>
int main(void) { printf("%d", tabnas_self_test()); return 0; }
"""


@pytest.mark.parametrize("task", TARGETS)
def test_the_self_test(task: str, tmp_path: Path) -> None:
    model = make_model(task, "all", 2, [20, 9])[0]
    exported = export_c(model, tmp_path, check=make_table(300, odd=True))
    text = exported.self_test.read_text()
    assert "TABNAS_CITY_" in text
    unchecked = export_c(model, tmp_path / "unchecked")
    assert unchecked.self_test.read_text() == text  # no row of the table is in there
    (tmp_path / "main.c").write_text(MAIN_CODE)
    sources = (*STRICT, "main.c", "model.c", "model_test.c", "-lm", "-o", "main")
    get_compiler().run(tmp_path, *sources)
    assert subprocess.run([tmp_path / "main"], capture_output=True, text=True).stdout == "0"
    # another weight, as if a device had computed something else
    source = exported.source.read_text()
    broken = re.sub(r"(head_bias\[\d\] = \{\s+)", r"\g<1>9.0f + ", source)
    assert broken != source
    exported.source.write_text(broken)
    get_compiler().run(tmp_path, *sources)
    assert int(subprocess.run([tmp_path / "main"], capture_output=True, text=True).stdout) > 0


def test_a_self_test_that_fails_is_an_error(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CompiledModel, "self_test", lambda self: 3)
    with pytest.raises(TabNASError, match=r"must find no difference, but it finds 3 .*; nothing"):
        export_c(model, tmp_path / "c")
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore::tabnas.data.DataWarning")
def test_the_header_says_what_numbers_mean(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = Table(
        pa.table(
            {
                "opens": pa.array(rng.integers(0, 86_400, 40).tolist(), pa.time32("s")),
                "lasts": pa.array(rng.integers(0, 10**6, 40).tolist(), pa.duration("ms")),
                "share": [f"{n}%" for n in rng.integers(0, 100, 40)],
                "price": [f"€{n}.50" for n in rng.integers(0, 100, 40)],
                "same": ["x"] * 40,
            }
        )
    )
    encoder = TableEncoder.fit(table)
    model = make_untrained_model(encoder, NumberTarget(name="y", center=0, scale=1), [2])
    header = export_c(model, tmp_path, check=table).header.read_text()
    assert '"opens": a time of day in seconds since midnight; missing: NAN' in header
    assert '"lasts": a duration in seconds; missing: NAN' in header
    assert '"share": a number in "%": 20 for "20%"; missing: NAN' in header
    assert '"price": a number in "\\u20ac": 20 for "20 \\u20ac"; missing: NAN' in header
    assert 'The model does not use "same": constant, empty or dropped.' in header
    assert "A network of one hidden layer of 2 units: 17 parameters as float32" in header


@pytest.mark.parametrize("task", TARGETS)
def test_overflow_returns_a_documented_value(task: str, tmp_path: Path) -> None:
    """The model raises an error instead."""
    table = Table.from_data({"x": [1.0, 2.0, 3.0, 1e38]})
    encoder = TableEncoder.fit(table, scaling="none")
    model = make_untrained_model(encoder, TARGETS[task], [])
    weights = {name: 1e5 * array for name, array in model.weights.items()}
    model = replace(model, weights=weights)
    program, compiled = build(model, tmp_path)
    rows = make_rows(encoder, program.fields, table)
    y_pred, labels = compiled.predict(rows)
    assert np.isfinite(y_pred[:3]).all()
    assert np.isnan(y_pred[3]).all()
    if labels is not None:
        assert labels[3] == -1
        assert (labels[:3] >= 0).all()
        assert "Returns -1, and probabilities NAN" in render_header(program)
    with pytest.raises(TabNASError, match="outputs must be finite"):
        model.predict(table)


def test_the_variable_cc_names_the_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mycc").write_text('#!/bin/sh\necho "$@" >> "$0.log"\nexec gcc "$@"\n')
    (tmp_path / "mycc").chmod(0o755)
    monkeypatch.setenv("CC", f"{tmp_path / 'mycc'} -DOWN=1")
    compiler = find_compiler()
    assert compiler is not None
    assert compiler.command == (str(tmp_path / "mycc"), "-DOWN=1")
    assert "-DOWN=1 -std=c99 -O2" in (tmp_path / "mycc.log").read_text()
    monkeypatch.setenv("CC", "no-such-compiler")
    assert find_compiler() == get_compiler()


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
    assert exported.size.compiled_bytes is None
    assert exported.size.max_bytes == checked.size.max_bytes
    assert exported.source.read_bytes() == checked.source.read_bytes()


def test_a_compiler_that_does_not_work_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in _compiler.COMPILERS:
        (tmp_path / name).write_text("#!/bin/sh\necho no headers >&2\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CC", "gcc")
    assert find_compiler() is None
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert find_compiler() is None


def test_without_the_tool_size_there_is_no_size(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_export, "measure_size", lambda *arguments: None)
    assert export_c(model, tmp_path).size.compiled_bytes is None


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
    exported = export_c(model, tmp_path, check=LabelledArrays(encoded, np.zeros(20)))
    assert exported.parity is not None
    assert exported.parity.rows == 0
    assert exported.parity.probe_rows > 50


def test_a_kind_that_c_does_not_know_is_refused(tmp_path: Path) -> None:
    from tests.export.test_inputs import YES_NO, OddColumn

    encoder = TableEncoder((OddColumn(name="odd"),), (), (), ("odd",), True)
    with pytest.raises(TabNASError, match="to be written in C, but 'odd' is OddColumn"):
        export_c(make_untrained_model(encoder, YES_NO, [2]), tmp_path)
    assert not list(tmp_path.iterdir())
