"""What the limit costs: the best architecture within half of it, all of it, and twice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite

from tabnas.errors import InfeasibleError
from tabnas.feasible import FeasibleSet
from tabnas.search import PolicySearch, select_best_within
from tabnas.space import Architecture, Budget, Limit

FACTORS = (0.5, 1.0, 2.0)


@dataclass(frozen=True)
class LimitEffect:
    """The best found at a multiple of the limit, by one-shot estimate."""

    factor: float
    architecture: Architecture
    one_shot_loss: float


def limit_effects(search: PolicySearch) -> list[LimitEffect]:
    """One-shot estimates at half the limit, the limit, and twice; without those nobody can meet.

    From what the search has seen, and the SuperNet's weights: estimates for an outlook, not
    results. Nothing over the limit is trained further or returned by the run. What fits
    into a tighter limit fits into a looser one, so the loss never rises with the limit.
    """
    space = search.feasible.space
    effects: list[LimitEffect] = []
    for factor in FACTORS:
        try:
            within = FeasibleSet(space, _times(search.feasible.budget, factor))
        except InfeasibleError:
            continue
        found = LimitEffect(factor, *select_best_within(search, within))
        if not isfinite(found.one_shot_loss):
            continue
        effects.append(min([*effects[-1:], found], key=lambda effect: effect.one_shot_loss))
        effects[-1] = replace(effects[-1], factor=factor)
    return effects


def _times(budget: Budget, factor: float) -> Budget:
    return Budget(*(Limit(limit.cost, factor * limit.upper) for limit in budget.limits))
