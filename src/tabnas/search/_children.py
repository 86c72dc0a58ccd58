"""Which children the weight updates train (x of Algorithm 1)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from tabnas.errors import TabnasError
from tabnas.feasible import FeasibleSet
from tabnas.policy import Policy
from tabnas.space import Budget, relax
from tabnas.types import IntArray

By = Literal["policy", "uniform"]


class Children(ABC):
    """A rule for drawing the children to train. `progress` runs from 0 to 1 over the search."""

    name: ClassVar[str]

    def __init__(self, feasible: FeasibleSet) -> None:
        self.feasible = feasible

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
        self, feasible: FeasibleSet, *, warmup: float = 0.25, skip_infeasible: bool = False
    ) -> None:
        super().__init__(feasible)
        self.warmup = warmup
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

    def __init__(self, feasible: FeasibleSet, *, by: By = "uniform") -> None:
        super().__init__(feasible)
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
        start: float = 4.0,
        until: float = 0.5,
        by: By = "uniform",
        levels: int = 12,
    ) -> None:
        super().__init__(feasible)
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
        self, feasible: FeasibleSet, *, others: Sequence[FeasibleSet] = (), **options: Any
    ) -> None:
        super().__init__(feasible)
        self._rules = [TighteningChildren(allowed, **options) for allowed in (feasible, *others)]

    def draw(self, progress: float, policy: Policy, n: int, rng: np.random.Generator) -> IntArray:
        turns = rng.integers(len(self._rules), size=n)
        drawn = np.empty((n, len(self.feasible.space.candidates)), np.int64)
        for k, rule in enumerate(self._rules):
            mine = turns == k
            if mine.any():
                drawn[mine] = rule.draw(progress, policy, int(mine.sum()), rng)
        return drawn


class _Members:
    """Draws from a set, by the policy or uniformly; what the latter needs is worked out once."""

    def __init__(self, allowed: FeasibleSet, by: By) -> None:
        if by not in ("policy", "uniform"):
            raise TabnasError(f"by must be 'policy' or 'uniform', however {by!r} was given")
        self._allowed = allowed
        self._uniform = allowed.given() if by == "uniform" else None

    def draw(self, policy: Policy, n: int, rng: np.random.Generator) -> IntArray:
        drawn_from = self._uniform or self._allowed.conditional(policy.log_p)
        return drawn_from.sample(n, rng)


def _relaxed(feasible: FeasibleSet, kappa: float) -> FeasibleSet:
    return FeasibleSet(feasible.space, relax(feasible.budget, feasible.space, kappa))


CHILDREN: dict[str, Callable[..., Children]] = {
    rule.name: rule
    for rule in (PaperChildren, FeasibleChildren, TighteningChildren, SeveralChildren)
}
"""Every rule by name: called with the feasible set and the rule's own options."""
