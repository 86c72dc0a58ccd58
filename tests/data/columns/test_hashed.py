"""Hashed columns: categories without a vocabulary."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas import TabNASError
from tabnas.data import Table, TableEncoder, _encoder
from tabnas.data.columns import BUCKETS, CategoricalColumn, HashedColumn
from tabnas.data.columns._hashed import hash_texts

VECTORS = {  # published with the hash by its authors
    "": 0xCBF29CE484222325,
    "a": 0xAF63DC4C8601EC8C,
    "b": 0xAF63DF4C8601F1A5,
    "foobar": 0x85944171F73967E8,
}
words = st.text(st.characters(codec="utf-8"), max_size=8)


def hash_in_python(text: str) -> int:
    """Return the 64-bit FNV-1a hash, computed byte by byte."""
    digest = 0xCBF29CE484222325
    for byte in text.encode():
        digest = (digest ^ byte) * 0x100000001B3 % 2**64
    return digest


@pytest.mark.parametrize("text", VECTORS)
def test_hashes_equal_the_published_ones(text: str) -> None:
    assert hash_in_python(text) == VECTORS[text]
    assert hash_texts(pa.array([text])).tolist() == [VECTORS[text]]


@given(st.lists(st.none() | words, max_size=20), st.integers(0, 5))
def test_the_kernel_equals_the_python_function(texts: list[str | None], skipped: int) -> None:
    array = pa.array(texts, pa.string()).slice(skipped)
    assert hash_texts(array).tolist() == [hash_in_python(text or "") for text in texts[skipped:]]


def encode_column(column: HashedColumn | CategoricalColumn, values: list[object]) -> list[int]:
    codes = np.empty(len(values), np.int32)
    column.encode(
        Table.from_data({"x": values}).column("x"), np.empty((len(values), 0), "f4"), codes
    )
    return codes.tolist()


def test_codes_are_folded_hashes() -> None:
    column = HashedColumn.fit("x", pa.chunked_array([["owl", None, "auk"]]), buckets=64)
    assert column.n_categories == 66
    folded = {text: (h := hash_in_python(text)) ^ h >> 32 for text in ("owl", "emu")}
    expected = [1 + folded["owl"] % 64, 1 + folded["emu"] % 64, 1 + folded["owl"] % 64, 65, 65]
    assert encode_column(column, ["owl", "emu", " owl ", "?", None]) == expected
    never = HashedColumn.fit("x", pa.chunked_array([["owl", "auk"]]), buckets=64)
    assert encode_column(never, [None, "owl"]) == [0, expected[0]]
    assert encode_column(column, [7, 7.0]) == encode_column(column, ["7", "7"])
    spread = encode_column(
        HashedColumn.fit("x", pa.chunked_array([["a"]])), [str(i) for i in range(999)]
    )
    assert len(set(spread)) > 980


@given(st.lists(st.none() | words, min_size=1, max_size=30), st.integers(1, 40), st.booleans())
def test_a_limit_on_categories_folds_codes(
    texts: list[str | None], max_categories: int, has_vocabulary: bool
) -> None:
    given_column = pa.chunked_array([pa.array(texts, pa.string())])
    column: HashedColumn | CategoricalColumn = (
        CategoricalColumn.fit("x", given_column)
        if has_vocabulary
        else HashedColumn.fit("x", given_column, buckets=32)
    )
    narrow = column.with_max_categories(max_categories)
    assert narrow.n_categories <= max_categories + 2
    codes = np.array([0, *encode_column(column, texts)], np.int32)
    column.recode(codes, max_categories)
    assert codes.tolist() == [0, *encode_column(narrow, texts)]


@pytest.mark.parametrize("gap", [[], [None]], ids=["complete", "with gaps"])
def test_a_limit_on_categories_pools_the_rarest_and_keeps_missing(gap: list[None]) -> None:
    texts = ["a"] * 4 + ["b"] * 3 + ["c"] * 2 + ["d"] + gap
    column = CategoricalColumn.fit("x", pa.chunked_array([pa.array(texts, pa.string())]))
    codes = np.array(encode_column(column, ["a", "b", "c", "d", "unseen", *gap]), np.int32)
    assert codes.tolist() == [1, 2, 3, 4, 0, *([5] if gap else [])]
    column.recode(codes, 2)
    assert codes.tolist() == [1, 2, 0, 0, 0, *([3] if gap else [])]


class RecordedArray(np.ndarray):
    """An array that records which elements are written."""

    written: list[int]

    def __setitem__(self, rows: np.ndarray, values: object) -> None:
        self.written = rows.tolist()
        super().__setitem__(rows, values)


@pytest.mark.parametrize(
    "column",
    [
        HashedColumn(name="x", buckets=1 << 30, has_missing=True),
        CategoricalColumn(name="x", vocabulary=tuple("abcdefghij"), has_missing=True, pooled=0),
    ],
)
def test_unchanged_codes_are_not_written(column: HashedColumn | CategoricalColumn) -> None:
    codes = np.array([0, 1, 4, 0, 5, column.n_categories - 1], np.int32).view(RecordedArray)
    tracemalloc.start()
    column.recode(codes, 4)
    assert tracemalloc.get_traced_memory()[1] < 100_000  # for any number of buckets
    tracemalloc.stop()
    assert codes.written == [4, 5]
    assert codes.tolist() == [0, 1, 4, 0, 1 if column.kind == "hashed" else 0, 5]


def test_an_encoder_with_hashed_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table.from_data({"user": [f"u{i % 7}" for i in range(50)], "size": range(50)})
    encoder = TableEncoder.fit(table, kinds={"user": "hashed"})
    assert encoder.n_categories == (BUCKETS + 1,)
    assert encoder.text_columns == ("user",)
    assert encoder.describe()["user"] == "hashed: 65536 buckets by the hash of the text"
    again = TableEncoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
    assert (again.encode(table).categorical == encoder.encode(table).categorical).all()
    limited = encoder.with_max_categories(1_000)
    assert limited.n_categories == (513,)
    monkeypatch.setattr(_encoder, "RECODE_ROWS", 7)  # rows at a time
    codes = encoder.encode(table).categorical
    encoder.recode(codes, 1_000)
    assert (codes == limited.encode(table).categorical).all()
    encoder = TableEncoder.fit(Table.from_data({"n": [1, 2, 3]}), kinds={"n": "hashed"})
    assert encoder.text_columns == ("n",)


@pytest.mark.parametrize(
    ("buckets", "message"),
    [
        (0, "buckets must be an integer of at least 1"),
        (1_000, "buckets must be a power of two .*, got 1,000; take 512"),
        (2**40, "a power of two of at most 1,073,741,824, got .*; take 1,073,741,824"),
    ],
)
def test_buckets_are_a_power_of_two(buckets: int, message: str) -> None:
    with pytest.raises(TabNASError, match=message):
        HashedColumn.fit("x", pa.chunked_array([["a"]]), buckets=buckets)


@pytest.mark.parametrize("buckets", [0, 3, -1, 2**31, True, "8", None])
def test_damaged_buckets_are_refused(buckets: object) -> None:
    state = HashedColumn.fit("x", pa.chunked_array([["a"]])).to_dict()
    del state["kind"]
    with pytest.raises(TabNASError, match=r"the hashed column 'x'.* buckets must be an? [pi]"):
        HashedColumn.from_dict(state | {"buckets": buckets})
