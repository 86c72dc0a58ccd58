"""The selection of candidates: architectures that are worth a stand-alone training."""

from __future__ import annotations

from contextlib import suppress

from tabnas.errors import InfeasibleError
from tabnas.feasible import FeasibleSet
from tabnas.runs.plan._plan import Plan
from tabnas.search import PolicySearch, select, select_best_within
from tabnas.space import Architecture, scale_limits

LINEAR = Architecture(())
SIMPLER_SHARES = (1 / 2, 1 / 8)
"""On small tables, the best networks within these shares of the limits are candidates, too."""


def select_candidates(
    search: PolicySearch, plan: Plan, feasible: FeasibleSet
) -> list[Architecture]:
    """Return the candidates of a search within `feasible`, the searched set or a tighter one.

    If there are several precisions to choose from, each has at least one candidate.

    On small tables some simpler networks are added, unless the user has set the number of
    candidates. With few rows a network far below the limit often generalises better, which one-shot
    losses on few validation rows cannot show. Trainings are short there, and cross-validation
    decides.
    """
    candidates = select(search, plan.candidates, within=feasible)
    budget, space = feasible.budget, feasible.space
    for precision in plan.precisions[1:]:
        within_precision = budget.at_precision(precision)
        if any(within_precision.admits(space, candidate) for candidate in candidates):
            continue
        with suppress(InfeasibleError):
            within = FeasibleSet(space, within_precision)
            candidates.append(select_best_within(search, within)[0])
    if not plan.try_simpler:
        return candidates
    for share in SIMPLER_SHARES:
        try:
            within = FeasibleSet(space, scale_limits(budget, space, share))
        except InfeasibleError:
            continue
        candidates.append(select_best_within(search, within)[0])
    if LINEAR in feasible:
        candidates.append(LINEAR)
    return list(dict.fromkeys(candidates))
