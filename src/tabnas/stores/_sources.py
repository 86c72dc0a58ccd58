"""The files that a store is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tabnas.data.lowlevel import RowError, check_table_file
from tabnas.decoding import Count
from tabnas.errors import TabNASError
from tabnas.stores._split import PartName
from tabnas.types import IntArray


@dataclass(frozen=True, kw_only=True)
class SourceRecord:
    """What a store's files say of a source."""

    name: str
    path: str
    size: Count
    modified: int
    part: PartName | None


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file, with the size and time it had when encoding began."""

    path: Path  # not resolved: a link may have the ending that its target lacks
    ending: str  # without .gz
    size: int
    modified: int  # nanoseconds since 1970
    part: PartName | None  # of all its rows, if the user has named one; else rows are split
    copy: Path | None = None  # of a text file, in Arrow's format

    @classmethod
    def from_path(cls, path: Path, part: PartName | None = None) -> Source:
        """Return the source of a path; raise an error if it is not a table."""
        ending = check_table_file(path)
        status = path.stat()
        return cls(
            path=path.parent.resolve() / path.name,
            ending=ending,
            size=status.st_size,
            modified=status.st_mtime_ns,
            part=part,
        )

    @property
    def is_text(self) -> bool:
        """Whether it is a file of separated text, not one in a format of Arrow's."""
        return self.ending not in (".parquet", ".feather")

    def check_unchanged(self) -> None:
        """Raise an error if the file has changed since encoding began."""
        if Source.from_path(self.path, self.part) != replace(self, copy=None):
            raise TabNASError(
                f"{self.path.name!r} must stay as it is while it is encoded, but its size or "
                "time has changed; encode it once more to another folder"
            )

    @property
    def record(self) -> SourceRecord:
        """What a store's files say of the source."""
        return SourceRecord(
            name=self.path.name,
            path=str(self.path),
            size=self.size,
            modified=self.modified,
            part=self.part,
        )

    @contextmanager
    def locate_errors(self, first: int, rows: IntArray | None = None) -> Iterator[None]:
        """Name the file, and the row in it, in errors about some of its rows.

        `first` is the number of the chunk's first row in the file; `rows` are the rows of the chunk
        that were selected, if not all.
        """
        try:
            yield
        except RowError as error:
            remapped = error.remap(rows)
            after = remapped.after
            if "must hold" in remapped.before and "declare" not in after:
                after += ", or declare the column categorical (--categorical)"
            before = f"{self.path.name!r}: {remapped.before}"
            raise RowError(before, first + remapped.row, after) from None


def find_sources(
    paths: Sequence[Path], validation: Sequence[Path] = (), test: Sequence[Path] = ()
) -> tuple[Source, ...]:
    """Return all files, those for validation and test last; raise an error if one is repeated."""
    if not paths:
        raise TabNASError("a store must be made of at least one file, but none was named")
    sources = (
        *(Source.from_path(path) for path in paths),
        *(Source.from_path(path, "validation") for path in validation),
        *(Source.from_path(path, "test") for path in test),
    )
    seen: set[Path] = set()
    for source in sources:
        file = source.path.resolve()
        if file in seen:
            raise TabNASError(
                f"each file must be named once, but {source.path.name!r} is twice; its rows "
                "would be in two parts"
            )
        seen.add(file)
    return sources
