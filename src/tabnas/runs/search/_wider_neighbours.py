"""Which limit binds: the limits that forbid each network one step larger."""

from __future__ import annotations

from tabnas.results import WiderNeighbour
from tabnas.space import Architecture, Budget, SearchSpace


def list_wider_neighbours(
    space: SearchSpace, architecture: Architecture, budget: Budget
) -> tuple[WiderNeighbour, ...]:
    """Return the architectures that are one step wider in one layer, from input to output.

    >>> space = SearchSpace([(8, 16), (0, 8)], inputs=4, outputs=1)
    >>> neighbours = list_wider_neighbours(space, Architecture((8,)), Budget(flops=200))
    >>> [neighbour.architecture for neighbour in neighbours]
    [Architecture('16'), Architecture('8-8')]
    """
    choices = space.choices(architecture)
    neighbours = []
    for layer in range(space.first_hidden + min(architecture.depth + 1, space.depth)):
        if choices[layer] + 1 == len(space.layers[layer]):
            continue
        up = (*choices[:layer], choices[layer] + 1, *choices[layer + 1 :])
        wider = space.architecture(up)
        broken = [m.cost.name for m in budget.limits if m.cost(space, wider) > m.upper]
        neighbours.append(WiderNeighbour(wider, tuple(broken)))
    return tuple(neighbours)
