"""Which children the weight updates train (x of Algorithm 1)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from tabnas.errors import TabnasError
from tabnas.feasible import Conditional, FeasibleSet
from tabnas.policy import Policy
from tabnas.space import ABSENT, Budget, relax
from tabnas.types import IntArray

By = Literal["policy", "uniform", "depth"]
"""How children are drawn from a set: see `_Members`."""


class Children(ABC):
    """A rule for drawing the children to train. `progress` runs from 0 to 1 over the search.

    `warmup` is that of the `SearchSettings`, from which every rule gets it.
    """

    name: ClassVar[str]

    def __init__(self, feasible: FeasibleSet, *, warmup: float) -> None:
        self.feasible = feasible
        self.warmup = warmup

    @abstractmethod
    def draw(self, progress: float, policy: Policy, n: int, rng: np.random.Generator) -> IntArray:
        """The choices of n children, [n, layers]."""


class PaperChildren(Children):
    """The paper's: the whole SuperNet at first, ever less often, then what the policy draws.

    Over the warm-up the whole is trained with a probability that falls from 1 to 0, else a child of
    the policy, which is uniform then. With `skip_infeasible` an infeasible child is not trained but
    drawn again, from the policy given V; the paper's ablation finds that harmful.
    """

    name = "paper"

    def __init__(
        self, feasible: FeasibleSet, *, warmup: float, skip_infeasible: bool = False
    ) -> None:
        super().__init__(feasible, warmup=warmup)
        self.skip_infeasible = skip_infeasible
        everything = FeasibleSet(feasible.space, Budget())
        self._drawn_from = feasible if skip_infeasible else everything
        self._whole = np.array([len(layer) - 1 for layer in feasible.space.candidates])

    def draw(self, progress: float, policy: Policy, n: int, rng: np.random.Generator) -> IntArray:
        drawn = self._drawn_from.conditional(policy.log_p).sample(n, rng)
        if progress < self.warmup:
            drawn[rng.random(n) < 1 - progress / self.warmup] = self._whole
        return drawn


class FeasibleChildren(Children):
    """Feasible children only: nothing is spent on networks that can never be returned."""

    name = "feasible"

    def __init__(self, feasible: FeasibleSet, *, warmup: float, by: By = "depth") -> None:
        super().__init__(feasible, warmup=warmup)
        self._members = _Members(feasible, by)

    def draw(self, progress: float, policy: Policy, n: int, rng: np.random.Generator) -> IntArray:
        return self._members.draw(policy, n, rng)


class TighteningChildren(Children):
    """Children within kappa times the limit, kappa falling to 1.

    Wide layers are trained early, when it is cheap to learn something general, and the
    search ends on what it may return. The fall is geometric, in `levels` steps, over the first
    `until` of the search.
    """

    name = "tightening"

    def __init__(
        self,
        feasible: FeasibleSet,
        *,
        warmup: float,
        start: float = 4.0,
        until: float = 0.5,
        by: By = "depth",
        levels: int = 12,
    ) -> None:
        super().__init__(feasible, warmup=warmup)
        if start < 1:
            raise TabnasError(f"kappa must start at 1 or more, however {start} was given")
        if not 0 < until <= 1:
            raise TabnasError(f"until must be in (0, 1], however {until} was given")
        self.until = until
        relaxed = [_relaxed(feasible, kappa) for kappa in np.geomspace(start, 1, levels)[:-1]]
        self._levels = [_Members(allowed, by) for allowed in (*relaxed, feasible)]

    def draw(self, progress: float, policy: Policy, n: int, rng: np.random.Generator) -> IntArray:
        last = len(self._levels) - 1
        level = min(int(progress / self.until * last), last)
        return self._levels[level].draw(policy, n, rng)


class SeveralChildren(Children):
    """Children of several limits by turns, for one SuperNet that serves them all.

    Each is drawn as `TighteningChildren` of its limit would; the limits come in random order.
    """

    name = "several"

    def __init__(
        self,
        feasible: FeasibleSet,
        *,
        warmup: float,
        others: Sequence[FeasibleSet] = (),
        **options: Any,
    ) -> None:
        super().__init__(feasible, warmup=warmup)
        self._rules = [
            TighteningChildren(allowed, warmup=warmup, **options) for allowed in (feasible, *others)
        ]

    def draw(self, progress: float, policy: Policy, n: int, rng: np.random.Generator) -> IntArray:
        draws = [partial(rule.draw, progress, policy) for rule in self._rules]
        return _by_turns(draws, n, rng)


class _Members:
    """Draws from a set: by the policy, uniformly, or uniformly within a depth drawn first.

    Most members of a set are deep. Drawn uniformly, shallow networks are seldom trained, and their
    output layers, which they do not share with deeper ones, look worse than they are.
    """

    def __init__(self, allowed: FeasibleSet, by: By) -> None:
        if by not in get_args(By):
            raise TabnasError(
                f"by must be 'policy', 'uniform' or 'depth', however {by!r} was given"
            )
        self._allowed = allowed
        self._fixed = {"policy": [], "uniform": [allowed.given()], "depth": _by_depth(allowed)}[by]

    def draw(self, policy: Policy, n: int, rng: np.random.Generator) -> IntArray:
        parts = self._fixed or [self._allowed.conditional(policy.log_p)]
        if len(parts) == 1:
            return parts[0].sample(n, rng)
        return _by_turns([part.sample for part in parts], n, rng)


def _by_depth(allowed: FeasibleSet) -> list[Conditional]:
    """The uniform distribution over the members of each depth that has any.

    The linear model is left out: it shares nothing with the others but embeddings, and it needs no
    SuperNet to be trained.
    """
    space = allowed.space
    if not allowed.exact:  # a depth of few members could hardly be found by rejection
        return [allowed.given()]
    absent = np.zeros(space.mask.shape, bool)
    for layer, candidates in enumerate(space.candidates):
        absent[layer, : len(candidates)] = np.array(candidates) == ABSENT
    parts = []
    for depth in range(1, space.depth + 1):
        beyond = np.arange(space.depth)[:, None] >= depth
        wanted = space.mask & (absent == beyond)
        if wanted.any(axis=1).all():
            part = allowed.given(np.where(wanted, 0.0, -np.inf))
            if part.log_probability > -np.inf:
                parts.append(part)
    return parts or [allowed.given()]  # where nothing but the linear model fits


def _by_turns(
    draws: Sequence[Callable[[int, np.random.Generator], IntArray]],
    n: int,
    rng: np.random.Generator,
) -> IntArray:
    """n draws, each from one of them at random."""
    turns = rng.integers(len(draws), size=n)
    counts = np.bincount(turns, minlength=len(draws))
    drawn = np.concatenate(
        [draw(count, rng) for draw, count in zip(draws, counts.tolist(), strict=True) if count]
    )
    ordered = np.empty_like(drawn)
    ordered[np.argsort(turns, kind="stable")] = drawn
    return ordered


def _relaxed(feasible: FeasibleSet, kappa: float) -> FeasibleSet:
    return FeasibleSet(feasible.space, relax(feasible.budget, feasible.space, kappa))


CHILDREN: dict[str, Callable[..., Children]] = {
    rule.name: rule
    for rule in (PaperChildren, FeasibleChildren, TighteningChildren, SeveralChildren)
}
"""Every rule by name: called with the feasible set, `warmup` and the rule's own options."""
