"""P(V) and its gradient estimated by sampling: Algorithm 2, with any product proposal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tabnas.errors import InfeasibleError, TabNASError, check_int
from tabnas.feasible._conditional_policy import ConditionalPolicy
from tabnas.types import BoolArray, FloatArray, IntArray

Membership = Callable[[IntArray], BoolArray]
"""A function that returns which of the choices, [..., layers], are feasible: [...]."""

MAX_CHUNK = 1 << 20  # samples drawn at once, which bounds the memory
MAX_DRAWS = 10_000_000  # samples drawn to find feasible architectures


def sample_product(log_p: FloatArray, n: int, rng: np.random.Generator) -> IntArray:
    """Draw independent choices from product policies, [..., n, layers]."""
    from tabnas.feasible import _kernels

    batch, (layers, choices) = log_p.shape[:-2], log_p.shape[-2:]
    cdf = np.exp(log_p).cumsum(axis=-1).reshape(-1, layers, choices)
    cdf /= cdf[..., -1:]
    return _kernels.invert_cdf(cdf, rng.random((len(cdf), n, layers))).reshape(*batch, n, layers)


def log_likelihood(log_p: FloatArray, choices: IntArray) -> FloatArray:
    """Return the log-probability, [..., n], of choices [..., n, layers] under policies."""
    taken = np.take_along_axis(log_p[..., None, :, :], choices[..., None], axis=-1)
    return np.asarray(taken[..., 0].sum(axis=-1))


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimates of P(V) and the marginals from N samples z_k with the weights w = p / q.

    `log_probability`: log of `(1/N) sum_k w_k 1[z_k in V]`, -inf where no sample is feasible.
    `marginals`: `sum_k w_k 1[z_k in V] 1[z_ki = j] / sum_k w_k 1[z_k in V]`, 0 where none is.
    """

    log_probability: FloatArray  # [...]
    marginals: FloatArray  # [..., layers, max_choices]
    feasible_samples: IntArray  # [...]

    @property
    def usable(self) -> BoolArray:
        """[...]: False where no feasible sample has a positive weight; the gradient is unknown."""
        return np.isfinite(self.log_probability)


def estimate(
    contains: Membership,
    log_p: FloatArray,
    samples: int,
    rng: np.random.Generator,
    *,
    log_q: FloatArray | None = None,
) -> Estimate:
    """Estimate P(V) and P(Y_i = j | V) for policies `log_p` with samples from `log_q`.

    NOTE[DIFF]: Algorithm 2 draws from p for any q. The weights p / q are right only for samples
    from q, as in the text around Equation 2, so we draw from q. By default q = p and all weights
    are 1.
    """
    check_int("samples", samples, minimum=1)
    batch, (layers, max_choices) = log_p.shape[:-2], log_p.shape[-2:]
    flat = log_p.reshape(-1, layers, max_choices)
    proposal = flat if log_q is None else np.broadcast_to(log_q, log_p.shape).reshape(flat.shape)
    feasible = np.zeros(len(flat), dtype=np.int64)
    # sums are relative to exp(scale), the largest weight so far
    scale = np.full(len(flat), -np.inf)
    sums = np.zeros((len(flat), layers, max_choices))
    cells = np.arange(len(flat) * layers).reshape(len(flat), 1, layers) * max_choices
    chunk = max(1, MAX_CHUNK // len(flat))
    for start in range(0, samples, chunk):
        z = sample_product(proposal, min(chunk, samples - start), rng)
        inside = contains(z)
        feasible += inside.sum(axis=1)
        log_w = np.zeros(inside.shape)
        if log_q is not None:
            log_w = log_likelihood(flat, z) - log_likelihood(proposal, z)
        log_w[~inside] = -np.inf
        largest = np.maximum(scale, log_w.max(axis=1))
        known = np.isfinite(largest)
        sums[known] *= np.exp(scale[known] - largest[known])[:, None, None]
        weights = np.where(known[:, None], np.exp(log_w - np.where(known, largest, 0)[:, None]), 0)
        sums += np.bincount(
            (cells + z).ravel(), np.repeat(weights.ravel(), layers), minlength=sums.size
        ).reshape(sums.shape)
        scale = largest
    total = sums[:, 0].sum(axis=-1)
    usable = total > 0
    log_probability = np.full(len(flat), -np.inf)
    log_probability[usable] = np.log(total[usable] / samples) + scale[usable]
    marginals = sums / np.where(usable, total, 1.0)[:, None, None]
    return Estimate(
        log_probability.reshape(batch), marginals.reshape(log_p.shape), feasible.reshape(batch)
    )


class SampledConditionalPolicy(ConditionalPolicy):
    """P(. | V) estimated by sampling, for costs and spaces without exact inference."""

    def __init__(
        self, contains: Membership, log_p: FloatArray, samples: int, rng: np.random.Generator
    ) -> None:
        self._contains = contains
        self._log_p = log_p
        self._samples = samples
        self._rng = rng

    @cached_property
    def _estimate(self) -> Estimate:
        return estimate(self._contains, self._log_p, self._samples, self._rng)

    @property
    def log_probability(self) -> FloatArray:
        return self._estimate.log_probability

    @property
    def marginals(self) -> FloatArray:
        if not self._estimate.usable.all():
            raise InfeasibleError(
                f"none of {self._samples:,} sampled architectures is feasible; use more samples, "
                "or start from a policy that prefers narrow layers"
            )
        return self._estimate.marginals

    def sample(self, n: int, rng: np.random.Generator) -> IntArray:
        """Draw from the policy until n choices are feasible."""
        if self._log_p.ndim > 2:
            policies = self._log_p.reshape(-1, *self._log_p.shape[-2:])
            drawn = np.stack([self._sample_by_rejection(log_p, n, rng) for log_p in policies])
            return drawn.reshape(*self._log_p.shape[:-2], n, -1)
        return self._sample_by_rejection(self._log_p, n, rng)

    def _sample_by_rejection(self, log_p: FloatArray, n: int, rng: np.random.Generator) -> IntArray:
        accepted, found, drawn = [], 0, 0
        while found < n:
            if drawn >= MAX_DRAWS:
                raise InfeasibleError(
                    f"only {found:,} of {drawn:,} sampled architectures are feasible, but {n:,} "
                    "were requested; raise the limit, or start from a policy that prefers narrow "
                    "layers"
                )
            size = min(max(2 * n, self._samples), MAX_CHUNK)
            z = sample_product(log_p, size, rng)
            accepted.append(z[self._contains(z)])
            found, drawn = found + len(accepted[-1]), drawn + size
        return np.concatenate(accepted)[:n]

    def most_likely(self, n: int = 1) -> list[tuple[int, ...]]:
        """Return the most likely of the feasible samples; P(V) is estimated from as many."""
        if self._log_p.ndim > 2:
            raise TabNASError("`most_likely` must be called for one policy, got a batch")
        drawn = sample_product(self._log_p, self._samples, self._rng)
        seen = np.unique(drawn[self._contains(drawn)], axis=0)
        if len(seen) == 0:
            seen = self._sample_by_rejection(self._log_p, 1, self._rng)
        order = np.argsort(-log_likelihood(self._log_p, seen), kind="stable")
        return [tuple(map(int, choices)) for choices in seen[order[:n]]]
