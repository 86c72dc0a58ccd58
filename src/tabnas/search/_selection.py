"""The selection of candidates after a search: Algorithm 3, and better rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from tabnas.errors import TabNASError, check_int, did_you_mean
from tabnas.feasible import FeasibleSet
from tabnas.search._additive_model import fit_additive_model
from tabnas.search._policy_search import PolicySearch
from tabnas.space import COSTS, Architecture
from tabnas.streams import stream
from tabnas.types import FloatArray

N_SAMPLES = 500  # m of Algorithm 3
POOL_SIZE = 32
"""Candidates from the policy and from the additive model; twice as many are sampled."""
POOL_SIZE_PER_DIMENSION = 8
"""Candidates of each dimension of numeric embeddings, from the policy and the additive model."""
MAX_VALIDATION_ROWS = 2_048
"""Validation rows on which a pool is compared: beyond, the error of shared weights dominates."""
MIN_COST_RATIO = 0.85
"""Architectures of at least this cost ratio use the tightest limit up."""


def select_largest(search: PolicySearch, n: int, within: FeasibleSet) -> list[Architecture]:
    """Select by Algorithm 3: of 500 samples of the final policy, the n most expensive ones.

    NOTE[DIFF]: samples are from P(. | V) where that is exact, so all 500 are feasible, and the cost
    is that of the first limit, not always the number of parameters.
    """
    policy = search.controller.policy
    sampled = within.sample(N_SAMPLES, policy.log_p, rng=stream(search.settings.seed, "selection"))
    limits = within.budget.limits
    cost = limits[0].cost if limits else COSTS["parameters"]
    unique = dict.fromkeys(sampled)
    return sorted(unique, key=lambda one: -cost(within.space, one))[:n]


def select_most_likely(search: PolicySearch, n: int, within: FeasibleSet) -> list[Architecture]:
    """Select the n feasible architectures that are most likely under the final policy."""
    return within.most_likely(n, search.controller.policy.log_p)


def select_additive(search: PolicySearch, n: int, within: FeasibleSet) -> list[Architecture]:
    """Select the n best of V by an additive model of the qualities, maximized exactly."""
    coefficients = fit_additive_model(search.feasible.space, search.history)
    return within.most_likely(n, coefficients)


def select_one_shot(search: PolicySearch, n: int, within: FeasibleSet) -> list[Architecture]:
    """Select the n of lowest one-shot loss by the rules of `select_by_loss`."""
    pool = build_candidate_pool(search, within)
    return select_by_loss(pool, compute_one_shot_losses(search, pool), n, within)


def select_by_loss(
    pool: Sequence[Architecture],
    losses: FloatArray,
    n: int,
    within: FeasibleSet,
    *,
    by_dimension: bool = True,
) -> list[Architecture]:
    """Select the n of lowest loss, two of every three only among those that use the limit up.

    Wide layers get fewer updates than the first units, which all children share. So large networks
    are better than their one-shot loss, but not always; therefore every third candidate may have
    any cost. Those that use the limit up come first, since the lowest loss of all is a worse guess
    than the lowest among them. A smaller n selects the first ones of a larger n.

    One-shot losses often compare networks with and without numeric embeddings wrongly
    (results/dimension_ranking.md). So with `by_dimension`, candidates with and without embeddings
    alternate, and those with embeddings have the dimensions that were selected least often.
    """
    ratios = within.cost_ratio(np.array([within.space.choices(one) for one in pool]))
    ranked = [int(index) for index in np.argsort(losses, kind="stable")]
    chosen: list[int] = []
    while ranked and len(chosen) < n:
        may_waste_limit = len(chosen) % 3 == 2
        dimensions = Counter(pool[index].dimension for index in chosen)
        embedded = Counter(bool(pool[index].dimension) for index in chosen)
        keys = [
            (
                by_dimension and embedded[bool(pool[index].dimension)],
                by_dimension and dimensions[pool[index].dimension],
                bool(ratios[index] < MIN_COST_RATIO) and not may_waste_limit,
            )
            for index in ranked
        ]
        chosen.append(ranked.pop(keys.index(min(keys))))
    return [pool[index] for index in chosen]


def build_candidate_pool(
    search: PolicySearch, within: FeasibleSet | None = None
) -> list[Architecture]:
    """Return distinct candidates: the best of policy and additive model, and policy samples.

    With numeric embeddings, the best of each dimension are among them, too.
    """
    within = within or search.feasible
    sampled = within.sample(
        2 * POOL_SIZE, search.controller.policy.log_p, rng=stream(search.settings.seed, "pool")
    )
    best = [rule(search, POOL_SIZE, within) for rule in (select_most_likely, select_additive)]
    pool = [*best[0], *best[1], *sampled]
    if within.space.numeric_embeddings is not None:
        coefficients = fit_additive_model(search.feasible.space, search.history)
        for logits in (search.controller.policy.log_p, coefficients):
            pool += _most_likely_of_each_dimension(within, logits)
    return list(dict.fromkeys(pool))


def _most_likely_of_each_dimension(within: FeasibleSet, logits: FloatArray) -> list[Architecture]:
    found = []
    for dimension in range(len(within.space.layers[0])):
        only = logits.copy()
        only[0] = np.where(np.arange(only.shape[1]) == dimension, 0.0, -np.inf)
        if within.log_probability(only) > -np.inf:
            found += within.most_likely(POOL_SIZE_PER_DIMENSION, only)
    return found


def select_best_within(search: PolicySearch, allowed: FeasibleSet) -> tuple[Architecture, float]:
    """Return the architecture of lowest one-shot loss in another set of the space, and the loss."""
    coefficients = fit_additive_model(search.feasible.space, search.history)
    pool = [one for one in build_candidate_pool(search) if one in allowed]
    pool = list(dict.fromkeys([*pool, *allowed.most_likely(POOL_SIZE, coefficients)]))
    losses = compute_one_shot_losses(search, pool)
    best = int(losses.argmin())
    return pool[best], float(losses[best])


def compute_one_shot_losses(
    search: PolicySearch, architectures: Sequence[Architecture]
) -> FloatArray:
    """Return the loss of each with the weights of the SuperNet, all on the same validation rows.

    A loss that is not finite becomes infinite, so that it is never the lowest.
    """
    rows: slice | np.ndarray = slice(None)
    total = len(search.validation)
    if total > MAX_VALIDATION_ROWS:
        chooser = stream(search.settings.seed, "judged rows")
        rows = np.sort(chooser.choice(total, MAX_VALIDATION_ROWS, replace=False))
    losses = np.array(search.net.losses(architectures, search.validation, rows))
    return np.where(np.isfinite(losses), losses, np.inf)


SELECTIONS: dict[str, Callable[[PolicySearch, int, FeasibleSet], list[Architecture]]] = {
    "largest": select_largest,
    "most_likely": select_most_likely,
    "additive": select_additive,
    "one_shot": select_one_shot,
}
"""Every selection rule by name."""


def select(
    search: PolicySearch, n: int, *, by: str = "one_shot", within: FeasibleSet | None = None
) -> list[Architecture]:
    """Select at most n distinct feasible architectures, best first, by one of the `SELECTIONS`.

    `within` is another feasible set of the same space, tighter than that of the search.
    """
    if by not in SELECTIONS:
        raise TabNASError(f"there is no selection {by!r}; {did_you_mean(by, SELECTIONS)}")
    return SELECTIONS[by](search, check_int("n", n, minimum=1), within or search.feasible)
