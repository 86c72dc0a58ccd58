"""The files that a store is made of, and whether they are still the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabnas.data.reading import table_ending
from tabnas.errors import TabNASError
from tabnas.stores._splitting import PartName


@dataclass(frozen=True, kw_only=True)
class Source:
    """One file, as it was when it was first looked at."""

    path: Path  # as it was named, for a link's name may tell what its file's does not
    ending: str  # without .gz
    size: int
    modified: int  # nanoseconds since 1970
    part: PartName | None  # of all its rows, where a user says so; else each row is dealt out

    @classmethod
    def of(cls, path: Path, part: PartName | None = None) -> Source:
        """The file of a path; what is no table is refused."""
        ending = table_ending(path)
        found = path.stat()
        return cls(
            path=path.parent.resolve() / path.name,
            ending=ending,
            size=found.st_size,
            modified=found.st_mtime_ns,
            part=part,
        )

    @property
    def is_zipped(self) -> bool:
        """Whether it can only be read from its beginning."""
        return self.path.suffix.lower() == ".gz"

    def refuse_changed(self) -> None:
        """A store must not be made of two states of a file."""
        now = Source.of(self.path, self.part)
        if now != self:
            raise TabNASError(
                f"{self.path.name!r} must stay as it is while it is encoded, but its size or "
                "time has changed; encode it once more to another folder"
            )

    def to_dict(self) -> dict[str, Any]:
        """All of it, fit for JSON."""
        return {
            "name": self.path.name,
            "path": str(self.path),
            "size": self.size,
            "modified": self.modified,
            "part": self.part,
        }


def find_sources(
    paths: Sequence[Path], validation: Sequence[Path] = (), test: Sequence[Path] = ()
) -> tuple[Source, ...]:
    """All files, those for validation and test last; each may be named once."""
    if not paths:
        raise TabNASError("a store must be made of at least one file, but none was named")
    sources = tuple(_each(paths, validation, test))
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


def _each(
    paths: Sequence[Path], validation: Sequence[Path], test: Sequence[Path]
) -> Iterator[Source]:
    yield from (Source.of(path) for path in paths)
    yield from (Source.of(path, "validation") for path in validation)
    yield from (Source.of(path, "test") for path in test)
