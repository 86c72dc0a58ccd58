"""Records of separated text: found in bytes as a reader of whole files finds them."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas import TabNASError
from tabnas.data.reading import separated_form
from tabnas.stores._kernels import scan_records
from tabnas.stores._sources import Source
from tabnas.stores._text import TextReader


def scanned_plainly(data: bytes, separator: str) -> tuple[int, bool]:
    """The same in plain Python, character by character."""
    end, quoted, begins = 0, False, True
    characters: Iterator[tuple[int, str]] = enumerate(data.decode("latin-1"))
    for i, c in characters:
        following = data[i + 1 : i + 2]
        if quoted and c == '"' and following == b'"':
            next(characters)
        elif quoted:
            quoted = c != '"'
        elif c in "\n\r":
            end, begins = i + 1, True
        elif c == '"' and begins:
            quoted, begins = True, False
        else:
            begins = c == separator
    return end, quoted


@given(st.text(alphabet='",;\n\ra ', max_size=40), st.sampled_from(",;"))
def test_the_kernel_does_what_its_twin_does(text: str, separator: str) -> None:
    data = text.encode()
    found = scan_records(np.frombuffer(data, np.uint8), ord(separator))
    assert tuple(found) == scanned_plainly(data, separator)


@pytest.mark.parametrize(
    ("text", "end", "is_open"),
    [
        ("a,b\nc", 4, False),
        ('a,"b\nc', 0, True),
        ('"a\nb",c\n"d\n', 8, True),
        ('5" pipe,c\nd', 10, False),  # a quote inside a value is one
        ('"a""\n",b\n', 9, False),
        ("a\r\nb\r", 5, False),
        ("", 0, False),
    ],
)
def test_a_newline_in_quotes_is_no_end(text: str, end: int, is_open: bool) -> None:
    assert tuple(scan_records(np.frombuffer(text.encode(), np.uint8), ord(","))) == (end, is_open)


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("size", [3, 10, 64, 10_000])
def test_records_are_all_there_and_whole(size: int, zipped: bool, tmp_path: Path) -> None:
    body = "".join(f'{i},"line {i}\nand ""more""",z\n' for i in range(50)) + "last,x,y"
    path = tmp_path / ("t.csv.gz" if zipped else "t.csv")
    content = f"a,b,c\n{body}".encode()
    path.write_bytes(gzip.compress(content) if zipped else content)
    form = separated_form(path)
    reader = TextReader(form=form, size=size)
    source = Source.of(path)
    found = list(reader.records(source))
    assert b"".join(one.data for one in found).decode() == body
    assert all(b"\n" not in one.data[-1:] or one.data.count(b'"') % 2 == 0 for one in found)
    assert sum(one.bytes for one in found) == source.size
    rows = [chunk.table.arrow for chunk in reader.chunks(source, 0, None, 0)]
    together = pa.concat_tables(rows)
    assert together.num_rows == 51
    assert together.column("b")[7].as_py() == 'line 7\nand "more"'
    if not zipped:
        places = [one.end for one in found]
        again = list(reader.records(source, places[0], places[-1]))
        assert b"".join(one.data for one in again) == b"".join(one.data for one in found[1:])


def test_lines_without_end_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tabnas.stores import _text

    monkeypatch.setattr(_text, "LONGEST_RECORD", 100)
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + '"' + "x\n" * 200)
    reader = TextReader(form=separated_form(path), size=20)
    with pytest.raises(TabNASError, match=r"'t\.csv' must close every quote"):
        list(reader.records(Source.of(path)))
