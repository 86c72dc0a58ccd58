"""Values from files that anybody may have written, checked as they are taken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf, nan
from typing import Any

from tabnas.errors import TabNASError
from tabnas.report._words import harmless

LARGEST = 1e300
"""What is beyond cannot be drawn to a scale, and counts as infinite."""
MOST_COUNTED = 10**300
LONGEST_SHOWN = 80
LONGEST_TEXT = 400


@dataclass(frozen=True)
class Given:
    """A value and the way to it, so that an error can name it."""

    where: str  # like "result.json: costs.parameters"
    value: Any

    def __getitem__(self, name: str) -> Given:
        """An entry that must be there."""
        entries = self._mapping()
        if name not in entries:
            raise TabNASError(f"{self.where} must have {name!r}, but it has not")
        return self._below(name, entries[name])

    def get(self, name: str) -> Given | None:
        """An entry, or None where it is absent or null."""
        found = self._mapping().get(name)
        return None if found is None else self._below(name, found)

    def items(self) -> Iterator[tuple[str, Given]]:
        """All entries; their names are made fit to be shown."""
        for name, value in self._mapping().items():
            yield shown(name), self._below(name, value)

    def each(self) -> list[Given]:
        """The elements of a list."""
        if not isinstance(self.value, list | tuple):
            raise self._wrong("a list")
        return [Given(f"{self.where}[{i}]", value) for i, value in enumerate(self.value)]

    def number(self) -> float:
        """Any number; one that is too large for a picture is infinite."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            raise self._wrong("a number")
        if self.value != self.value:
            return nan
        if abs(self.value) > LARGEST:
            return inf if self.value > 0 else -inf
        return float(self.value)

    def count(self, most: int = MOST_COUNTED) -> int:
        """A whole number from 0 to `most`."""
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            raise self._wrong("a whole number")
        if not 0 <= self.value <= most:
            raise TabNASError(f"{self.where} must be from 0 to {most:.6g}, but it is not")
        return self.value

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            raise self._wrong("true or false")
        return self.value

    def text(self) -> str:
        """A text, made fit to be shown."""
        if not isinstance(self.value, str):
            raise self._wrong("a text")
        return shown(self.value, longest=LONGEST_TEXT)

    def exact(self) -> str:
        """A text as it is, for code that quotes it; it is not fit to be shown."""
        if not isinstance(self.value, str):
            raise self._wrong("a text")
        return self.value

    def label(self) -> str:
        """A text, number or truth value, as a class may be called, made fit to be shown."""
        if not isinstance(self.value, str | bool | int | float):
            raise self._wrong("a label")
        return shown(self.value)

    def _mapping(self) -> Mapping[str, Any]:
        if not isinstance(self.value, Mapping):
            raise self._wrong("names with values")
        return self.value

    def _below(self, name: str, value: Any) -> Given:
        joint = "." if ": " in self.where else ": "
        return Given(f"{self.where}{joint}{shown(name)}", value)

    def _wrong(self, wanted: str) -> TabNASError:
        kind = type(self.value).__name__
        return TabNASError(f"{self.where} must be {wanted}, but it is of type {kind}")


def shown(words: object, *, longest: int = LONGEST_SHOWN) -> str:
    """Harmless, and cut if it is long."""
    try:
        text = str(words)
    except ValueError:  # an integer of more digits than Python writes
        text = "a very large number"
    cut = text if len(text) <= longest else text[: longest - 1] + "…"
    return harmless(cut)
