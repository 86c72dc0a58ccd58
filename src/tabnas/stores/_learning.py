"""The first pass: every row is read once, and what its kind of encoding needs is remembered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tabnas.data import Kind, Table, numbers
from tabnas.data.reading import absent
from tabnas.stores._answers import Labels, Moments, merged_answers, typed_labels
from tabnas.stores._chunks import PIECE, Chunk, Piece, read_chunks
from tabnas.stores._layout import Layout
from tabnas.stores._observing import observer_of
from tabnas.stores._rows import rows_of
from tabnas.stores._sampling import Sampler
from tabnas.stores._settings import StoreSettings
from tabnas.stores._sources import Source
from tabnas.stores._splitting import PARTS, TRAIN, parts_of_rows, sampling_keys
from tabnas.stores._summary import Summary
from tabnas.types import BoolArray

ROW_BYTES = 24  # of a row of the sample, beside its values
WIDTHS = {pa.float64(): 8, pa.timestamp("s"): 8, pa.string(): 32}  # of its values, about


@dataclass(frozen=True, eq=False, kw_only=True)
class Work:
    """What both passes are told."""

    sources: tuple[Source, ...]
    layout: Layout
    settings: StoreSettings
    shares: tuple[float, float]  # of validation and test

    def parts(self, source: Source, first: int, count: int) -> Any:
        """The part of each of some rows of a file; `first` counts the rows of all files."""
        if source.part is not None:
            return np.full(count, PARTS.index(source.part), np.uint8)
        return parts_of_rows(self.settings.seed, first, count, self.shares)


def learn(
    work: Work, known: Sequence[Piece], tell: Callable[[int, int], None]
) -> Iterator[tuple[tuple[Piece, ...], Summary]]:
    """The pieces that come after those that are known, with the summary of their rows.

    Small ones come together, as many as make up a large one: to put summaries together and keep
    them takes its time. It depends on bytes alone which do, so that whoever was interrupted finds
    the same ones together. `tell` is told the rows and bytes of every chunk.
    """
    number, place, row, first = _behind(known)
    learner = Learner(work)
    pieces: list[Piece] = []
    size = 0
    for source in range(number, len(work.sources)):
        for piece in _pieces_of(learner, source, place, row, first, tell):
            first += piece.rows
            pieces.append(piece)
            size += piece.bytes
            if size >= PIECE:
                yield tuple(pieces), learner.summary()
                learner.forget()
                pieces, size = [], 0
        place, row = 0, 0
    if pieces:
        yield tuple(pieces), learner.summary()


def _behind(known: Sequence[Piece]) -> tuple[int, int, int, int]:
    """Where to go on: the number of a file, the place and row there, the row among all."""
    if not known:
        return 0, 0, 0, 0
    last = known[-1]
    if last.stop is None:
        return last.source + 1, 0, 0, last.first + last.rows
    return last.source, last.stop, last.row + last.rows, last.first + last.rows


def _pieces_of(
    learner: Learner,
    number: int,
    place: int,
    row: int,
    first: int,
    tell: Callable[[int, int], None],
) -> Iterator[Piece]:
    """The pieces of a file from a place on, each when the learner has seen all of its rows."""
    work = learner.work
    source = work.sources[number]
    rows, size = 0, 0

    def piece(stop: int | None) -> Piece:
        return Piece(
            source=number, start=place, stop=stop, row=row, first=first, rows=rows, bytes=size
        )

    for chunk in read_chunks(work.layout.reader, source, start=place, row=row):
        learner.add(source, chunk, row + rows, first + rows)
        rows += len(chunk.table)
        size += chunk.bytes
        tell(len(chunk.table), chunk.bytes)
        if chunk.end is not None and size >= PIECE:
            yield piece(chunk.end)
            place, row, first = chunk.end, row + rows, first + rows
            rows, size = 0, 0
    if rows:
        yield piece(None)


class Learner:
    """Learns from rows, chunk by chunk, until it is told to forget them."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.forget()

    def forget(self) -> None:
        """Begin anew, as if no row had been seen."""
        layout, sizes = self.work.layout, self.work.settings.sizes
        kinds = layout.kinds
        counted = sum(kind in (None, Kind.CATEGORICAL) for kind in kinds.values())
        capacity = sizes.counts // max(counted, 1)
        self._observers = [
            observer_of(name, kind, capacity=capacity, form=layout.forms[name])
            for name, kind in kinds.items()
        ]
        widths = [WIDTHS[one.sampled] for one in self._observers if one.sampled is not None]
        self._sampler = Sampler(sizes.sampled_rows(ROW_BYTES + sum(widths)))
        self._answers: Labels | Moments | None = None
        self._parts = np.zeros(len(PARTS), np.int64)
        self._rows = 0

    def add(self, source: Source, chunk: Chunk, row: int, first: int) -> None:
        """The next rows; `row` counts those of the file, `first` those of all files."""
        count = len(chunk.table)
        column = chunk.table.column(self.work.layout.target)
        parts = self.work.parts(source, first, count)
        answered = ~absent(column, marks=self.work.layout.marks)
        trained = answered & (parts == TRAIN)
        rows = np.nonzero(trained)[0]
        with rows_of(source, row):
            self._answer(column, answered, trained)
        keys = sampling_keys(self.work.settings.seed, first, count)[rows]
        wanted = self._sampler.wanted(keys)
        table = Table(chunk.table.arrow.filter(pa.array(trained)))
        values = {}
        with rows_of(source, row, rows):
            for observer in self._observers:
                seen = observer.observe(table.column(observer.name))
                if observer.sampled is not None:
                    values[observer.name] = seen.take(pa.array(wanted))
        self._sampler.add(keys[wanted], first + rows[wanted], pa.table(values))
        self._parts += np.bincount(parts[answered], minlength=len(PARTS))
        self._rows += count

    def _answer(self, column: Any, answered: BoolArray, trained: BoolArray) -> None:
        """What the target's rows tell."""
        name, wanted = self.work.layout.target, self.work.layout.labels
        form = self.work.layout.forms[name]
        found: Labels | Moments
        if wanted is None:
            found = Moments.of(numbers(name, column, form)[trained])
        else:
            labels = typed_labels(name, column, wanted, form)
            found = Labels.of(labels.filter(pa.array(answered)), labels.filter(pa.array(trained)))
        if self._answers is not None:
            found = merged_answers(self._answers, found)
        if isinstance(found, Labels):
            found.refuse_many(name)
        self._answers = found

    def summary(self) -> Summary:
        """All that was learned; some rows must have been added."""
        assert self._answers is not None
        train, validation, test = self._parts.tolist()
        return Summary(
            rows=self._rows,
            parts=(train, validation, test),
            columns={one.name: one.summary() for one in self._observers},
            answers=self._answers,
            sample=self._sampler.sample(),
        )
