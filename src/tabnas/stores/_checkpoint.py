"""What the first pass has learned so far, on disk: one file of Arrow's, and one that names it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa

from tabnas.files import refuse_links
from tabnas.stores._answers import Labels, Moments
from tabnas.stores._chunks import Piece
from tabnas.stores._counting import Counts
from tabnas.stores._document import damaged, read_document, write_document
from tabnas.stores._sampling import Sample
from tabnas.stores._summary import ColumnSummary, Summary

NAME = "learned.json"
DATA = "learned.arrow"
"""Of which the file's name is made: a part of its digest is in it, so that a file that another
names is never written over."""
FIELDS = ("pieces", "complete", "seconds", "digest", "summary")


@dataclass(frozen=True, eq=False, kw_only=True)
class Learned:
    """How far the first pass has come."""

    pieces: tuple[Piece, ...] = ()
    summary: Summary | None = None  # of all rows of the pieces
    complete: bool = False
    seconds: float = 0.0

    def save(self, folder: Path) -> None:
        """Write it; what was there before goes when the new one is safe."""
        assert self.summary is not None
        digest = _write_data(folder, self.summary)
        content = {
            "pieces": [asdict(piece) for piece in self.pieces],
            "complete": self.complete,
            "seconds": self.seconds,
            "digest": digest,
            "summary": _facts(self.summary),
        }
        write_document(folder, NAME, content)
        _remove_data(folder, but=_data_name(digest))


def load_learned(folder: Path) -> Learned:
    """What was saved, nothing if the pass has not come to an end of a piece yet."""
    if not (folder / NAME).exists():
        return Learned()
    said = read_document(folder, NAME, FIELDS)
    try:
        pieces = tuple(Piece(**piece) for piece in said["pieces"])
        name = _data_name(said["digest"])
        refuse_links(folder, name)
        with (folder / name).open("rb") as file:
            if file_digest(file, "sha256").hexdigest() != said["digest"]:
                raise damaged(name)
            file.seek(0)
            tables = []
            while file.read(1):
                file.seek(-1, os.SEEK_CUR)
                with pa.ipc.open_stream(file) as reader:
                    tables.append(reader.read_all())
                tables[-1].validate(full=True)
        summary = _summary(said["summary"], tables)
    except (OSError, pa.ArrowException, TypeError, KeyError, LookupError):
        raise damaged(NAME) from None
    return Learned(
        pieces=pieces, summary=summary, complete=said["complete"], seconds=said["seconds"]
    )


def remove_learned(folder: Path) -> None:
    """Remove what nobody needs once a store is complete."""
    (folder / NAME).unlink(missing_ok=True)
    _remove_data(folder)


def _data_name(digest: Any) -> str:
    if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
        raise damaged(NAME)
    return f"learned-{digest[:16]}.arrow"


def _write_data(folder: Path, summary: Summary) -> str:
    """Write what is no plain number, whole or not at all; its digest."""
    aside = folder / f".{DATA}.{uuid4().hex[:8]}"
    try:
        with aside.open("w+b") as file:
            for table in _tables(summary):
                with pa.ipc.new_stream(file, table.schema) as writer:
                    writer.write_table(table)
            file.flush()
            os.fsync(file.fileno())
            file.seek(0)
            digest = file_digest(file, "sha256").hexdigest()
        os.replace(aside, folder / _data_name(digest))
    finally:
        aside.unlink(missing_ok=True)
    return digest


def _remove_data(folder: Path, *, but: str = "") -> None:
    for path in folder.glob("learned-*.arrow"):
        if path.name != but:
            path.unlink()


def _tables(summary: Summary) -> list[Any]:
    """All that is no plain number: the sample, the labels, the counts."""
    sample = summary.sample
    tables = [
        pa.table({"key": sample.keys, "row": sample.rows}),
        sample.values,
    ]
    if isinstance(summary.answers, Labels):
        tables += [
            pa.table({"label": one}) for one in (summary.answers.found, summary.answers.trained)
        ]
    return tables + [one.counts.table for one in summary.columns.values() if one.counts is not None]


def _facts(summary: Summary) -> dict[str, Any]:
    """The plain numbers."""
    answers = summary.answers
    return {
        "rows": summary.rows,
        "parts": list(summary.parts),
        "most_sampled": summary.sample.most,
        "moments": None if isinstance(answers, Labels) else _moments(answers),
        "columns": {
            name: {
                "missing": one.missing,
                "low": one.low,
                "high": one.high,
                "counts": None if one.counts is None else [one.counts.capacity, one.counts.bound],
            }
            for name, one in summary.columns.items()
        },
    }


def _moments(moments: Moments) -> list[int | str]:
    """Some may be infinite, for which JSON has no number."""
    floats = (moments.mean, moments.squares, moments.low, moments.high)
    return [moments.count, *(number.hex() for number in floats)]


def _summary(facts: Any, tables: Sequence[Any]) -> Summary:
    left = iter(tables)
    drawn, values = next(left), next(left)
    sample = Sample(
        facts["most_sampled"],
        np.array(drawn.column("key").to_numpy(), np.uint64),
        np.array(drawn.column("row").to_numpy(), np.int64),
        values,
    )
    answers: Labels | Moments
    if facts["moments"] is None:
        found, trained = (next(left).column("label").combine_chunks() for _ in range(2))
        answers = Labels(found, trained)
    else:
        count, *floats = facts["moments"]
        answers = Moments(count, *map(float.fromhex, floats))
    columns = {}
    for name, one in facts["columns"].items():
        counts = None
        if one["counts"] is not None:
            capacity, bound = one["counts"]
            counts = Counts(capacity, next(left), bound)
        columns[name] = ColumnSummary(
            missing=one["missing"], low=one["low"], high=one["high"], counts=counts
        )
    train, validation, test = facts["parts"]
    return Summary(
        rows=facts["rows"],
        parts=(train, validation, test),
        columns=columns,
        answers=answers,
        sample=sample,
    )
