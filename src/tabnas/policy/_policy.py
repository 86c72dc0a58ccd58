"""The factorised policy: one softmax over the candidate widths of each layer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tabnas.feasible import ConditionalPolicy, FeasibleSet, log_probabilities, sample_product
from tabnas.space import Architecture
from tabnas.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Policy:
    """A policy, or a batch of independent policies.

    `logits` are the paper's `l_ij`, [..., layers, choices].

    >>> from tabnas import Budget, SearchSpace
    >>> space = SearchSpace([[2, 3, 4], [2, 3, 4]], inputs=2, outputs=1)
    >>> policy = Policy(FeasibleSet(space, Budget(dense_parameters=25)), np.zeros((2, 3)))
    >>> bool(np.isclose(policy.entropy, 2 * np.log(3)))
    True
    """

    feasible: FeasibleSet
    logits: FloatArray

    @cached_property
    def log_p(self) -> FloatArray:
        """`log p_ij`, [..., layers, choices]; -inf in the padding."""
        return log_probabilities(self.feasible.space, self.logits)

    @cached_property
    def probabilities(self) -> FloatArray:
        """`p_ij`, [..., layers, choices]; 0 in the padding."""
        return np.exp(self.log_p)

    @cached_property
    def conditional(self) -> ConditionalPolicy:
        """The policy conditioned on feasible architectures, P(. | V)."""
        return self.feasible.condition_normalized(self.log_p)

    @property
    def entropy(self) -> FloatArray:
        """The entropy of the policy over all choices, in nats: [...]."""
        log_p = np.where(self.probabilities > 0, self.log_p, 0.0)
        return np.asarray(0.0 - (self.probabilities * log_p).sum(axis=(-2, -1)))

    def sample(self, n: int, rng: np.random.Generator) -> IntArray:
        """Draw independent choices, feasible or not, [..., n, layers]."""
        return sample_product(self.log_p, n, rng)

    def most_likely(self, n: int = 1) -> list[Architecture]:
        """Return the n most likely feasible architectures, for one policy."""
        return self.feasible.most_likely(n, self.log_p)
