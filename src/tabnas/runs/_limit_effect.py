"""What the limit costs: the best architecture within half of it, all of it, and twice."""

from __future__ import annotations

from dataclasses import dataclass

from tabnas.errors import InfeasibleError
from tabnas.feasible import FeasibleSet
from tabnas.search import Search, additive_qualities, candidate_pool, one_shot_losses
from tabnas.space import Architecture, Budget, Limit

FACTORS = (0.5, 1.0, 2.0)
POOL = 32


@dataclass(frozen=True)
class LimitEffect:
    """The best found at a multiple of the limit, by one-shot estimate."""

    factor: float
    architecture: Architecture
    one_shot_loss: float


def limit_effects(search: Search) -> list[LimitEffect]:
    """One-shot estimates at half the limit, the limit, and twice; without those nobody can meet.

    From what the search has seen, and the SuperNet's weights: estimates for an outlook, not
    results. Nothing over the limit is trained further or returned by the run. What fits
    into a tighter limit fits into a looser one, so the loss never rises with the limit.
    """
    space = search.feasible.space
    worths = additive_qualities(space, search.history)
    budgets = {factor: _times(search.feasible.budget, factor) for factor in FACTORS}
    pool = candidate_pool(search)
    for budget in budgets.values():
        try:
            pool += FeasibleSet(space, budget).most_likely(POOL, worths)
        except InfeasibleError:
            continue
    pool = list(dict.fromkeys(pool))
    losses = dict(zip(pool, one_shot_losses(search, pool), strict=True))
    effects = []
    for factor, budget in budgets.items():
        within = [one for one in pool if budget.admits(space, one)]
        if within:
            best = min(within, key=losses.__getitem__)
            effects.append(LimitEffect(factor, best, float(losses[best])))
    return effects


def _times(budget: Budget, factor: float) -> Budget:
    return Budget(*(Limit(limit.cost, factor * limit.at_most) for limit in budget.limits))
