"""Which limit binds: the limits that forbid each network one step larger."""

from __future__ import annotations

from tabnas.results import WiderNeighbour
from tabnas.space import ABSENT, Architecture, Budget, SearchSpace


def list_wider_neighbours(
    space: SearchSpace, architecture: Architecture, budget: Budget
) -> tuple[WiderNeighbour, ...]:
    """Return the architectures that are one step wider in one layer, from input to output.

    A step leads to the next candidate of the layer.

    >>> space = SearchSpace([(8, 16), (0, 8)], inputs=4, outputs=1)
    >>> neighbours = list_wider_neighbours(space, Architecture((9,)), Budget(flops=200))
    >>> [neighbour.architecture for neighbour in neighbours]
    [Architecture('16'), Architecture('9-8')]
    """
    inputs = (architecture.dimension,) * space.first_hidden
    present = (*inputs, *architecture.widths, ABSENT)  # one more layer
    neighbours = []
    for layer, (size, candidates) in enumerate(zip(present, space.layers, strict=False)):
        larger = next((candidate for candidate in candidates if candidate > size), None)
        if larger is None:
            continue
        sizes = (*present[:layer], larger, *present[layer + 1 : -1])
        wider = Architecture(sizes[space.first_hidden :], sizes[0] if inputs else 0)
        broken = [m.cost.name for m in budget.limits if m.cost(space, wider) > m.upper]
        neighbours.append(WiderNeighbour(wider, tuple(broken)))
    return tuple(neighbours)
