"""The selection of candidates: architectures that are worth a stand-alone training."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tabnas.errors import InfeasibleError
from tabnas.feasible import FeasibleSet
from tabnas.runs.plan._plan import Plan
from tabnas.search import MIN_COST_RATIO, PolicySearch, select, select_best_within
from tabnas.space import Architecture, find_widest_equal, scale_limits, widen_to_limits

LINEAR = Architecture(())
EQUAL_LAYERS = 2
SIMPLER_SHARES = (1 / 2, 1 / 8)
"""On small tables, the best networks within these shares of the limits are candidates, too."""


def select_candidates(
    search: PolicySearch, plan: Plan, feasible: FeasibleSet
) -> list[Architecture]:
    """Return the candidates of a search within `feasible`, the searched set or a tighter one.

    The first are the best of the search, widened until they use up the limits, unless the user has
    set the widths. If the user has not set the number of candidates, some are added: networks of
    equally wide layers, with and without numeric embeddings, unless the user has set the widths,
    and simpler ones on small tables. If there are several precisions to choose from, each has a
    candidate.
    """
    best = [_widen(one, plan, feasible) for one in select(search, plan.candidates, within=feasible)]
    candidates = [*best, *list_equal_networks(plan, feasible)]
    candidates += _select_in_other_precisions(search, plan, feasible, candidates)
    if plan.try_simpler:
        candidates += _select_simpler(search, feasible)
    return list(dict.fromkeys(candidates))


def _widen(architecture: Architecture, plan: Plan, feasible: FeasibleSet) -> Architecture:
    """Widen a network that uses most of the limits; a small one was selected since it is small.

    The widths of a space are a fifth apart, so its networks leave some of the limit unused.
    """
    space = feasible.space
    ratio = feasible.cost_ratio(np.array(space.choices(architecture)))
    if not plan.free_widths or ratio < MIN_COST_RATIO:
        return architecture
    return widen_to_limits(architecture, space, feasible.budget)


def list_equal_networks(plan: Plan, feasible: FeasibleSet) -> Iterable[Architecture]:
    """Return networks of equally wide layers that use up the limits, one for some dimensions each.

    One-shot losses cannot tell which dimension is best, and networks of equal layers are about as
    good as those of the search (results/equal_bytes.md). If limits allow the widest network of the
    space, it is not tried: nothing says that it should be that wide.
    """
    space = feasible.space
    budget = scale_limits(feasible.budget, space, plan.limit_share)
    if space.depth < EQUAL_LAYERS:
        return
    max_width = min(layer[-1] for layer in space.widths[:EQUAL_LAYERS])
    for dimension in plan.equal_dimensions:
        equal = find_widest_equal(space, budget, layers=EQUAL_LAYERS, dimension=dimension)
        if equal is not None and equal.widths[0] < max_width:
            yield equal


def _select_in_other_precisions(
    search: PolicySearch, plan: Plan, feasible: FeasibleSet, candidates: list[Architecture]
) -> Iterable[Architecture]:
    """Return a candidate for each precision in which no other candidate fits."""
    space = feasible.space
    for precision in plan.precisions[1:]:
        budget = feasible.budget.at_precision(precision)
        if any(budget.admits(space, candidate) for candidate in candidates):
            continue
        try:
            within = FeasibleSet(space, budget)
        except InfeasibleError:
            continue
        yield _widen(select_best_within(search, within)[0], plan, within)


def _select_simpler(search: PolicySearch, feasible: FeasibleSet) -> Iterable[Architecture]:
    """Return networks far below the limits, and the linear one.

    With few rows they often generalise better, which one-shot losses on few validation rows cannot
    show. Trainings are short there, and cross-validation decides.
    """
    for share in SIMPLER_SHARES:
        limits = scale_limits(feasible.budget, feasible.space, share)
        try:
            within = FeasibleSet(feasible.space, limits)
        except InfeasibleError:
            continue
        yield select_best_within(search, within)[0]
    if LINEAR in feasible:
        yield LINEAR
