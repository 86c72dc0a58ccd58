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
from tabnas.export.c._header import render_header
from tabnas.export.c._names import RESERVED, Identifiers, check_prefix, to_comment, to_literal
from tabnas.export.c._parity import check_compiled
from tabnas.export.c._program import make_program
from tabnas.export.c._row import make_fields
from tabnas.export.c._source import render_source
from tests.export.c.builds import STRICT, build
from tests.export.strategies import make_untrained_model

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
        assert bare.count("#error") == (name == "model.c")  # its own, about fast math


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


def test_many_categories_with_the_same_letters_are_numbered() -> None:
    names = Identifiers(frozenset({"a"}))
    assert [names.add("a", 7), names.add("a", 7), names.add("b", 3)] == ["a_7", "a_8", "b"]


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


def test_a_text_that_is_too_long_for_c_is_an_error() -> None:
    with pytest.raises(TabNASError, match="must have at most 4,095 bytes in C"):
        to_literal("é" * 2_048)


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
