"""From a finished search to candidates: Algorithm 3, and better ways to choose them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tabnas.errors import TabnasError, did_you_mean, whole
from tabnas.feasible import FeasibleSet
from tabnas.search._additive import additive_qualities
from tabnas.search._policy_search import PolicySearch
from tabnas.space import COSTS, Architecture
from tabnas.streams import stream
from tabnas.types import FloatArray

DRAWS = 500  # m of Algorithm 3
POOL = 32
"""What the policy and the additive model may each name; twice as many are drawn."""
JUDGED_ROWS = 2_048
"""Validation rows on which a pool is compared: beyond that, sharing weights errs more."""
NEAR = 0.85
"""The share of the tightest limit from which on an architecture makes use of it."""


def select_largest(search: PolicySearch, n: int, within: FeasibleSet) -> list[Architecture]:
    """Algorithm 3: of 500 draws from the final policy, the n different ones that cost most.

    NOTE[DIFF]: draws are from P(. | V) where that is exact, so all 500 are feasible, and "cost" is
    the first limited one, not always the number of parameters.
    """
    policy = search.controller.policy
    drawn = within.sample(DRAWS, policy.log_p, rng=stream(search.settings.seed, "selection"))
    limits = within.budget.limits
    cost = limits[0].cost if limits else COSTS["parameters"]
    unique = dict.fromkeys(drawn)
    return sorted(unique, key=lambda one: -cost(within.space, one))[:n]


def select_most_likely(search: PolicySearch, n: int, within: FeasibleSet) -> list[Architecture]:
    """The n feasible architectures that the final policy likes best."""
    return within.most_likely(n, search.controller.policy.log_p)


def select_additive(search: PolicySearch, n: int, within: FeasibleSet) -> list[Architecture]:
    """The n best of V by an additive model of the qualities seen, maximised exactly."""
    worths = additive_qualities(search.feasible.space, search.history)
    return within.most_likely(n, worths)


def select_one_shot(search: PolicySearch, n: int, within: FeasibleSet) -> list[Architecture]:
    """The n of lowest one-shot loss, two thirds of them among those that use the limit up."""
    pool = candidate_pool(search, within)
    return choose_by_loss(pool, one_shot_losses(search, pool), n, within)


def choose_by_loss(
    pool: Sequence[Architecture], losses: FloatArray, n: int, within: FeasibleSet
) -> list[Architecture]:
    """By loss, but for two places of every three only what uses the limit up is considered.

    Wide layers get fewer updates than the first units that all children share, so large networks
    are better than they look; but not always, and so every third place is free. Those that use the
    limit come first, since the lowest loss of all is a worse guess than the lowest among them. To
    ask for fewer gives the beginning of what would have been given.
    """
    loads = within.load(np.array([within.space.choices(one) for one in pool]))
    ranked = [int(place) for place in np.argsort(losses, kind="stable")]
    chosen: list[int] = []
    while ranked and len(chosen) < n:
        using = [place for place in ranked if loads[place] >= NEAR]
        free = len(chosen) % 3 == 2 or not using
        chosen.append(ranked[0] if free else using[0])
        ranked.remove(chosen[-1])
    return [pool[place] for place in chosen]


def candidate_pool(search: PolicySearch, within: FeasibleSet | None = None) -> list[Architecture]:
    """What the policy and the additive model like best, and draws from the policy, each once."""
    within = within or search.feasible
    drawn = within.sample(
        2 * POOL, search.controller.policy.log_p, rng=stream(search.settings.seed, "pool")
    )
    liked = [rule(search, POOL, within) for rule in (select_most_likely, select_additive)]
    return list(dict.fromkeys([*liked[0], *liked[1], *drawn]))


def best_within(search: PolicySearch, allowed: FeasibleSet) -> tuple[Architecture, float]:
    """The architecture of lowest one-shot loss, and that loss, in another set of the same space."""
    worths = additive_qualities(search.feasible.space, search.history)
    pool = [one for one in candidate_pool(search) if one in allowed]
    pool = list(dict.fromkeys([*pool, *allowed.most_likely(POOL, worths)]))
    losses = one_shot_losses(search, pool)
    best = int(losses.argmin())
    return pool[best], float(losses[best])


def one_shot_losses(search: PolicySearch, architectures: Sequence[Architecture]) -> FloatArray:
    """The loss of each with the SuperNet's weights, all on the same validation rows.

    What is not finite is infinite, so that it is never the lowest.
    """
    rows: slice | np.ndarray = slice(None)
    total = len(search.validation)
    if total > JUDGED_ROWS:
        chooser = stream(search.settings.seed, "judged rows")
        rows = np.sort(chooser.choice(total, JUDGED_ROWS, replace=False))
    losses = np.array(search.net.losses(architectures, search.validation, rows))
    return np.where(np.isfinite(losses), losses, np.inf)


SELECTIONS: dict[str, Callable[[PolicySearch, int, FeasibleSet], list[Architecture]]] = {
    "largest": select_largest,
    "most_likely": select_most_likely,
    "additive": select_additive,
    "one_shot": select_one_shot,
}
"""Every rule by name."""


def select(
    search: PolicySearch, n: int, *, by: str = "one_shot", within: FeasibleSet | None = None
) -> list[Architecture]:
    """At most n different feasible architectures, best first, by one of the `SELECTIONS`.

    `within` is another set of the same space, tighter than the one that was searched.
    """
    if by not in SELECTIONS:
        raise TabnasError(f"there is no selection {by!r}; {did_you_mean(by, SELECTIONS)}")
    return SELECTIONS[by](search, whole("n", n, least=1), within or search.feasible)
