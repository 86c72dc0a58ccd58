"""The declaration of a setting: its default, its bounds, and its command-line option."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, fields
from math import inf
from numbers import Real
from typing import Any, Literal

from tabnas.decoding import describe_value
from tabnas.errors import TabNASError, check_int, find_nearest

Panel = Literal["Limits", "Columns", "Rows", "Architectures", "Work"]
"""A group of options in `--help`."""
Kind = Literal["integer", "seconds", "bytes", "name", "names", "widths", "flag", "path"]
Command = Literal["search", "tradeoff"]
METADATA_KEY = "setting"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A field of `RunSettings`: how it is checked, and the option that sets it."""

    name: str = ""
    default: Any = None
    kind: Kind
    help: str  # of the option
    panel: Panel | None = None  # of `--help`
    metavar: str = "N"
    shown_default: str | None = None  # in `--help`, if it is not the default itself
    minimum: int | None = None
    maximum: int | None = None
    choices: Callable[[], Collection[str]] | None = None
    commands: tuple[Command, ...] = ("search", "tradeoff")
    alias: str | None = None  # another name of the option

    @property
    def option(self) -> str:
        """The name of the option, like `--class-weight`."""
        return f"--{self.name.replace('_', '-')}"

    def check(self, value: Any) -> None:
        """Raise an error if the field does not allow this value; None means the default."""
        if value is None and self.default is None:
            return
        if self.kind in ("integer", "bytes"):
            self._check_int(self.name, value)
        elif self.kind == "seconds":
            is_number = isinstance(value, Real) and not isinstance(value, bool)
            if not is_number or not 0 < value < inf:
                raise TabNASError(
                    f"{self.name} must be a positive number of seconds, got {value!r}"
                )
        elif self.kind == "flag":
            check_type(self.name, value, bool, "true or false")
        elif self.kind == "widths":
            if len(value) > (self.maximum or len(value)):
                raise TabNASError(
                    f"{self.name} may have at most {self.maximum:,} numbers, got {len(value):,}"
                )
        elif self.kind == "names":
            for name in value:
                check_type(f"each name of {self.name}", name, str, "a text")
        else:
            check_type(self.name, value, str, "a text")
            if self.choices is not None and value not in self.choices():
                choices = " or ".join(map(repr, self.choices()))
                near = find_nearest(value, self.choices())
                hint = "" if near is None else f"; did you mean {near!r}?"
                raise TabNASError(f"{self.name} must be {choices}, got {value!r}{hint}")

    def _check_int(self, name: str, value: Any) -> None:
        number = check_int(name, value, minimum=self.minimum or 0)
        if self.maximum is not None and number > self.maximum:
            raise TabNASError(f"{name} must be at most {self.maximum:,}, got {number:,}")


def setting(default: Any, **declaration: Any) -> Any:
    """Declare a field of `RunSettings`; the other arguments are those of `Setting`."""
    return field(default=default, metadata={METADATA_KEY: declaration})


def get_settings(kind: Any) -> list[Setting]:
    """Return the settings that a dataclass declares, in their order."""
    return [
        Setting(name=each.name, default=each.default, **each.metadata[METADATA_KEY])
        for each in fields(kind)
        if METADATA_KEY in each.metadata
    ]


def check_type(name: str, value: Any, kind: type, description: str) -> None:
    """Raise an error if a value is of another type; files can hold anything."""
    if not isinstance(value, kind):
        raise TabNASError(f"{name} must be {description}, got {describe_value(value)}")
