"""What people choose by name, found where it is written: a new file needs no entry in a list."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any


def modules_of(package: str) -> Iterator[ModuleType]:
    """The modules of a package, by their names; those of packages within it are its own affair."""
    for module in iter_modules(import_module(package).__path__):
        if not module.ispkg:
            yield import_module(f"{package}.{module.name}")


def classes_by_name(package: str, base: type[Any], *, first: str) -> dict[str, Any]:
    """The subclasses of `base` in a package that have a `name`, by it: `first`, then the others.

    Those without one are what others are made of. `first` is the one that is taken by default.
    """
    named: list[Any] = [
        one
        for module in modules_of(package)
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, base)
        if one.__module__ == module.__name__ and "name" in vars(one)
    ]
    found = {one.name: one for one in sorted(named, key=lambda one: (one.name != first, one.name))}
    if len(found) < len(named) or first not in found:
        raise TypeError(f"{package} must have names of their own, and {first!r} among them")
    return found
