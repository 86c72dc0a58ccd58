"""The first pass divides files into pieces and joins small ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather

from tabnas.errors import TabNASError
from tabnas.stores import StoreSettings, _first_rows, encode_store
from tabnas.stores._first_pass import EncodingContext, summarize_pieces
from tabnas.stores._first_rows import read_first_rows
from tabnas.stores._layout import find_layout
from tabnas.stores._progress import Meter
from tabnas.stores._sources import find_sources
from tabnas.stores._text_copies import copy_text_sources
from tests.stores.conftest import make_mixed_columns, write_csv

PIECE = 5_000


def test_small_pieces_are_joined(tmp_path: Path, small_chunks: Callable[[int, int], None]) -> None:
    small_chunks(1_000, PIECE)
    rows = [20] * 9 + [300] + [20] * 3
    paths = [
        write_csv(tmp_path / f"{i:02d}.csv", make_mixed_columns(count, seed=i))
        for i, count in enumerate(rows)
    ]
    settings = StoreSettings(target="value")
    sources = find_sources(paths)
    layout = find_layout(read_first_rows(sources, 10_000), settings)
    copied = copy_text_sources(
        sources, layout.text_columns, 1_000, tmp_path, Meter("reading", 1, lambda progress: None)
    )
    context = EncodingContext(sources=copied, layout=layout, settings=settings, shares=(0.2, 0.2))
    summaries = list(summarize_pieces(context, (), lambda rows, size: None))
    sizes = [sum(piece.bytes for piece in pieces) for pieces, _ in summaries]
    assert min(sizes[:-1]) >= PIECE
    assert max(sizes) < 2 * PIECE + 1_000
    assert len(summaries) < len(paths)
    assert sum(sizes) == sum(source.size for source in sources)
    for pieces, summary in summaries:
        assert summary.rows == sum(piece.rows for piece in pieces)
    for n_known in range(1, len(summaries)):  # a resumed pass joins the same pieces
        before = [piece for pieces, _ in summaries[:n_known] for piece in pieces]
        again = list(summarize_pieces(context, before, lambda rows, size: None))
        assert [pieces for pieces, _ in again] == [pieces for pieces, _ in summaries[n_known:]]
        assert [one.target for _, one in again] == [one.target for _, one in summaries[n_known:]]


def test_a_target_that_begins_with_few_integers_needs_a_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file sorted by a count: the first rows look like classes."""
    monkeypatch.setattr(_first_rows, "MAX_FIRST_ROWS", 50)
    counts = np.arange(600) // 10
    columns = {"x": list(np.sin(counts)), "y": list(counts)}
    path = write_csv(tmp_path / "counts.csv", columns)
    with pytest.raises(TabNASError, match="'y' has at most 30 different integers in its first row"):
        encode_store(path, tmp_path / "store", target="y")
    for task, name in (("regression", "regression"), ("classification", "multiclass")):
        store = encode_store(path, tmp_path / task, target="y", task=task)
        assert store.target.task == name
    texts = write_csv(tmp_path / "texts.csv", columns | {"y": [f"c{y}" for y in counts]})
    assert len(encode_store(texts, tmp_path / "texts", target="y").target.classes) == 60


def test_all_pieces_together_show_what_the_target_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_chunks: Callable[[int, int], None]
) -> None:
    monkeypatch.setattr(_first_rows, "MAX_FIRST_ROWS", 50)
    small_chunks(500, 1_500)
    counts = np.arange(2_000) // 40
    path = write_csv(tmp_path / "counts.csv", {"x": list(np.sin(counts)), "y": list(counts)})
    with pytest.raises(TabNASError, match="'y' has at most 30 different integers in its first row"):
        encode_store(path, tmp_path / "store", target="y")


def test_declared_categories_are_classes_however_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_first_rows, "MAX_FIRST_ROWS", 50)
    codes = pa.array(np.arange(600) // 10).dictionary_encode()
    feather.write_feather(
        pa.table({"x": np.arange(600.0), "y": codes}), str(tmp_path / "codes.feather"), chunksize=50
    )
    store = encode_store(tmp_path / "codes.feather", tmp_path / "store", target="y")
    assert len(store.target.classes) == 60
