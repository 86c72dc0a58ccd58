"""Samplers of the children that the weight updates train (x of Algorithm 1)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from math import inf
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from tabnas.errors import TabNASError, check_int
from tabnas.feasible import ConditionalPolicy, FeasibleSet
from tabnas.policy import Policy
from tabnas.registries import by_name
from tabnas.space import ABSENT, Budget, scale_limits
from tabnas.types import IntArray

By = Literal["policy", "uniform", "depth"]
"""How children are sampled from a set: see `_SetSampler`."""


class ChildSampler(ABC):
    """Samples the children to train. `warmup` is that of the `SearchSettings`."""

    name: ClassVar[str]

    def __init__(self, feasible: FeasibleSet, *, warmup: float) -> None:
        self.feasible = feasible
        self.warmup = warmup

    @abstractmethod
    def sample(self, progress: float, policy: Policy, n: int, rng: np.random.Generator) -> IntArray:
        """Sample the choices of n children, [n, layers].

        `progress` goes from 0 to 1 over the search.
        """


class PaperSampler(ChildSampler):
    """The paper's sampler: the full SuperNet, less and less often, then children of the policy.

    During the warm-up the full SuperNet is trained with a probability that falls from 1 to 0, else
    a child of the policy, which is uniform then. With `skip_infeasible`, children are sampled from
    the policy given V; the paper's ablation finds that harmful.
    """

    name = "paper"

    def __init__(
        self, feasible: FeasibleSet, *, warmup: float, skip_infeasible: bool = False
    ) -> None:
        super().__init__(feasible, warmup=warmup)
        self.skip_infeasible = skip_infeasible
        everything = FeasibleSet(feasible.space, Budget())
        self._sampled_from = feasible if skip_infeasible else everything
        self._full = np.array([len(layer) - 1 for layer in feasible.space.layers])

    def sample(self, progress: float, policy: Policy, n: int, rng: np.random.Generator) -> IntArray:
        drawn = self._sampled_from.condition_normalized(policy.log_p).sample(n, rng)
        if progress < self.warmup:
            drawn[rng.random(n) < 1 - progress / self.warmup] = self._full
        return drawn


class FeasibleSampler(ChildSampler):
    """Samples feasible children only, since no other network can be returned."""

    name = "feasible"

    def __init__(self, feasible: FeasibleSet, *, warmup: float, by: By = "depth") -> None:
        super().__init__(feasible, warmup=warmup)
        self._members = _SetSampler(feasible, by)

    def sample(self, progress: float, policy: Policy, n: int, rng: np.random.Generator) -> IntArray:
        return self._members.sample(policy, n, rng)


class TighteningSampler(ChildSampler):
    """Samples children within kappa times the limit, where kappa falls from `start` to 1.

    So wide layers are trained early, and the search ends with networks that it may return. Kappa
    falls geometrically in `levels` steps over the first `until` of the search.
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
        if not 1 <= start < inf:
            raise TabNASError(f"`start` must be a number of at least 1, got {start}")
        if not 0 < until <= 1:
            raise TabNASError(f"`until` must be in (0, 1], got {until}")
        check_int("levels", levels, minimum=1)
        _check_by(by)
        self._until, self._by = until, by
        self._kappas = np.geomspace(start, 1, levels)
        self._level = -1
        self._sampler: _SetSampler | None = None  # of the level

    def sample(self, progress: float, policy: Policy, n: int, rng: np.random.Generator) -> IntArray:
        last = len(self._kappas) - 1
        level = min(int(progress / self._until * last), last)
        if self._sampler is None or level != self._level:
            self._sampler = None  # one at a time, since they may be large
            allowed = self.feasible
            if level < last:
                allowed = _relax(self.feasible, self._kappas[level])
            self._level, self._sampler = level, _SetSampler(allowed, self._by)
        return self._sampler.sample(policy, n, rng)


class SeveralLimitsSampler(ChildSampler):
    """Samples children for several limits, for one SuperNet that serves them all.

    The limit of each child is chosen at random, then a `TighteningSampler` samples it.
    """

    name = "several_limits"

    def __init__(
        self,
        feasible: FeasibleSet,
        *,
        warmup: float,
        others: Sequence[FeasibleSet] = (),
        **options: Any,
    ) -> None:
        super().__init__(feasible, warmup=warmup)
        self._samplers = [
            TighteningSampler(allowed, warmup=warmup, **options) for allowed in (feasible, *others)
        ]

    def sample(self, progress: float, policy: Policy, n: int, rng: np.random.Generator) -> IntArray:
        samplers = [partial(one.sample, progress, policy) for one in self._samplers]
        return _sample_mixture(samplers, n, rng)


class _SetSampler:
    """Samples from a set by the policy, uniformly, or uniformly within a depth sampled first.

    Most members of a set are deep. With uniform sampling, shallow networks are rarely trained, and
    their output layers, which they do not share with deeper ones, seem worse than they are. With
    numeric embeddings, depth and dimension are sampled first: few members have a large dimension.
    """

    def __init__(self, allowed: FeasibleSet, by: By) -> None:
        _check_by(by)
        self._allowed = allowed
        self._fixed: list[ConditionalPolicy] = []
        if by == "uniform":
            self._fixed = [allowed.condition()]
        elif by == "depth":
            self._fixed = _condition_by_depth(allowed)

    def sample(self, policy: Policy, n: int, rng: np.random.Generator) -> IntArray:
        parts = self._fixed or [self._allowed.condition_normalized(policy.log_p)]
        if len(parts) == 1:
            return parts[0].sample(n, rng)
        return _sample_mixture([part.sample for part in parts], n, rng)


def _check_by(by: str) -> None:
    if by not in get_args(By):
        raise TabNASError(f"`by` must be 'policy', 'uniform' or 'depth', got {by!r}")


def _condition_by_depth(allowed: FeasibleSet) -> list[ConditionalPolicy]:
    """Return the uniform distribution over the members of each depth that has any.

    With numeric embeddings, there is one for each dimension and depth. The linear model is left
    out: it shares only embeddings with the others and needs no SuperNet.
    """
    space = allowed.space
    if not allowed.is_exact:  # rejection sampling would hardly find a rare depth
        return [allowed.condition()]
    absent = np.zeros(space.mask.shape, bool)
    for layer, candidates in enumerate(space.widths, start=space.first_hidden):
        absent[layer, : len(candidates)] = np.array(candidates) == ABSENT
    dimensions = range(len(space.layers[0])) if space.first_hidden else [None]
    parts = []
    for dimension, depth in product(dimensions, range(1, space.depth + 1)):
        beyond = np.arange(len(space.layers))[:, None] >= space.first_hidden + depth
        wanted = space.mask & (absent == beyond)
        if dimension is not None:
            wanted[0] = np.arange(space.max_choices) == dimension
        if wanted.any(axis=1).all():
            part = allowed.condition(np.where(wanted, 0.0, -np.inf))
            if part.log_probability > -np.inf:
                parts.append(part)
    return parts or [allowed.condition()]  # if only the linear model fits


def _sample_mixture(
    samplers: Sequence[Callable[[int, np.random.Generator], IntArray]],
    n: int,
    rng: np.random.Generator,
) -> IntArray:
    """Return n samples, each from one of the samplers, chosen uniformly."""
    chosen = rng.integers(len(samplers), size=n)
    sizes = np.bincount(chosen, minlength=len(samplers)).tolist()
    sampled = np.concatenate(
        [sample(size, rng) for sample, size in zip(samplers, sizes, strict=True) if size]
    )
    ordered = np.empty_like(sampled)
    ordered[np.argsort(chosen, kind="stable")] = sampled
    return ordered


def _relax(feasible: FeasibleSet, kappa: float) -> FeasibleSet:
    return FeasibleSet(feasible.space, scale_limits(feasible.budget, feasible.space, kappa))


CHILD_SAMPLERS: dict[str, Callable[..., ChildSampler]] = by_name(
    TighteningSampler, PaperSampler, FeasibleSampler, SeveralLimitsSampler
)
"""Every child sampler by name. Call one with the feasible set, `warmup` and its options."""
