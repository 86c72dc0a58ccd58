"""Registries: dictionaries of everything that can be chosen by its name."""

from __future__ import annotations

from typing import Any


def by_name(*items: Any) -> dict[str, Any]:
    """Return the items by their `name`, in the order given; the first one is the default.

    >>> from tabnas.space import Flops, Parameters
    >>> by_name(Parameters(), Flops())
    {'parameters': <cost parameters>, 'flops': <cost flops>}
    """
    registry = {item.name: item for item in items}
    if len(registry) < len(items):
        raise TypeError(f"names must be unique, got {', '.join(item.name for item in items)}")
    return registry
