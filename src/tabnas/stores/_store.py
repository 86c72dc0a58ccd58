"""A store: encoded rows on disk, read by number, a copy at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tabnas.data import Encoded, TableEncoder, Target
from tabnas.errors import TabNASError, check_int, did_you_mean
from tabnas.stores._document import damaged
from tabnas.stores._splitting import PARTS
from tabnas.stores._writing import ARRAYS, file_name, piece_name
from tabnas.types import BoolArray, IntArray

PIECES = "pieces"


class Rows(NamedTuple):
    """Rows of a store, as a network takes them and as predictions are judged by."""

    encoded: Encoded
    truth: NDArray[Any]  # class numbers (int32), or values in their own units (float64)


@dataclass(frozen=True, eq=False, kw_only=True)
class Store:
    """Encoded rows on disk. Nothing of it is kept in memory, and any number of threads may read."""

    path: Path
    encoder: TableEncoder
    target: Target
    settings: Mapping[str, Any]
    shares: tuple[float, float]  # of validation and test, of the rows that were dealt out
    sources: Sequence[Mapping[str, Any]]
    facts: Mapping[str, Any]  # how it was made: seconds, versions, what was bounded
    digest: str
    """Of all that can be read, piece by piece."""
    pieces: tuple[Mapping[str, Any], ...]

    @cached_property
    def rows(self) -> dict[str, int]:
        """How many rows each part has."""
        return {part: int(self._begins[part][-1]) for part in PARTS}

    @cached_property
    def bytes(self) -> int:
        """All arrays on disk."""
        return sum(file["size"] for piece in self.pieces for file in piece["files"].values())

    def read(self, part: str, start: int, stop: int) -> Rows:
        """Copies of the rows of a part from one number to another."""
        _known(part)
        if not 0 <= start <= stop <= self.rows[part]:
            raise TabNASError(
                f"rows must be among the {self.rows[part]:,} of the part {part!r}, but "
                f"{start:,} to {stop:,} were asked for"
            )
        rows = self._empty(stop - start)
        self._fill(part, start, rows)
        return rows

    def read_blocks(
        self,
        part: str,
        blocks: Sequence[int] | IntArray,
        block_rows: int,
        wanted: BoolArray | None = None,
    ) -> Rows:
        """Copies of several blocks, one after the other; block b begins at row b * block_rows.

        The last block of a part may be shorter. Blocks come in the order asked for; those that are
        not `wanted` are not read, but zeros, whose memory nobody has touched.
        """
        _known(part)
        check_int("block_rows", block_rows, minimum=1)
        total = self.rows[part]
        spans = []
        for block in map(int, blocks):
            if not 0 <= block * block_rows < total:
                raise TabNASError(
                    f"blocks must be among the {-(-total // block_rows):,} of the part {part!r}, "
                    f"but {block:,} was asked for"
                )
            spans.append((block * block_rows, min((block + 1) * block_rows, total)))
        rows = self._empty(sum(stop - start for start, stop in spans))
        filled = 0
        for k, (start, stop) in enumerate(spans):
            end = filled + stop - start
            if wanted is None or wanted[k]:
                self._fill(part, start, _slice(rows, filled, end))
            filled = end
        return rows

    @cached_property
    def class_counts(self) -> IntArray:
        """How many training rows each class has; a target of quantities has none."""
        classes = getattr(self.target, "classes", ())
        counts = np.zeros(len(classes), np.int64)
        for piece, begin in enumerate(self._begins["train"][:-1].tolist()):
            truth = np.empty(int(self._begins["train"][piece + 1]) - begin, np.dtype("<i4"))
            if classes and len(truth):
                self._read_into(piece, file_name("train", ARRAYS[-1]), 0, truth)
                counts += np.bincount(truth, minlength=len(classes))
        return counts

    def verify(self, tell: Callable[[int], None] = lambda read: None) -> None:
        """Read everything once, and refuse what is not what was written; `tell` is told bytes."""
        for number, piece in enumerate(self.pieces):
            for file_of_piece, file in piece["files"].items():
                name = f"{PIECES}/{piece_name(number)}/{file_of_piece}"
                with _reachable(name), (self.path / name).open("rb") as opened:
                    if file_digest(opened, "sha256").hexdigest() != file["sha256"]:
                        raise damaged(name)
                tell(file["size"])

    # -- where rows are ------------------------------------------------------------------------

    @cached_property
    def _begins(self) -> dict[str, IntArray]:
        """The number of the first row of each piece, and behind the last, by part."""
        rows = np.array([piece["rows"] for piece in self.pieces], np.int64).reshape(-1, len(PARTS))
        return {part: np.cumsum([0, *rows[:, i]]) for i, part in enumerate(PARTS)}

    @cached_property
    def shapes(self) -> tuple[tuple[np.dtype[Any], int], ...]:
        """Type and width of each array, as files have them."""
        answer = "<f8" if self.target.task == "regression" else "<i4"
        return (
            (np.dtype("<f4"), len(self.encoder.features)),
            (np.dtype("<i4"), len(self.encoder.categories)),
            (np.dtype(answer), 1),
        )

    def _empty(self, rows: int) -> Rows:
        numeric, categorical, truth = (np.zeros((rows, w), kind) for kind, w in self.shapes)
        return Rows(Encoded(numeric, categorical), truth[:, 0])

    def _fill(self, part: str, start: int, rows: Rows) -> None:
        """Read into arrays, from as many pieces as it takes."""
        begins = self._begins[part]
        piece = int(np.searchsorted(begins, start, side="right")) - 1
        filled = 0
        while filled < len(rows.truth):
            count = min(int(begins[piece + 1]) - start, len(rows.truth) - filled)
            here = _slice(rows, filled, filled + count)
            arrays = (here.encoded.numeric, here.encoded.categorical, here.truth)
            for array, into in zip(ARRAYS, arrays, strict=True):
                if into.size:
                    self._read_into(piece, file_name(part, array), start - int(begins[piece]), into)
            filled, start, piece = filled + count, start + count, piece + 1

    def _read_into(self, piece: int, name: str, row: int, into: NDArray[Any]) -> None:
        name = f"{PIECES}/{piece_name(piece)}/{name}"
        # read, not mapped: mapped pages would count as memory for as long as they stay
        with _reachable(name), (self.path / name).open("rb", buffering=0) as file:
            file.seek(row * (into.nbytes // len(into)))
            view = into.view(np.uint8).reshape(-1).data
            while len(view):
                read = file.readinto(view)
                if not read:
                    raise damaged(name)
                view = view[read:]


@contextmanager
def _reachable(name: str) -> Iterator[None]:
    """What a piece that has vanished, or a disk that fails, makes of its readers."""
    try:
        yield
    except OSError as error:
        raise TabNASError(
            f"{name} must be there for as long as its store is in use, but it cannot be read "
            f"({error.strerror or error}); bring it back, and go on with the same command"
        ) from None


def _slice(rows: Rows, start: int, stop: int) -> Rows:
    encoded = Encoded(rows.encoded.numeric[start:stop], rows.encoded.categorical[start:stop])
    return Rows(encoded, rows.truth[start:stop])


def _known(part: str) -> str:
    if part not in PARTS:
        raise TabNASError(f"there is no part {part!r}; {did_you_mean(str(part), PARTS)}")
    return part


def content_digest(
    encoder: TableEncoder, target: Target, pieces: Sequence[Mapping[str, Any]]
) -> str:
    """A number for all that can be read from a store."""
    found = sha256(json.dumps([encoder.to_dict(), target.to_dict()]).encode())
    for piece in pieces:
        for part in PARTS:
            for array in ARRAYS:
                found.update(piece["files"][file_name(part, array)]["sha256"].encode())
    return found.hexdigest()
