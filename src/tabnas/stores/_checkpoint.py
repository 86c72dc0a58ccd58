"""The checkpoint of the first pass: a file in Arrow's format, and a JSON file that names it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa

from tabnas.decoding import Count, FiniteFloat
from tabnas.files import refuse_links
from tabnas.stores._document import damaged_error, read_document, write_document
from tabnas.stores._readers import Piece
from tabnas.stores._sketches import Counts, Sample
from tabnas.stores._summary import ColumnSummary, Summary
from tabnas.stores._target_stats import LabelStats, TargetStats

FIRST_PASS = "first_pass.json"
DATA = "first_pass.arrow"
"""The Arrow file's name also holds a part of its digest, so that a file in use is never
overwritten."""


@dataclass(frozen=True, eq=False, kw_only=True)
class FirstPassState:
    """The progress and the summary of the first pass."""

    pieces: tuple[Piece, ...] = ()
    summary: Summary | None = None  # of all rows of the pieces
    complete: bool = False
    seconds: float = 0.0

    def save(self, folder: Path) -> None:
        """Write the state; the earlier one is removed when the new one is safe."""
        assert self.summary is not None
        digest = _write_data(folder, self.summary)
        document = _CheckpointDocument(
            pieces=self.pieces,
            complete=self.complete,
            seconds=self.seconds,
            digest=digest,
            summary=_to_record(self.summary),
        )
        write_document(folder, FIRST_PASS, document)
        _remove_data(folder, but=_data_name(digest))


def load_first_pass(folder: Path) -> FirstPassState:
    """Load the state; an empty one if no piece was completed yet."""
    if not (folder / FIRST_PASS).exists():
        return FirstPassState()
    document = read_document(folder, FIRST_PASS, _CheckpointDocument)
    name = _data_name(document.digest)
    refuse_links(folder, name)
    try:
        with (folder / name).open("rb") as file:
            if file_digest(file, "sha256").hexdigest() != document.digest:
                raise damaged_error(name)
            file.seek(0)
            tables = []
            while file.read(1):
                file.seek(-1, os.SEEK_CUR)
                with pa.ipc.open_stream(file) as reader:
                    tables.append(reader.read_all())
                tables[-1].validate(full=True)
        summary = _to_summary(document.summary, tables)
    except (OSError, pa.ArrowException, TypeError, LookupError, StopIteration):
        raise damaged_error(FIRST_PASS) from None
    return FirstPassState(
        pieces=document.pieces,
        summary=summary,
        complete=document.complete,
        seconds=document.seconds,
    )


def remove_first_pass(folder: Path) -> None:
    """Remove the state, which is not needed once the store is complete."""
    (folder / FIRST_PASS).unlink(missing_ok=True)
    _remove_data(folder)


def _data_name(digest: str) -> str:
    if not re.fullmatch("[0-9a-f]{64}", digest):
        raise damaged_error(FIRST_PASS)
    return f"first_pass-{digest[:16]}.arrow"


def _write_data(folder: Path, summary: Summary) -> str:
    """Write the tables of a summary, completely or not at all, and return their digest."""
    temporary = folder / f".{DATA}.{uuid4().hex[:8]}"
    try:
        with temporary.open("w+b") as file:
            for table in _to_tables(summary):
                with pa.ipc.new_stream(file, table.schema) as writer:
                    writer.write_table(table)
            file.flush()
            os.fsync(file.fileno())
            file.seek(0)
            digest = file_digest(file, "sha256").hexdigest()
        os.replace(temporary, folder / _data_name(digest))
    finally:
        temporary.unlink(missing_ok=True)
    return digest


def _remove_data(folder: Path, *, but: str = "") -> None:
    for path in folder.glob("first_pass-*.arrow"):
        if path.name != but:
            path.unlink()


def _to_tables(summary: Summary) -> list[Any]:
    """Return the tables of a summary: the sample, the labels, the counts."""
    sample = summary.sample
    tables = [
        pa.table({"key": sample.keys, "row": sample.rows}),
        sample.values,
    ]
    if isinstance(summary.target, LabelStats):
        tables += [
            pa.table({"label": labels})
            for labels in (summary.target.all_labels, summary.target.train_labels)
        ]
    return tables + [c.counts.table for c in summary.columns.values() if c.counts is not None]


# --- plain numbers --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _ColumnRecord:
    """The numbers of a `ColumnSummary`."""

    missing: Count
    low: float | str | None
    high: float | str | None
    counts: tuple[Count, Count] | None  # capacity and bound


@dataclass(frozen=True, kw_only=True)
class _SummaryRecord:
    """The numbers of a `Summary`."""

    rows: Count
    parts: tuple[Count, Count, Count]
    max_sampled: Count
    target: tuple[int, str, str, str, str] | None  # floats in hexadecimal: some may be infinite
    columns: dict[str, _ColumnRecord]


@dataclass(frozen=True, kw_only=True)
class _CheckpointDocument:
    """What the JSON file holds."""

    pieces: tuple[Piece, ...]
    complete: bool
    seconds: FiniteFloat
    digest: str
    summary: _SummaryRecord


def _to_record(summary: Summary) -> _SummaryRecord:
    stats = summary.target
    target = None
    if isinstance(stats, TargetStats):
        floats = (stats.mean, stats.squares, stats.low, stats.high)
        mean, squares, low, high = (number.hex() for number in floats)
        target = stats.count, mean, squares, low, high
    return _SummaryRecord(
        rows=summary.rows,
        parts=summary.parts,
        max_sampled=summary.sample.max_rows,
        target=target,
        columns={
            name: _ColumnRecord(
                missing=column.missing,
                low=column.low,
                high=column.high,
                counts=None
                if column.counts is None
                else (column.counts.capacity, column.counts.bound),
            )
            for name, column in summary.columns.items()
        },
    )


def _to_summary(record: _SummaryRecord, tables: Sequence[Any]) -> Summary:
    left = iter(tables)
    drawn, values = next(left), next(left)
    sample = Sample(
        record.max_sampled,
        np.array(drawn.column("key").to_numpy(), np.uint64),
        np.array(drawn.column("row").to_numpy(), np.int64),
        values,
    )
    target: LabelStats | TargetStats
    if record.target is None:
        all_labels, train_labels = (next(left).column("label").combine_chunks() for _ in range(2))
        target = LabelStats(all_labels, train_labels)
    else:
        count, *floats = record.target
        target = TargetStats(count, *map(float.fromhex, floats))
    columns = {}
    for name, column in record.columns.items():
        counts = None
        if column.counts is not None:
            capacity, bound = column.counts
            counts = Counts(capacity, next(left), bound)
        columns[name] = ColumnSummary(
            missing=column.missing, low=column.low, high=column.high, counts=counts
        )
    return Summary(
        rows=record.rows, parts=record.parts, columns=columns, target=target, sample=sample
    )
