"""Which architectures are worth a training of their own."""

from __future__ import annotations

from tabnas.errors import InfeasibleError
from tabnas.feasible import FeasibleSet
from tabnas.runs.plan._plan import Plan
from tabnas.search import PolicySearch, select, select_best_within
from tabnas.space import Architecture, relax

LINEAR = Architecture(())
SIMPLER = (1 / 2, 1 / 8)
"""Shares of the limit's room within which small tables try simpler networks, too."""


def proposals(search: PolicySearch, plan: Plan, feasible: FeasibleSet) -> list[Architecture]:
    """The search's own candidates; on small tables, unless told, some simpler networks as well.

    `feasible` is the set that was searched, or a tighter one.

    With few rows a network far below the limit often generalises better, which one-shot losses on
    few validation rows cannot tell. Trainings are short there, and cross-validation decides.
    """
    chosen = select(search, plan.candidates, within=feasible)
    if not plan.simpler:
        return chosen
    budget, space = feasible.budget, feasible.space
    for share in SIMPLER:
        try:
            within = FeasibleSet(space, relax(budget, space, share))
        except InfeasibleError:
            continue
        chosen.append(select_best_within(search, within)[0])
    if LINEAR in feasible:
        chosen.append(LINEAR)
    return list(dict.fromkeys(chosen))
