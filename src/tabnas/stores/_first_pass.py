"""The first pass: read every row once and summarize what fitting the encoder needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tabnas.data import Kind, Table, to_numbers
from tabnas.data.lowlevel import is_missing
from tabnas.stores._layout import Layout
from tabnas.stores._readers import PIECE_BYTES, Chunk, Piece, read_chunks
from tabnas.stores._settings import StoreSettings
from tabnas.stores._sketches import Sampler
from tabnas.stores._sources import Source
from tabnas.stores._split import PARTS, TRAIN, draw_parts, draw_sampling_keys
from tabnas.stores._summary import Summary, make_accumulator
from tabnas.stores._target_stats import LabelStats, TargetStats, cast_labels, merge_target_stats
from tabnas.types import BoolArray

ROW_BYTES = 24  # of a row of the sample, beside its values
VALUE_BYTES = {pa.float64(): 8, pa.timestamp("s"): 8, pa.string(): 32}  # of its values, about

CountCallback = Callable[[int, int], None]
"""Called with the rows and bytes of every chunk."""


@dataclass(frozen=True, eq=False, kw_only=True)
class EncodingContext:
    """What both passes need to know."""

    sources: tuple[Source, ...]
    layout: Layout
    settings: StoreSettings
    shares: tuple[float, float]  # of validation and test

    def assign_parts(self, source: Source, first: int, count: int) -> Any:
        """Return the part of each of some rows of a file; `first` counts the rows of all files."""
        if source.part is not None:
            return np.full(count, PARTS.index(source.part), np.uint8)
        return draw_parts(self.settings.seed, first, count, self.shares)


def summarize_pieces(
    context: EncodingContext, known: Sequence[Piece], count_chunk: CountCallback
) -> Iterator[tuple[tuple[Piece, ...], Summary]]:
    """Yield the pieces after the known ones, with the summary of their rows.

    Small pieces come together until they are as large as one, since merging and saving summaries
    takes time. Which pieces come together depends only on bytes, so it is the same after an
    interruption.
    """
    number, offset, row, first = _find_next_row(known)
    summarizer = Summarizer(context)
    pieces: list[Piece] = []
    size = 0
    for source in range(number, len(context.sources)):
        for piece in _read_pieces(summarizer, source, offset, row, first, count_chunk):
            first += piece.rows
            pieces.append(piece)
            size += piece.bytes
            if size >= PIECE_BYTES:
                yield tuple(pieces), summarizer.summary()
                summarizer.reset()
                pieces, size = [], 0
        offset, row = 0, 0
    if pieces:
        yield tuple(pieces), summarizer.summary()


def _find_next_row(known: Sequence[Piece]) -> tuple[int, int, int, int]:
    """Return where to continue: number of the file, offset and row in it, row among all files."""
    if not known:
        return 0, 0, 0, 0
    last = known[-1]
    if last.stop is None:
        return last.source + 1, 0, 0, last.first + last.rows
    return last.source, last.stop, last.row + last.rows, last.first + last.rows


def _read_pieces(
    summarizer: Summarizer,
    number: int,
    offset: int,
    row: int,
    first: int,
    count_chunk: CountCallback,
) -> Iterator[Piece]:
    """Yield the pieces of a file from an offset on, each when all its rows are summarized."""
    source = summarizer.context.sources[number]
    rows, size = 0, 0

    def make_piece(stop: int | None) -> Piece:
        return Piece(
            source=number, start=offset, stop=stop, row=row, first=first, rows=rows, bytes=size
        )

    for chunk in read_chunks(summarizer.context.layout.reader, source, start=offset):
        summarizer.add(source, chunk, row + rows, first + rows)
        rows += len(chunk.table)
        size += chunk.bytes
        count_chunk(len(chunk.table), chunk.bytes)
        if chunk.end is not None and size >= PIECE_BYTES:
            yield make_piece(chunk.end)
            offset, row, first = chunk.end, row + rows, first + rows
            rows, size = 0, 0
    if rows:
        yield make_piece(None)


class Summarizer:
    """Summarizes rows, chunk by chunk."""

    def __init__(self, context: EncodingContext) -> None:
        self.context = context
        self.reset()

    def reset(self) -> None:
        """Forget all rows."""
        layout, memory = self.context.layout, self.context.settings.memory_plan
        kinds = layout.kinds
        counted = sum(kind in (None, Kind.CATEGORICAL) for kind in kinds.values())
        capacity = memory.counts // max(counted, 1)
        self._accumulators = [
            make_accumulator(
                name, kind, capacity=capacity, number_format=layout.number_formats[name]
            )
            for name, kind in kinds.items()
        ]
        widths = [
            VALUE_BYTES[accumulator.sampled]
            for accumulator in self._accumulators
            if accumulator.sampled is not None
        ]
        self._sampler = Sampler(memory.sampled_rows(ROW_BYTES + sum(widths)))
        self._target: LabelStats | TargetStats | None = None
        self._parts = np.zeros(len(PARTS), np.int64)
        self._rows = 0

    def add(self, source: Source, chunk: Chunk, row: int, first: int) -> None:
        """Add the next rows; `row` counts those of the file, `first` those of all files."""
        count = len(chunk.table)
        column = chunk.table.column(self.context.layout.target)
        parts = self.context.assign_parts(source, first, count)
        labelled = ~is_missing(column, na_values=self.context.layout.na_values)
        in_training = labelled & (parts == TRAIN)
        rows = np.nonzero(in_training)[0]
        with source.locate_errors(row):
            self._add_target(column, labelled, in_training)
        keys = draw_sampling_keys(self.context.settings.seed, first, count)[rows]
        selected = self._sampler.select(keys)
        table = Table(chunk.table.arrow.filter(pa.array(in_training)))
        accumulators = {accumulator.name: accumulator for accumulator in self._accumulators}

        def update(name: str, column: Any) -> Any:
            seen = accumulators[name].update(column)
            sampled = accumulators[name].sampled is not None
            return seen.take(pa.array(selected)) if sampled else None

        with source.locate_errors(row, rows):
            seen = table.map_columns(update, accumulators)
        values = {n: v for n, v in zip(accumulators, seen, strict=True) if v is not None}
        self._sampler.add(keys[selected], first + rows[selected], pa.table(values))
        self._parts += np.bincount(parts[labelled], minlength=len(PARTS))
        self._rows += count

    def _add_target(self, column: Any, labelled: BoolArray, in_training: BoolArray) -> None:
        name, label_type = self.context.layout.target, self.context.layout.labels
        number_format = self.context.layout.number_formats[name]
        stats: LabelStats | TargetStats
        if label_type is None:
            values = to_numbers(name, column, number_format)
            stats = TargetStats.from_values(values[in_training])
        else:
            labels = cast_labels(name, column, label_type, number_format)
            stats = LabelStats.from_columns(
                labels.filter(pa.array(labelled)), labels.filter(pa.array(in_training))
            )
        if self._target is not None:
            stats = merge_target_stats(self._target, stats)
        if isinstance(stats, LabelStats):
            stats.check_count(name)
            if self.context.layout.has_integer_classes:
                stats.check_task(name)
        self._target = stats

    def summary(self) -> Summary:
        """Return the summary of all rows, once some were added."""
        assert self._target is not None
        train, validation, test = self._parts.tolist()
        return Summary(
            rows=self._rows,
            parts=(train, validation, test),
            columns={accumulator.name: accumulator.summary() for accumulator in self._accumulators},
            target=self._target,
            sample=self._sampler.sample(),
        )
