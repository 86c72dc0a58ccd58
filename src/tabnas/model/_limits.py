"""The limits that a model has promised to keep, and what it costs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import inf
from numbers import Real

from tabnas.errors import InfeasibleError, TabNASError
from tabnas.nets import Task
from tabnas.space import ABSENT, COSTS, Architecture, SearchSpace, compute_costs

MEASURED = ("latency_us", "batch_latency_us")
"""Costs that only a machine can tell: see the room `latency`."""


def costs_of(
    task: Task, architecture: Architecture, limits: Collection[str] = ()
) -> dict[str, float]:
    """What the network of this task and architecture uses of every cost that can be computed.

    Those with limits must be.
    """
    space = SearchSpace(
        [[width] for width in architecture.widths or (ABSENT,)],
        inputs=task.inputs.width,
        outputs=task.outputs,
        embedding_parameters=task.inputs.embedding_parameters,
    )
    return compute_costs(space, architecture, required=limits)


def checked_limits(limits: Mapping[str, float]) -> dict[str, float]:
    """The limits as plain numbers, whole ones as integers.

    One on a cost that nobody here can count is refused: nobody could say whether it holds.
    """
    checked: dict[str, float] = {}
    for name, most in limits.items():
        number = isinstance(most, Real) and not isinstance(most, bool)
        if not isinstance(name, str) or not number or not 0 <= most < inf:
            raise TabNASError(f"the limit on {name} must be a number of at least 0, got {most!r}")
        if name not in COSTS and name not in MEASURED:
            raise TabNASError(
                f"the limit on {name} must be one that can be checked, but there is no cost of "
                "that name; put one of your own into tabnas.space.COSTS first"
            )
        checked[name] = int(most) if most == int(most) else float(most)
    return checked


def refuse_broken(
    limits: Mapping[str, float], costs: Mapping[str, float], architecture: Architecture
) -> None:
    """Refuse an architecture beyond a limit. Costs that were measured cannot be told from here."""
    for name, most in limits.items():
        if name in costs and costs[name] > most:
            raise InfeasibleError(
                f"the limit on {name} must be kept, at most {most:,}, but the architecture "
                f"{architecture} needs {costs[name]:,}; choose one within the limit"
            )
