"""The functions from texts to codes: the same codes as in the model, however a text is written."""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabnas import export_c
from tabnas.data import ClassTarget, Table, TableEncoder
from tabnas.data.columns import CategoricalColumn, HashedColumn
from tabnas.errors import TabNASError
from tabnas.export._preprocessing import encode_texts
from tabnas.export.c._compiled_model import CompiledModel
from tabnas.export.c._header import render_header
from tabnas.export.c._lookups import Lookup
from tabnas.export.c._parity import check_lookups
from tabnas.export.c._program import Program
from tabnas.export.c._texts import define_texts
from tests.export.c.builds import STRICT, build, get_compiler
from tests.export.strategies import make_untrained_model

YES_NO = ClassTarget(name="y", classes=("no", "yes"))
COLUMNS: dict[str, list[str]] = {
    "numbers": ["7", "1.5", "-2", "0", "north"],
    "plain": ["Bern", "Zürich", "東京", "a b", "n" * 5_000],
    "truths": ["true", "false", "maybe", "true", "false"],
    "digits": ["1", "0", "2.5", "x", "1"],
    "exact": ["07", "7", "7.5", "x", "1"],
    "zero": ["a\0b", "c", "a\0", "d", "c"],
    "hashed": ["7", "-1.5", "a", "true", "é"],
}
FORMS = (
    *("7", "07", "007.00", "+7", "+07.0", "7.", " 7", "7\t", "\u00a07\u2009", "-7", "--7", "7 7"),
    *("1.5", "01.50", "+1.5", "1.5.", "1,5", "-2", "-02.0", "- 2", "0", "-0", "-0.0", "+0", "00"),
    *("0.0", ".0", "-.0", "2.5", "1e3", "1e-07", "1.50e0", "true", "TRUE", "False", "tru"),
    *("1", "1.0", "0.10", "", " ", "?", "NA", " NA ", "none", "-", "+", ".", "-.", "north"),
    *("Zürich", "ZÜRICH", " 東京\u3000", "x", "\uff11", "\u0663", "x\u200b", "7\u200b", "7a"),
    *("n" * 5_000, "n" * 4_999, "n" * 5_001, "a", "c", "0" * 300 + "7", "7." + "0" * 300),
    *("truee", "NORTH", "0x7", "1_0"),
)


def make_lookups_model(folder: Path, *flags: str) -> tuple[Program, CompiledModel]:
    table = Table.from_data(COLUMNS)
    kinds = {name: "hashed" if name == "hashed" else "categorical" for name in COLUMNS}
    encoder = TableEncoder.fit(table, kinds=kinds, min_count=1)
    hashed = HashedColumn.fit("hashed", table.column("hashed"), buckets=1 << 12)
    columns = (*encoder.columns[:-1], replace(hashed, has_missing=True))
    encoder = replace(encoder, columns=columns)
    return build(make_untrained_model(encoder, YES_NO, [2], dimensions=[1] * 7), folder, *flags)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Program, CompiledModel]:
    return make_lookups_model(tmp_path_factory.mktemp("lookups"))


def check_texts(built: tuple[Program, CompiledModel], texts: list[str]) -> None:
    program, compiled = built
    for lookup in program.lookups:
        expected = encode_texts(lookup.field.column, texts)
        found = [compiled.look_up(lookup, text.encode()) for text in texts]
        assert dict(zip(texts, found, strict=True)) == dict(zip(texts, expected, strict=True))


def test_columns_are_spelled_in_every_way(built: tuple[Program, CompiledModel]) -> None:
    spellings = {
        c.name: c.spelling
        for c in built[0].model.encoder.columns
        if isinstance(c, CategoricalColumn)
    }
    assert spellings["exact"] == "exact"
    assert spellings["truths"] == "truths"
    assert spellings["digits"] == "digits"
    assert spellings["plain"] == "plain"
    normalizes = {lookup.field.name: lookup.normalizes for lookup in built[0].lookups}
    assert not normalizes["exact"]
    assert not normalizes["plain"]
    assert normalizes["numbers"]


def test_forms_of_categories(built: tuple[Program, CompiledModel]) -> None:
    check_texts(built, list(FORMS))


@settings(max_examples=500, deadline=None)
@given(text=st.text("+-.0123456789eEtrufals \t\u00a0") | st.text())
def test_any_text(built: tuple[Program, CompiledModel], text: str) -> None:
    check_texts(built, [text.replace("\0", "")])


def test_every_space_of_unicode_and_nothing_else(built: tuple[Program, CompiledModel]) -> None:
    points = [chr(p) for p in range(1, 0x30000) if not 0xD800 <= p < 0xE000]
    texts = [f"{point}7{point}" for point in points]
    lookup = next(lookup for lookup in built[0].lookups if lookup.field.name == "numbers")
    expected = encode_texts(lookup.field.column, texts)
    assert sum(code > 0 for code in expected) > 20
    assert [built[1].look_up(lookup, text.encode()) for text in texts] == expected


def test_sanitizers_find_nothing(tmp_path: Path) -> None:
    """Texts are read to their end and not beyond it."""
    make_lookups_model(tmp_path)
    texts = ", ".join(
        "(const char[]){" + ", ".join(f"(char){byte}" for byte in (*text.encode(), 0)) + "}"
        for text in FORMS
    )
    calls = " ".join(f"n += tabnas_code_{name}(t[i]);" for name in COLUMNS)
    (tmp_path / "main.c").write_text(
        '#include "model.h"\n#include <stddef.h>\n'
        f"int main(void) {{ const char *t[] = {{{texts}}}; long n = 0; size_t i;\n"
        f"for (i = 0; i < sizeof t / sizeof t[0]; i++) {{ {calls} }} return n < 0; }}\n"
    )
    flags = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    get_compiler().run(tmp_path, *flags, "model.c", "main.c", "-lm", "-o", "main")
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_long_classes_and_categories_are_arrays(tmp_path: Path) -> None:
    """Strict compilers accept no longer strings than 4,095 bytes."""
    table = Table.from_data({"c": ["é" * 3_000, "b"] * 4})
    target = ClassTarget(name="y", classes=("no", "y?" * 3_000))
    model = make_untrained_model(TableEncoder.fit(table), target, [2])
    program, compiled = build(model, tmp_path)
    assert check_lookups(program, compiled, table) == 2
    longest = max(len(line) for line in (tmp_path / "model.c").read_text().splitlines())
    assert longest < 1_000
    labels = (ctypes_string(compiled, number) for number in range(2))
    assert tuple(labels) == target.classes


def ctypes_string(compiled: CompiledModel, number: int) -> str:
    import ctypes

    labels = (ctypes.c_char_p * 2).in_dll(compiled._library, "tabnas_labels")
    value = labels[number]
    assert value is not None
    return value.decode()


def test_raw_texts_of_the_table_are_compared(tmp_path: Path) -> None:
    texts = ["007", "7.0", " x", "x ", "1.50", "x"]
    with tempfile.TemporaryDirectory() as folder:
        table = Table.from_data({"c": ["7", "x", "1.5", "8", "x", "7"], "x": np.arange(6.0)})
        model = make_untrained_model(TableEncoder.fit(table, min_count=1), YES_NO, [2])
        raw = Table(pa.table({"c": texts, "x": np.arange(6.0)}))
        assert export_c(model, folder, check=raw).texts == 6
        assert export_c(model, folder).texts == 0
    program, compiled = build(model, tmp_path)
    [lookup] = program.lookups
    wrong = replace(lookup.field.column, vocabulary=("x", "7"))  # type: ignore[type-var]
    changed: Lookup = replace(lookup, field=replace(lookup.field, column=wrong))
    with pytest.raises(TabNASError, match=r"the code of the category .* of 'c' must be"):
        check_lookups(replace(program, lookups=(changed,)), compiled, raw)


def test_the_header_says_what_a_text_may_be(built: tuple[Program, CompiledModel]) -> None:
    header = render_header(built[0])
    assert 'a number in any form: "-2", "-02", "-2.0"' in header
    assert "as in the table: 7, 07 and 7.0 differ" in header
    assert "for categories with a zero byte, use enumerators" in header
    assert "a hash: texts share codes, and each has one" in header


def test_arrays_of_long_texts_have_names_of_their_own() -> None:
    """Those of a column `a` do not meet the texts of a column `a_0`."""
    code = define_texts("texts_a", ["x" * 5_000, "y"]) + define_texts("texts_a_0", ["z"])
    names = re.findall(r"(\w+)\[", code)
    assert len(names) == len(set(names)) == 3


def test_columns_may_be_called_as_functions_are(tmp_path: Path) -> None:
    names = ("embed", "embed_categories", "categories", "code", "tabnas_code", "texts", "labels")
    table = Table.from_data({name: ["a", "b", "c", "b"] for name in names})
    model = make_untrained_model(
        TableEncoder.fit(table, min_count=1), YES_NO, [2], dimensions=[1] * len(names)
    )
    program, compiled = build(model, tmp_path)
    assert check_lookups(program, compiled, table) == 3 * len(names)


def test_hashed_columns_need_no_texts(tmp_path: Path) -> None:
    """Only their function gives codes, so that it is there without the texts, too."""
    make_lookups_model(tmp_path)
    flags = (*STRICT, "-DTABNAS_NO_LOOKUP", "-c", "model.c", "-o", "model.o")
    get_compiler().run(tmp_path, *flags)
    done = subprocess.run(["nm", tmp_path / "model.o"], capture_output=True, text=True, check=True)
    assert "T tabnas_code_hashed" in done.stdout
    assert "tabnas_code_numbers" not in done.stdout
    assert "tabnas_labels" not in done.stdout
    header = (tmp_path / "model.h").read_text()
    assert "what tabnas_code_hashed returns; missing: 4097" in header


def test_columns_of_every_kind_beside_numbers_as_categories(tmp_path: Path) -> None:
    """No function hides the table of another kind of column."""
    table = Table.from_data(
        {
            "size": [1.0, 2.0, 3.0, 5.0],
            "member": [True, False, True, False],
            "code": ["7", "x", "1.5", "x"],
            "day": np.array(["2024-01-01", "2024-02-01", "2024-03-01", "2024-05-01"], "M8[s]"),
        }
    )
    model = make_untrained_model(TableEncoder.fit(table, min_count=1), YES_NO, [2])
    assert {column.kind for column in model.encoder.columns} >= {"boolean", "datetime", "numeric"}
    program, compiled = build(model, tmp_path)
    assert check_lookups(program, compiled, table) == 3
