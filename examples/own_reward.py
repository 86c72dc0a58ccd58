"""A custom reward: rejection with a price for cost.

The paper's rewards depend on the cost only near or over the limit. This one also has a price for
the cost within the limit: r(y) = Q(y) - price * T(y) / T0, learned from feasible networks only.
"""

import numpy as np

from tabnas import Budget, FeasibleSet, SearchSpace
from tabnas.policy import Adam, Controller, Rejection
from tabnas.testing import check_reward


class Thrifty(Rejection):
    """Rejection, minus a price for the share of the limit that is used."""

    name = "thrifty"

    def __init__(self, feasible: FeasibleSet, *, price: float) -> None:
        super().__init__(feasible)
        self.price = price

    def value(self, quality: np.ndarray, choices: np.ndarray) -> np.ndarray:
        return quality - self.price * self.feasible.cost_ratio(choices)


# Checks shapes, reproducibility, an unbiased gradient, and learning.
check_reward(lambda feasible: Thrifty(feasible, price=0.1))
print("check_reward: kept\n")

WIDTHS = np.arange(8, 136, 8)
space = SearchSpace.uniform(layers=2, widths=WIDTHS.tolist(), inputs=20, outputs=2)
feasible = FeasibleSet(space, Budget(parameters=10_000))


def quality(choices: np.ndarray) -> np.ndarray:
    """Return a synthetic quality: more units help, with diminishing returns."""
    return 1 - 1 / (1 + WIDTHS[choices] / 16).prod(axis=-1)


for price in (0.0, 0.05, 0.2):
    controller = Controller(
        Thrifty(feasible, price=price),
        Adam(learning_rate=0.05),
        rng=0,
        workers=8,
        baseline="others",
    )
    for _ in range(400):
        choices = controller.suggest()
        controller.update(choices, quality(choices))
    best = controller.policy.most_likely()[0]
    used = feasible.budget.costs(space, best)["parameters"]
    print(f"price {price:4}: {best!s:8} uses {used / 10_000:5.1%} of the limit")
