"""A strategy for a custom objective, without a neural network.

A search space is a sequence of choices. Here the layers are the stations of a workshop, the widths
are numbers of machines, and the limit is money. A workshop is evaluated by a simulation, which is
noisy and, in practice, slow: there are only 60 evaluations.
"""

import numpy as np

from tabnas import Architecture, Budget, FeasibleSet, Limit, SearchSpace
from tabnas.strategies import STRATEGIES, optimize

STATIONS = ("saw", "drill", "paint", "pack")
PRICES = (9, 6, 14, 3)  # thousands, of one machine
MINUTES = (6.0, 4.0, 11.0, 3.0)  # of work on one piece, on average

space = SearchSpace([range(1, 9)] * len(STATIONS), inputs=1, outputs=1)


def money(workshop: Architecture) -> int:
    """Return the cost of the machines, in thousands."""
    return sum(price * number for price, number in zip(PRICES, workshop, strict=True))


def hours(workshop: Architecture, rng: np.random.Generator, pieces: int = 200) -> float:
    """Simulate the hours until all pieces have passed all stations, in order."""
    ready = np.zeros(pieces)
    for machines, minutes in zip(workshop, MINUTES, strict=True):
        free = np.zeros(machines)
        for piece in range(pieces):
            machine = free.argmin()
            free[machine] = max(free[machine], ready[piece]) + rng.exponential(minutes)
            ready[piece] = free[machine]
    return ready.max() / 60


feasible = FeasibleSet(space, Budget(Limit(money, 120)))
print(f"{feasible.count():,} of {space.size:,} workshops cost at most 120\n")

rng = np.random.default_rng(0)
for name in ("random", "evolution", "guided"):
    strategy = STRATEGIES[name](feasible, rng=0)
    optimize(
        strategy, lambda choices: [-hours(space.architecture(row), rng) for row in choices], 60
    )
    best = strategy.recommend()[0]
    mean_hours = np.mean([hours(best, np.random.default_rng(seed)) for seed in range(30)])
    machines = ", ".join(f"{n} {station}" for n, station in zip(best, STATIONS, strict=True))
    print(f"{name:9} {mean_hours:.2f} hours for {money(best)}: {machines}")
