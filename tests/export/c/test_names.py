"""Columns, categories and classes may be called anything; C never sees it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tabnas.data import ClassTarget, Table, TableEncoder
from tabnas.errors import TabNASError
from tabnas.export.c._enumerators import Enumerators, name_enumerators
from tabnas.export.c._header import render_header
from tabnas.export.c._names import (
    RESERVED,
    check_prefix,
    name_uniquely,
    to_comment,
    to_identifier,
    to_literal,
    to_member,
)
from tabnas.export.c._parity import check_compiled
from tabnas.export.c._program import make_program
from tabnas.export.c._row import make_fields
from tabnas.export.c._source import render_source
from tests.export.c.builds import STRICT, build
from tests.export.strategies import make_untrained_model

MACROS = """
small interface data code mips sun linux unix st_mtime signals slots emit near far min max
math_errhandling isnan errno Class M_PIl I PI B1 F _A NAN INT8_MIN FLT_MAX EOF
"""
HOSTILE = [
    '"; system("rm',
    "*/ int main(){} /*",
    "two\nlines\r\n#error no",
    "what??/\n??/",
    "Größe €",
    "東京",
    "大阪",
    "int",
    "class",
    "NAN",
    "linux",
    "_Bool",
    "__LINE__",
    "row",
    "x",
    "x y",
    "x_y",
    "X Y",
    "1st",
    "",
    " ",
    "a\\",
    "a\\\nb",
    "%s%n",
    "\u202e/* bidi",
    "\x00zero",
    "\x1b[31m",
    "n" * 5_000,
    "n" * 5_001,
    "OTHER",
    "MISSING",
    "CLASSES",
    "@row",
    "{dimension}",
    "offsetof",
    "memory",
]


def make_hostile() -> Table:
    rng = np.random.default_rng(0)
    names = [name for name in HOSTILE if name.strip()]
    columns: dict[str, list[object]] = {name: rng.normal(size=40).tolist() for name in names[::2]}
    texts = [text for text in HOSTILE if text.strip() and len(text) < 1_000]
    for name in names[1::2]:
        columns[name] = rng.choice(np.array(texts, object), 40).tolist()
    return Table.from_data(columns)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a model with hostile names, compiled and compared with it."""
    folder = tmp_path_factory.mktemp("hostile")
    labels = tuple(label for label in HOSTILE if "\0" not in label and len(label) < 1_000)
    target = ClassTarget(name="*/ #error", classes=labels)
    table = make_hostile()
    model = make_untrained_model(TableEncoder.fit(table, min_count=1), target, [4])
    program, compiled = build(model, folder)
    check_compiled(program, compiled, table, "cc")
    labels_found = subprocess.run(
        ["strings", "-n", "1", folder / "model.so"], capture_output=True, check=True
    ).stdout
    assert b'"; system("rm' in labels_found
    return folder


def test_files_are_plain_ascii(hostile: Path) -> None:
    for name in ("model.h", "model.c"):
        data = (hostile / name).read_bytes()
        assert all(byte == 10 or 32 <= byte < 127 for byte in data)
        assert b"??" not in data
        assert not re.search(rb"\\\n", data)


def test_no_text_leaves_its_comment_or_string(hostile: Path) -> None:
    """Without comments and strings, nothing is left of the names."""
    for name in ("model.h", "model.c"):
        text = (hostile / name).read_text()
        bare = re.sub(r'/\*.*?\*/|"(\\.|[^"\\])*"', "", text, flags=re.S)
        assert not re.search(r"\b(system|main)\(|%s|[\"\\@]", bare)
        known = {"include", "define", "ifndef", "ifdef", "if", "endif", "error"}
        assert set(re.findall(r"#\s*(\w+)", bare)) <= known
        own = {"model.h": 0, "model.c": 2}  # about fast math, and about another header
        assert bare.count("#error") == own[name]


@pytest.mark.parametrize("standard", ["c99", "gnu99", "c11", "gnu17"])
def test_every_standard_of_c(hostile: Path, standard: str) -> None:
    """Some define macros like `linux`."""
    command = ["gcc", f"-std={standard}", *STRICT, "-fsyntax-only", "model.c"]
    done = subprocess.run(command, cwd=hostile, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler")
@pytest.mark.parametrize("standard", ["c++11", "gnu++20"])
def test_both_files_are_also_cpp(hostile: Path, standard: str) -> None:
    command = ["g++", f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-x", "c++"]
    done = subprocess.run(
        [*command, "-fsyntax-only", "model.c"], cwd=hostile, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_members_are_unique_and_no_keywords() -> None:
    names = [name for name in HOSTILE if name.strip()]
    table = Table.from_data({name: np.arange(5.0) for name in names})
    members = [field.name for field in make_fields(TableEncoder.fit(table))]
    assert len(set(members)) == len(members) == len(names)
    assert not set(members) & RESERVED
    for member in members:
        assert re.fullmatch("[A-Za-z][A-Za-z0-9_]*", member)
        assert "__" not in member
        assert not member.isupper()


# -- enumerators -----------------------------------------------------------------------------------


def list_names(columns: dict[str, list[str]], classes: tuple[object, ...] = ()) -> Enumerators:
    table = Table.from_data({name: values * 2 for name, values in columns.items()})
    kinds = dict.fromkeys(columns, "categorical")
    fields = make_fields(TableEncoder.fit(table, kinds=kinds, min_count=1))
    return name_enumerators(classes, fields, "tabnas")


def name_of(category: str, columns: dict[str, list[str]], member: str) -> str:
    names = list_names(columns)
    table = Table.from_data({name: values * 2 for name, values in columns.items()})
    encoder = TableEncoder.fit(table, kinds=dict.fromkeys(columns, "categorical"), min_count=1)
    fields = {field.name: field.column for field in make_fields(encoder)}
    position = fields[member].vocabulary.index(category)  # type: ignore[attr-defined]
    return names.categories[member][position]


def test_usual_signs_are_words() -> None:
    names = list_names({"x": ["a", "b"]}, ("<=50K", ">50K")).classes
    assert names == ["TABNAS_CLASS_LE_50K", "TABNAS_CLASS_GT_50K"]
    words = {"<5": "lt_5", ">=-5": "ge_minus_5", "20%": "20_percent", "65+": "65_plus"}
    words |= {"a=b": "a_eq_b", "a-b": "a_b", "-0.5": "minus_0_5", "1e-05": "1e_minus_05"}
    assert {text: to_identifier(text) for text in words} == words


@pytest.mark.parametrize("texts", [["a-b", "a b"], ["!", "0"], ["A", "a"], ["n" * 99, "n" * 98]])
def test_names_of_several_texts_have_a_hash_each(texts: list[str]) -> None:
    """None of them has the plain name, and the order of codes does not matter."""
    names = list_names({"x": texts}).categories["x"]
    assert len(set(names)) == 2
    for text in texts:
        assert name_of(text, {"x": texts}, "x") == name_of(text, {"x": texts[::-1]}, "x")
    if texts != ["!", "0"]:
        assert all(re.search("_[0-9A-F]{6}$", name) for name in names)
    else:
        assert sorted(names) == ["TABNAS_X_0", "TABNAS_X_UNNAMED_BB7208"]


def test_unseen_and_missing_keep_their_names() -> None:
    columns = {"city": ["Other", "MISSING", "Bern"], "city x": ["other", "b", "c"]}
    names = list_names(columns).categories
    listed = [name for column in names.values() for name in column]
    for reserved in ("TABNAS_CITY_OTHER", "TABNAS_CITY_MISSING", "TABNAS_CITY_X_OTHER"):
        assert reserved not in listed
    assert "TABNAS_CITY_BERN" in listed
    assert name_of("Other", columns, "city").startswith("TABNAS_CITY_OTHER_")
    assert list_names({"x": ["a", "b"]}, ("other", "missing")).classes == [
        "TABNAS_CLASS_OTHER",  # there are no unseen classes
        "TABNAS_CLASS_MISSING",
    ]


def test_names_across_columns_do_not_collide() -> None:
    columns = {"a": ["b c", "x"], "a b": ["c", "x"], "weight": ["bytes", "x"], "Class": ["k", "x"]}
    names = list_names(columns, ("k", "column k"))
    listed = names.classes + [name for column in names.categories.values() for name in column]
    assert len(set(listed)) == len(listed)
    assert "TABNAS_A_B_C" not in listed
    assert "TABNAS_WEIGHT_BYTES" not in listed  # a macro
    assert names.classes[0] == "TABNAS_CLASS_K"
    assert not any("__" in name for name in listed)


def test_members_that_differ_only_in_case_have_a_hash_each() -> None:
    """Their categories would have the same names; the order of columns does not matter."""
    found = []
    for names in (["City", "city", "x"], ["x", "city", "City"]):
        table = Table.from_data({name: ["a", "b", "b", "a"] for name in names})
        found.append({f.column.name: f.name for f in make_fields(TableEncoder.fit(table))})
    assert found[0] == found[1]
    assert found[0]["x"] == "x"
    assert all(re.fullmatch("[Cc]ity_[0-9a-f]{6}", found[0][name]) for name in ("City", "city"))


def test_a_hash_that_is_taken_gets_more_digits() -> None:
    [first, second] = name_uniquely(["a!", "a?"], ["a", "a"])
    names = name_uniquely(["a!", "a?", first], ["a", "a", first])
    assert names[0].startswith(first)
    assert len(names[0]) == len(first) + 2
    assert names[1] == second
    assert len({*names, first}) == 4


@pytest.mark.parametrize(
    "name",
    MACROS.split(),
)
def test_members_are_no_macros(name: str, tmp_path: Path) -> None:
    member = to_member(name)
    assert member.lower() not in RESERVED
    assert not member.isupper()
    headers = "#include <math.h>\n#include <float.h>\n#include <stdint.h>\n"
    macros = "#define small char\n#define min(a, b) a\n"
    code = f"{macros}{headers}struct {{ double {member}; }} row;\n"
    (tmp_path / "x.c").write_text(code)
    done = subprocess.run(["gcc", "-std=gnu17", "-fsyntax-only", "x.c"], cwd=tmp_path)
    assert done.returncode == 0


# -- texts -----------------------------------------------------------------------------------------


def test_literals_are_read_as_the_same_bytes(tmp_path: Path) -> None:
    texts = [text for text in HOSTILE if len(text) < 4_096] + ["7\x017", "é1", "?" * 9]
    sizes = ", ".join(f"sizeof {to_literal(text)} - 1" for text in texts)
    literals = ", ".join(to_literal(text) for text in texts)
    code = (
        "#include <stdio.h>\nint main(void) { "
        f"const char *t[] = {{{literals}}}; const size_t n[] = {{{sizes}}}; size_t i; "
        f"for (i = 0; i < {len(texts)}; i++) fwrite(t[i], 1, n[i], stdout); return 0; }}"
    )
    (tmp_path / "texts.c").write_text(code)
    command = ["cc", "-std=c99", *STRICT, "-trigraphs", "texts.c", "-o", "texts"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "texts"], capture_output=True, check=True)
    assert done.stdout == "".join(texts).encode()


def test_comments_are_short_and_closed_by_nobody() -> None:
    for text in HOSTILE:
        comment = to_comment(text)
        assert "*" not in comment
        assert "\n" not in comment
        assert len(comment) < 1_000


def test_quotes_in_comments_are_escaped() -> None:
    assert to_comment('a"b') == '"a\\"b"'


def test_prefixes(tmp_path: Path) -> None:
    table = Table.from_data({"x": [1.0, 2.0, 3.0], "c": ["a", "b", "a"]})
    target = ClassTarget(name="y", classes=("no", "yes"))
    model = make_untrained_model(TableEncoder.fit(table), target, [4])
    program, compiled = build(model, tmp_path, prefix="my_model2")
    check_compiled(program, compiled, table, "cc")
    for text in (render_header(program), render_source(program)):
        bare = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        assert "tabnas" not in bare.lower()
        assert "MY_MODEL2_" in text
    for wrong in ("", "2x", "A", "a-b", "a__b", "a_", "x" * 25, "a b"):
        with pytest.raises(TabNASError, match="prefix must be 1 to 24 lower-case letters"):
            check_prefix(wrong)
        with pytest.raises(TabNASError, match="prefix must be"):
            make_program(model, wrong)
