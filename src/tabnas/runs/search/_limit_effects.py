"""What the limit costs: the best architecture within half of it, all of it, and twice."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite

from tabnas.errors import InfeasibleError
from tabnas.feasible import FeasibleSet
from tabnas.results import LimitEffect
from tabnas.search import PolicySearch, select_best_within
from tabnas.space import MAX_LIMIT, Budget, Limit

FACTORS = (0.5, 1.0, 2.0)


def estimate_limit_effects(search: PolicySearch) -> list[LimitEffect]:
    """Return one-shot estimates at half the limit, the limit and twice; skip infeasible ones.

    They come from the evaluations of the search and the SuperNet's weights, and are an outlook, not
    results: no architecture over the limit is trained further or returned by the run. What fits
    a tighter limit fits a looser one, so the loss never rises with the limit.
    """
    space = search.feasible.space
    effects: list[LimitEffect] = []
    for factor in FACTORS:
        try:
            within = FeasibleSet(space, _multiply_limits(search.feasible.budget, factor))
        except InfeasibleError:
            continue
        effect = LimitEffect(factor, *select_best_within(search, within))
        if not isfinite(effect.one_shot_loss):
            continue
        best = min([*effects[-1:], effect], key=lambda effect: effect.one_shot_loss)
        effects.append(replace(best, factor=factor))
    return effects


def _multiply_limits(budget: Budget, factor: float) -> Budget:
    """Return the budget with limits that are `factor` times as large.

    The fixed part of a cost is multiplied, too, unlike by `scale_limits`: a reader of the report
    takes half the limit for half of the number.
    """
    return Budget(
        *(Limit(limit.cost, min(factor * limit.upper, MAX_LIMIT)) for limit in budget.limits)
    )
