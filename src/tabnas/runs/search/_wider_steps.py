"""Which limit binds: the limits that forbid each network one step larger."""

from __future__ import annotations

from tabnas.results import WiderStep
from tabnas.space import Architecture, Budget, SearchSpace


def list_wider_steps(
    space: SearchSpace, architecture: Architecture, budget: Budget
) -> tuple[WiderStep, ...]:
    """Return all single steps up from an architecture, the input layer first if there is one.

    >>> space = SearchSpace([(8, 16), (0, 8)], inputs=4, outputs=1)
    >>> steps = list_wider_steps(space, Architecture((8,)), Budget(flops=200))
    >>> [step.architecture for step in steps]
    [Architecture('16'), Architecture('8-8')]
    """
    choices = space.choices(architecture)
    steps = []
    first = len(space.layers) - space.depth  # the first hidden layer
    for layer in range(first + min(architecture.depth + 1, space.depth)):
        if choices[layer] + 1 == len(space.layers[layer]):
            continue
        up = (*choices[:layer], choices[layer] + 1, *choices[layer + 1 :])
        wider = space.architecture(up)
        broken = [m.cost.name for m in budget.limits if m.cost(space, wider) > m.upper]
        steps.append(WiderStep(wider, tuple(broken)))
    return tuple(steps)
