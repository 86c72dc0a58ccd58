"""Which limit binds: what stands in the way of every network that is one step wider."""

from __future__ import annotations

from dataclasses import dataclass

from tabnas.space import Architecture, Budget, SearchSpace


@dataclass(frozen=True)
class Wider:
    """A network with one layer a step wider, or one layer more, and the limits that forbid it."""

    architecture: Architecture
    breaks: tuple[str, ...]  # names of costs; none if it was allowed, and not chosen


def steps_wider(
    space: SearchSpace, architecture: Architecture, budget: Budget
) -> tuple[Wider, ...]:
    """All single steps up from an architecture, first layer first.

    >>> space = SearchSpace([(8, 16), (0, 8)], inputs=4, outputs=1)
    >>> [step.architecture for step in steps_wider(space, Architecture((8,)), Budget(flops=200))]
    [Architecture('16'), Architecture('8-8')]
    """
    choices = space.choices(architecture)
    steps = []
    for layer in range(min(architecture.depth + 1, space.depth)):
        if choices[layer] + 1 == len(space.candidates[layer]):
            continue
        up = (*choices[:layer], choices[layer] + 1, *choices[layer + 1 :])
        wider = space.architecture(up)
        broken = [m.cost.name for m in budget.limits if m.cost(space, wider) > m.upper]
        steps.append(Wider(wider, tuple(broken)))
    return tuple(steps)
