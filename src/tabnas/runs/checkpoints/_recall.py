"""Facts of a checkpoint, back as what they stand for, each of the type that it must have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from tabnas.errors import TabNASError

Kind = TypeVar("Kind")


def recalled(kind: type[Kind], facts: Any, **known: Any) -> Kind:
    """A dataclass of its fields as JSON gives them; those that are `known` come from elsewhere."""
    hints = get_type_hints(kind)
    expected = {each.name for each in fields(kind)} - set(known)  # type: ignore[arg-type]
    if not isinstance(facts, Mapping) or set(facts) != expected:
        raise TabNASError(f"a {kind.__name__} must have the fields {', '.join(sorted(expected))}")
    for name in expected:
        if not _fits(facts[name], hints[name]):
            raise TabNASError(
                f"{name} of a {kind.__name__} must be {getattr(hints[name], '__name__', 'other')}, "
                f"got {type(facts[name]).__name__}"
            )
    return kind(**facts, **known)


def _fits(value: Any, hint: Any) -> bool:
    if isinstance(hint, UnionType):
        return any(_fits(value, one) for one in get_args(hint))
    if get_origin(hint) is list:
        return isinstance(value, list) and all(_fits(one, get_args(hint)[0]) for one in value)
    if hint is float:
        return type(value) in (int, float)
    return hint in (int, str, NoneType) and type(value) is hint
