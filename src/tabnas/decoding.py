"""Decode untrusted JSON and TOML into dataclasses, and check every field.

`to_builtins` goes the other way. (Tables are encoded by `tabnas.data.TableEncoder`.)

The type hints of a dataclass are the schema of its file. A field without a default must be there,
and a field that the dataclass does not have is an error. `Annotated` adds bounds:

>>> @dataclass(frozen=True)
... class Layer:
...     width: Annotated[int, Bounds(ge=1)]
...     name: str = "dense"
>>> decode(Layer, {"width": 16}, source="net.json")
Layer(width=16, name='dense')
>>> decode(Layer, {"width": 0}, source="net.json")
Traceback (most recent call last):
    ...
tabnas.decoding.DecodeError: net.json: width must be an integer of at least 1, got 0
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from tabnas.errors import TabNASError, did_you_mean
from tabnas.formatting import is_utf8, shorten

T = TypeVar("T")

MAX_COUNT = 2**53
"""No count is larger; far from where 64-bit integers turn negative."""


class DecodeError(TabNASError):
    """A file does not hold what is expected of it."""


@dataclass(frozen=True)
class Bounds:
    """Bounds on a number, inclusive (`ge`, `le`) or exclusive (`gt`). NaN is never within them."""

    ge: float | None = None
    gt: float | None = None
    le: float | None = None

    def __contains__(self, number: float) -> bool:
        return (
            (self.ge is None or number >= self.ge)
            and (self.gt is None or number > self.gt)
            and (self.le is None or number <= self.le)
            and number == number  # math.isnan overflows for large integers
        )

    def __str__(self) -> str:
        words = [
            f"{words} {bound:,}"
            for words, bound in (
                ("of at least", self.ge),
                ("greater than", self.gt),
                (
                    "at most" if self.ge is not None or self.gt is not None else "of at most",
                    self.le,
                ),
            )
            if bound is not None
        ]
        return " and ".join(words)


@dataclass(frozen=True)
class MaxLength:
    """The largest length of a string, a list or a mapping."""

    length: int


class Finite:
    """Mark a float that must be neither NaN nor infinite."""


@dataclass(frozen=True)
class DecodeWith:
    """Decode a value with a function instead of by its type; a ValueError says what is wrong."""

    function: Callable[[Any], Any]


Count = Annotated[int, Bounds(ge=0, le=MAX_COUNT)]
FiniteFloat = Annotated[float, Finite()]
PositiveFloat = Annotated[float, Finite(), Bounds(gt=0)]
Probability = Annotated[float, Bounds(ge=0, le=1)]


# --- text to values -------------------------------------------------------------------------------


def parse_json(text: str | bytes, *, source: str, allow_nan: bool = False) -> Any:
    """Parse JSON; refuse duplicate keys, deep nesting and, unless allowed, NaN and Infinity."""
    refuse = None if allow_nan else _refuse_constant
    try:
        return json.loads(text, object_pairs_hook=_refuse_duplicates, parse_constant=refuse)
    except RecursionError:
        raise DecodeError(f"{source} cannot be read: it is nested too deeply") from None
    except ValueError as error:
        raise DecodeError(f"{source} cannot be read as JSON: {error}") from None


def parse_toml(text: str, *, source: str) -> dict[str, Any]:
    """Parse TOML."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise DecodeError(f"{source} cannot be read: it is nested too deeply") from None
    except ValueError as error:
        raise DecodeError(f"{source} cannot be read as TOML: {error}") from None


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) < len(pairs):
        raise ValueError("an object has the same key twice")
    return unique


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")


def check_kind_and_format(value: Any, kind: str, newest: int, *, source: str) -> None:
    """Check that a file is of a kind, by its field `kind`, and not of a newer format."""
    if not isinstance(value, Mapping) or value.get("kind") != kind:
        raise DecodeError(f"{source} must be a {kind}, but it is not")
    version = value.get("format")
    if type(version) is not int or version < 1:
        raise DecodeError(f"{source}: format must be a version number, got {version!r}")
    if version > newest:
        raise DecodeError(f"{source} has format {version}, of a newer tabnas; update this one")


# --- values to dataclasses ------------------------------------------------------------------------


def decode(kind: type[T], value: Any, *, source: str, ignore_unknown: bool = False) -> T:
    """Return `value`, as JSON or TOML gives it, as an instance of the type `kind`.

    Parameters
    ----------
    kind
        A dataclass, or any type that its fields may have: `bool`, `int`, `float`, `str`, `Path`, an
        enumeration, `Literal`, a union, `tuple`, `list`, `dict`, `Mapping`, or a class with a class
        method `from_json`.
    source
        What errors call the file.
    ignore_unknown
        Whether fields that a dataclass does not have are ignored rather than refused.
    """
    decoded: T = _Decoder(source, ignore_unknown).decode(kind, value, "")
    return decoded


def to_builtins(value: Any) -> Any:
    """Return a dataclass, and all that is in it, as dicts, lists, strings and numbers for JSON.

    A class with a method `to_json` is converted by it.
    """
    if hasattr(value, "to_json"):
        return value.to_json()
    if is_dataclass(value):
        return {field.name: to_builtins(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_builtins(element) for key, element in value.items()}
    if isinstance(value, list | tuple):
        return [to_builtins(element) for element in value]
    if isinstance(value, Enum | Path):
        return str(value)
    return value


def to_python(value: Any) -> Any:
    """Return a scalar of NumPy as a value of Python, which files can hold, and all else as it is.

    >>> to_python(np.int64(3)), to_python("3")
    (3, '3')
    """
    return value.item() if isinstance(value, np.generic) else value


def describe_value(value: object) -> str:
    """Return the representation of a value, cut if it is long."""
    try:
        return shorten(repr(value))
    except ValueError:  # an integer of more digits than Python prints
        return "a very large number"


class _Decoder:
    """Decodes values of one source; `where` is the path of a value in it, for errors."""

    def __init__(self, source: str, ignore_unknown: bool) -> None:
        self._source = source
        self._ignore_unknown = ignore_unknown

    def decode(self, kind: Any, value: Any, where: str) -> Any:
        origin, arguments = get_origin(kind), get_args(kind)
        if origin is Annotated:
            return self._annotated(arguments, value, where)
        if kind is Any:
            return value
        if origin in (Union, UnionType):
            return self._union(arguments, value, where)
        if origin is Literal:
            if not any(type(value) is type(choice) and value == choice for choice in arguments):
                raise self._wrong(where, f"one of {', '.join(map(repr, arguments))}", value)
            return value
        if origin in (tuple, list) or kind in (tuple, list) or origin is Sequence:
            return self._sequence(origin or kind, arguments, value, where)
        if origin in (dict, Mapping) or kind in (dict, Mapping):
            return self._mapping(arguments or (str, Any), value, where)
        if hasattr(kind, "from_json") or (isinstance(kind, type) and issubclass(kind, Enum)):
            return self._construct(getattr(kind, "from_json", kind), value, where)
        if is_dataclass(kind):
            return self._dataclass(kind, value, where)
        return self._scalar(kind, value, where)

    def _annotated(self, arguments: tuple[Any, ...], value: Any, where: str) -> Any:
        kind, *constraints = arguments
        functions = [c.function for c in constraints if isinstance(c, DecodeWith)]
        if functions:
            return self._construct(functions[0], value, where)
        decoded = self.decode(kind, value, where)
        for constraint in constraints:
            if isinstance(constraint, Bounds) and decoded not in constraint:
                name = "an integer" if kind is int else "a number"
                raise self._wrong(where, f"{name} {constraint}", value)
            if isinstance(constraint, Finite) and not math.isfinite(decoded):
                raise self._wrong(where, "a finite number", value)
            if isinstance(constraint, MaxLength) and len(decoded) > constraint.length:
                raise DecodeError(
                    f"{self._at(where)} must have at most {constraint.length:,} elements, got "
                    f"{len(decoded):,}"
                )
        return decoded

    def _union(self, kinds: tuple[Any, ...], value: Any, where: str) -> Any:
        if value is None and NoneType in kinds:
            return None
        kinds = tuple(kind for kind in kinds if kind is not NoneType)
        if len(kinds) == 1:
            return self.decode(kinds[0], value, where)
        exact = [kind for kind in kinds if kind is type(value)]
        for kind in (*exact, *kinds):
            try:
                return self.decode(kind, value, where)
            except DecodeError:
                continue
        raise self._wrong(where, " or ".join(_name(kind) for kind in kinds), value)

    def _sequence(self, kind: Any, arguments: tuple[Any, ...], value: Any, where: str) -> Any:
        if not isinstance(value, list | tuple):
            raise self._wrong(where, "a list", value)
        fixed = kind is tuple and arguments and arguments[-1] is not Ellipsis
        if fixed and len(value) != len(arguments):
            raise self._wrong(where, f"a list of {len(arguments)} elements", value)
        kinds = arguments if fixed else (arguments or (Any,))[:1] * len(value)
        elements = [
            self.decode(element_kind, element, f"{where}[{i}]")
            for i, (element_kind, element) in enumerate(zip(kinds, value, strict=True))
        ]
        return elements if kind is list else tuple(elements)

    def _mapping(self, arguments: tuple[Any, ...], value: Any, where: str) -> dict[Any, Any]:
        if not isinstance(value, Mapping):
            raise self._wrong(where, "an object of names and values", value)
        key_kind, kind = arguments
        return {
            self._key(key_kind, key, where): self.decode(kind, element, _join(where, key))
            for key, element in value.items()
        }

    def _key(self, kind: Any, key: Any, where: str) -> Any:
        """Decode the key of a mapping, which JSON can only write as a string."""
        if kind is int and isinstance(key, str) and key.isascii() and key.isdigit():
            return int(key[:20])
        return self.decode(kind, key, _join(where, str(key)))

    def _dataclass(self, kind: Any, value: Any, where: str) -> Any:
        if not isinstance(value, Mapping):
            raise self._wrong(where, "an object of names and values", value)
        schema = _schema(kind)
        unknown = [name for name in value if name not in schema]
        if unknown and not self._ignore_unknown:
            hint = did_you_mean(str(unknown[0]), schema)
            raise DecodeError(f"{self._at(_join(where, str(unknown[0])))} is unknown; {hint}")
        missing = [name for name, (_, needed) in schema.items() if needed and name not in value]
        if missing:
            raise DecodeError(f"{self._at(_join(where, missing[0]))} is missing")
        arguments = {
            name: self.decode(hint, value[name], _join(where, name))
            for name, (hint, _) in schema.items()
            if name in value
        }
        return self._construct(lambda known: kind(**known), arguments, where)

    def _construct(self, make: Any, value: Any, where: str) -> Any:
        """Call a constructor, whose own checks become errors about this source."""
        try:
            return make(value)
        except DecodeError:
            raise
        except (TypeError, ValueError, ArithmeticError) as error:
            raise DecodeError(f"{self._at(where)} is malformed: {error}") from None

    def _scalar(self, kind: Any, value: Any, where: str) -> Any:
        if kind is float and type(value) in (int, float):
            try:
                return float(value)
            except OverflowError:
                raise self._wrong(where, "a number", value) from None
        if kind in (str, Path) and isinstance(value, str):
            if "\0" in value or not is_utf8(value):
                raise self._wrong(where, "a string without zero bytes or surrogates", value)
            return kind(value)
        if kind in (bool, int, NoneType) and type(value) is kind:
            return value
        if kind not in _NAMES:
            raise TypeError(f"fields of type {kind!r} cannot be decoded")
        raise self._wrong(where, _name(kind), value)

    def _wrong(self, where: str, expected: str, value: Any) -> DecodeError:
        return DecodeError(f"{self._at(where)} must be {expected}, got {describe_value(value)}")

    def _at(self, where: str) -> str:
        return f"{self._source}: {where}" if where else self._source


@cache
def _schema(kind: Any) -> dict[str, tuple[Any, bool]]:
    """Return the type of every field of a dataclass, and whether it must be there."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        field.name: (hints[field.name], field.default is field.default_factory is MISSING)
        for field in fields(kind)
        if field.init
    }


_NAMES: dict[Any, str] = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "a string",
    Path: "a path",
    NoneType: "null",
}


def _name(kind: Any) -> str:
    return _NAMES.get(
        kind, "another value" if kind is Any else getattr(kind, "__name__", str(kind))
    )


def _join(where: str, name: str) -> str:
    return f"{where}.{shorten(name)}" if where else shorten(name)
