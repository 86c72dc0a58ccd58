"""A custom cost: the energy per row on a chip, where weights that exceed the cache are expensive.

A cost that is a sum over the layers, or the largest layer, is a `ChainCost`; the set of networks
within a limit on it is exact. Any other cost is a function of the architecture.
"""

from tabnas import Architecture, Budget, FeasibleSet, Limit, SearchSpace
from tabnas.space import ChainCost
from tabnas.testing import check_cost

MULTIPLY_PJ, CACHED_PJ, FETCHED_PJ = 0.9, 1.2, 160.0  # picojoules, from a data sheet
CACHE = 2_048  # weights of a layer that stay in the cache


class Energy(ChainCost):
    """Nanojoules per row: each weight is multiplied once, and read from cache or memory."""

    name = "energy_nj"

    def layer(self, fan_in: int, width: int) -> float:
        weights = fan_in * width
        cached = min(weights, CACHE)
        read = CACHED_PJ * cached + FETCHED_PJ * (weights - cached)
        return (MULTIPLY_PJ * weights + read) / 1_000

    def head(self, fan_in: int, outputs: int) -> float:
        return self.layer(fan_in, outputs)


def widest(architecture: Architecture) -> int:
    """Return a cost that is not declared layer by layer; a space of this size is enumerated."""
    return max(architecture.widths)


check_cost(Energy())
print("check_cost: kept\n")

space = SearchSpace.uniform(layers=3, widths=range(8, 136, 8), inputs=40, outputs=3)
by_size = FeasibleSet(space, Budget(parameters=8_000))
by_energy = FeasibleSet(space, Budget(Limit(Energy(), 15)))
both = FeasibleSet(space, Budget(Limit(Energy(), 15), Limit(widest, 40)))
for feasible in (by_size, by_energy, both):
    print(feasible)

print("\nthe largest network of each limit, and what it costs:")
for feasible in (by_size, by_energy, both):
    largest = feasible.most_expensive("parameters")
    costs = Budget(Limit(Energy(), 0), parameters=0).costs(space, largest)
    print(f"  {largest!s:9} {costs['parameters']:6,} parameters {costs['energy_nj']:7.1f} nJ")
