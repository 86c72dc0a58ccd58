"""The first pass: which pieces there are, and which are kept together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tabnas.stores import StoreSettings
from tabnas.stores._first_pass import EncodingJob, summarize_pieces
from tabnas.stores._head import read_head
from tabnas.stores._layout import find_layout
from tabnas.stores._progress import Meter
from tabnas.stores._sources import find_sources
from tabnas.stores._spool import spool_sources
from tests.stores.conftest import mixed_columns, write_csv

PIECE = 5_000


def test_small_pieces_come_together(
    tmp_path: Path, small_chunks: Callable[[int, int], None]
) -> None:
    small_chunks(1_000, PIECE)
    rows = [20] * 9 + [300] + [20] * 3
    paths = [
        write_csv(tmp_path / f"{i:02d}.csv", mixed_columns(count, seed=i))
        for i, count in enumerate(rows)
    ]
    settings = StoreSettings(target="value")
    sources = find_sources(paths)
    layout = find_layout(read_head(sources, 10_000), settings)
    spooled = spool_sources(
        sources, layout.text_columns, 1_000, tmp_path, Meter("reading", 1, lambda progress: None)
    )
    job = EncodingJob(sources=spooled, layout=layout, settings=settings, shares=(0.2, 0.2))
    found = list(summarize_pieces(job, (), lambda rows, size: None))
    sizes = [sum(piece.bytes for piece in pieces) for pieces, _ in found]
    assert min(sizes[:-1]) >= PIECE
    assert max(sizes) < 2 * PIECE + 1_000
    assert len(found) < len(paths)
    assert sum(sizes) == sum(source.size for source in sources)
    for pieces, summary in found:
        assert summary.rows == sum(piece.rows for piece in pieces)
    for known in range(1, len(found)):  # whoever goes on finds the same ones together
        before = [piece for pieces, _ in found[:known] for piece in pieces]
        again = list(summarize_pieces(job, before, lambda rows, size: None))
        assert [pieces for pieces, _ in again] == [pieces for pieces, _ in found[known:]]
        assert [one.target for _, one in again] == [one.target for _, one in found[known:]]
