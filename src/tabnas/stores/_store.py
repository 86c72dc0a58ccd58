"""A store: encoded rows on disk, read by row number."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.data import EncodedTable, LabelledArrays, TableEncoder, Target, target_from_dict
from tabnas.decoding import FiniteFloat
from tabnas.errors import TabNASError, check_int, did_you_mean
from tabnas.stores._document import damaged_error, read_document, write_document
from tabnas.stores._pieces import ARRAYS, WrittenPiece, file_name, piece_name
from tabnas.stores._plan import PLAN, describe_continuation
from tabnas.stores._sources import SourceRecord
from tabnas.stores._split import PARTS
from tabnas.types import BoolArray, IntArray

PIECES = "pieces"
STORE_DOCUMENT = "store.json"


@dataclass(frozen=True, eq=False, kw_only=True)
class Store:
    """Encoded rows on disk. Nothing is held in memory, and any number of threads may read."""

    path: Path
    encoder: TableEncoder
    target: Target
    settings: dict[str, Any]
    shares: tuple[float, float]  # of validation and test, of the rows that were dealt out
    sources: tuple[SourceRecord, ...]
    metadata: dict[str, Any]
    """How it was encoded: seconds, versions, notes, and by how much counts may be too low."""
    digest: str
    """Of all that can be read."""
    pieces: tuple[WrittenPiece, ...]

    @cached_property
    def rows(self) -> dict[str, int]:
        """The number of rows of each part."""
        return {part: int(self._begins[part][-1]) for part in PARTS}

    @cached_property
    def bytes(self) -> int:
        """The size of all arrays on disk."""
        return sum(file.size for piece in self.pieces for file in piece.files.values())

    def read(self, part: str, start: int, stop: int) -> LabelledArrays:
        """Return copies of the rows of a part from `start` to `stop`."""
        _check_part(part)
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
    ) -> LabelledArrays:
        """Return copies of several blocks, concatenated; block b begins at row b * block_rows.

        The last block of a part may be shorter. Blocks that are not `wanted` are not read: they are
        zeros, whose memory has not been touched.
        """
        _check_part(part)
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
        """The number of training rows of each class; empty for a quantity."""
        classes = getattr(self.target, "classes", ())
        counts = np.zeros(len(classes), np.int64)
        for piece, begin in enumerate(self._begins["train"][:-1].tolist()):
            y = np.empty(int(self._begins["train"][piece + 1]) - begin, np.dtype("<i4"))
            if classes and len(y):
                self._read_into(piece, file_name("train", ARRAYS[-1]), 0, y)
                counts += np.bincount(y, minlength=len(classes))
        return counts

    def verify(self, count_bytes: Callable[[int], None] = lambda read: None) -> None:
        """Check the digests of all arrays; `count_bytes` is called with the bytes of every file."""
        for number, piece in enumerate(self.pieces):
            for file_of_piece, file in piece.files.items():
                name = f"{PIECES}/{piece_name(number)}/{file_of_piece}"
                with _translate_piece_errors(name), (self.path / name).open("rb") as opened:
                    if file_digest(opened, "sha256").hexdigest() != file.sha256:
                        raise damaged_error(name)
                count_bytes(file.size)

    # -- where rows are ------------------------------------------------------------------------

    @cached_property
    def _begins(self) -> dict[str, IntArray]:
        """The number of the first row of each piece, and the end of the last, by part."""
        rows = np.array([piece.rows for piece in self.pieces], np.int64).reshape(-1, len(PARTS))
        return {part: np.cumsum([0, *rows[:, i]]) for i, part in enumerate(PARTS)}

    @cached_property
    def shapes(self) -> tuple[tuple[np.dtype[Any], int], ...]:
        """Type and width of each array, as files have them."""
        answer = "<f8" if self.target.task == "regression" else "<i4"
        return (
            (np.dtype("<f4"), len(self.encoder.features)),
            (np.dtype("<i4"), len(self.encoder.n_categories)),
            (np.dtype(answer), 1),
        )

    def _empty(self, rows: int) -> LabelledArrays:
        numeric, categorical, y = (np.zeros((rows, w), kind) for kind, w in self.shapes)
        return LabelledArrays(EncodedTable(numeric, categorical), y[:, 0])

    def _fill(self, part: str, start: int, rows: LabelledArrays) -> None:
        """Read into arrays, from as many pieces as it takes."""
        begins = self._begins[part]
        piece = int(np.searchsorted(begins, start, side="right")) - 1
        filled = 0
        while filled < len(rows.y):
            count = min(int(begins[piece + 1]) - start, len(rows.y) - filled)
            here = _slice(rows, filled, filled + count)
            arrays = (here.encoded.numeric, here.encoded.categorical, here.y)
            for array, into in zip(ARRAYS, arrays, strict=True):
                if into.size:
                    self._read_into(piece, file_name(part, array), start - int(begins[piece]), into)
            filled, start, piece = filled + count, start + count, piece + 1

    def _read_into(self, piece: int, name: str, row: int, into: NDArray[Any]) -> None:
        name = f"{PIECES}/{piece_name(piece)}/{name}"
        # read, not mapped: mapped pages would count as memory
        with _translate_piece_errors(name), (self.path / name).open("rb", buffering=0) as file:
            file.seek(row * (into.nbytes // len(into)))
            view = into.view(np.uint8).reshape(-1).data
            while len(view):
                read = file.readinto(view)
                if not read:
                    raise damaged_error(name)
                view = view[read:]


@contextmanager
def _translate_piece_errors(name: str) -> Iterator[None]:
    """Name the file in errors about a piece that has vanished or a disk that fails."""
    try:
        yield
    except OSError as error:
        raise TabNASError(
            f"{name} must be there for as long as its store is in use, but it cannot be read "
            f"({error.strerror or error}); bring it back, and run the same command again"
        ) from None


def _slice(rows: LabelledArrays, start: int, stop: int) -> LabelledArrays:
    return LabelledArrays(rows.encoded.take(slice(start, stop)), rows.y[start:stop])


def _check_part(part: str) -> str:
    if part not in PARTS:
        raise TabNASError(f"there is no part {part!r}; {did_you_mean(str(part), PARTS)}")
    return part


def content_digest(encoder: TableEncoder, target: Target, pieces: Sequence[WrittenPiece]) -> str:
    """Return the digest of all that can be read from a store."""
    digest = sha256(json.dumps([encoder.to_dict(), target.to_dict()]).encode())
    for piece in pieces:
        for part in PARTS:
            for array in ARRAYS:
                digest.update(piece.files[file_name(part, array)].sha256.encode())
    return digest.hexdigest()


# --- the file of a store --------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _StoreDocument:
    """What the JSON file of a store holds."""

    digest: str
    encoder: dict[str, Any]
    facts: dict[str, Any]  # `Store.metadata`
    pieces: tuple[WrittenPiece, ...]
    settings: dict[str, Any]
    shares: tuple[FiniteFloat, FiniteFloat]
    sources: tuple[SourceRecord, ...]
    target: dict[str, Any]


def is_complete(path: Path) -> bool:
    """Return whether a folder holds a complete store."""
    return (path / STORE_DOCUMENT).exists()


def save_store(store: Store) -> None:
    """Write the file that makes a folder of arrays a store, last of all."""
    document = _StoreDocument(
        digest=store.digest,
        encoder=store.encoder.to_dict(),
        facts=store.metadata,
        pieces=store.pieces,
        settings=store.settings,
        shares=store.shares,
        sources=store.sources,
        target=store.target.to_dict(),
    )
    write_document(store.path, STORE_DOCUMENT, document)


def open_store(path: str | Path) -> Store:
    """Open the store in a folder for reading.

    The sizes of its files are checked, but not their content: that is `Store.verify`.
    """
    path = Path(path)
    if not is_complete(path):
        if not (path / PLAN).exists():
            raise TabNASError(
                f"there is no store in the folder {str(path)!r}; name a file, or make a store with "
                "tabnas encode"
            )
        raise TabNASError(
            f"the store {str(path)!r} must be complete, but its encoding has not "
            f"finished; {describe_continuation(path)}"
        )
    document = read_document(path, STORE_DOCUMENT, _StoreDocument)
    encoder = TableEncoder.from_dict(document.encoder)
    target = target_from_dict(document.target)
    if content_digest(encoder, target, document.pieces) != document.digest:
        raise damaged_error(STORE_DOCUMENT)
    store = Store(
        path=path.absolute(),  # since other processes may have other working folders
        encoder=encoder,
        target=target,
        settings=document.settings,
        shares=document.shares,
        sources=document.sources,
        metadata=document.facts,
        digest=document.digest,
        pieces=document.pieces,
    )
    _check_files(store)
    return store


def _check_files(store: Store) -> None:
    """Raise an error unless every array is a file of the size that its rows take."""
    for number, piece in enumerate(store.pieces):
        folder = store.path / PIECES / piece_name(number)
        for part, rows in zip(PARTS, piece.rows, strict=True):
            for array, (kind, width) in zip(ARRAYS, store.shapes, strict=True):
                path, size = folder / file_name(part, array), rows * width * kind.itemsize
                is_linked = any(p.is_symlink() for p in (path, folder, folder.parent))
                if is_linked or not path.is_file() or path.stat().st_size != size:
                    raise TabNASError(
                        f"{PIECES}/{folder.name}/{path.name} must be a file of {size:,} bytes, but "
                        "it is not; the store is damaged, encode the table again to another folder"
                    )
