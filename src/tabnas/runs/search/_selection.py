"""The selection of candidates: architectures that are worth a stand-alone training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tabnas.errors import InfeasibleError
from tabnas.feasible import FeasibleSet
from tabnas.runs.plan._equal_networks import list_equal_networks
from tabnas.runs.plan._plan import Plan
from tabnas.search import MIN_COST_RATIO, PolicySearch, select, select_best_within
from tabnas.space import Architecture, scale_limits, widen_to_limits

LINEAR = Architecture(())
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
    # twice as many, since two networks may become the same when they are widened
    selected = select(search, 2 * plan.candidates, within=feasible)
    best = dict.fromkeys(_widen(one, plan, feasible) for one in selected)
    candidates = list(best)[: plan.candidates]
    candidates += list_equal_networks(feasible, plan.limit_share, plan.equal_dimensions)
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
    budget = scale_limits(feasible.budget, space, plan.limit_share)
    return widen_to_limits(architecture, space, budget)


def _select_in_other_precisions(
    search: PolicySearch, plan: Plan, feasible: FeasibleSet, candidates: Sequence[Architecture]
) -> list[Architecture]:
    """Return a candidate for each precision in which no other candidate fits."""
    space, selected = feasible.space, []
    for precision in plan.precisions[1:]:
        budget = feasible.budget.at_precision(precision)
        if any(budget.admits(space, candidate) for candidate in candidates):
            continue
        try:
            within = FeasibleSet(space, budget)
        except InfeasibleError:
            continue
        selected.append(_widen(select_best_within(search, within)[0], plan, within))
    return selected


def _select_simpler(search: PolicySearch, feasible: FeasibleSet) -> list[Architecture]:
    """Return networks far below the limits, and the linear one.

    With few rows they often generalise better, which one-shot losses on few validation rows cannot
    show. Trainings are short there, and cross-validation decides.
    """
    selected = []
    for share in SIMPLER_SHARES:
        limits = scale_limits(feasible.budget, feasible.space, share)
        try:
            within = FeasibleSet(feasible.space, limits)
        except InfeasibleError:
            continue
        selected.append(select_best_within(search, within)[0])
    return [*selected, LINEAR] if LINEAR in feasible else selected
