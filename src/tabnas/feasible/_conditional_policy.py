"""P(. | V): a policy conditioned on the feasible set."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from itertools import islice

import numpy as np

from tabnas.errors import TabNASError
from tabnas.feasible._diagram import DecisionDiagram
from tabnas.types import FloatArray, IntArray

# Above this P(V), the sweeps need no logarithms: underflow (below about 1e-308) loses a share of
# about 1e-150 at most. Below it, the sweeps are repeated in log-space.
MIN_LINEAR_PROBABILITY = 1e-150


class ConditionalPolicy(ABC):
    """A policy, or a batch of policies, conditioned on the feasible set V."""

    @property
    @abstractmethod
    def log_probability(self) -> FloatArray:
        """log P(V), [...]."""

    @property
    @abstractmethod
    def marginals(self) -> FloatArray:
        """`P(Y_i = j | V)`, [..., layers, max_choices]. Minus p, it is the gradient of log P(V)."""

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator) -> IntArray:
        """Draw independent choices from P(. | V), [..., n, layers]."""

    @abstractmethod
    def most_likely(self, n: int = 1) -> list[tuple[int, ...]]:
        """Return the n most likely members of V, most likely first; fewer if V is smaller."""


class ExactConditionalPolicy(ConditionalPolicy):
    """P(. | V), computed exactly by sweeps over the diagram of V."""

    def __init__(self, diagram: DecisionDiagram, log_p: FloatArray) -> None:
        from tabnas.feasible import _kernels

        self._diagram = diagram
        self._edges = diagram.first, diagram.child, diagram.choice
        self._log_p = log_p
        # weights of choices, [policies, choices and none]: their probabilities, or logs of them
        self._weights = np.ones((log_p.size // diagram.no_choice, diagram.no_choice + 1))
        np.exp(log_p.reshape(-1, diagram.no_choice), out=self._weights[:, :-1])
        self._values = _kernels.values(*self._edges, self._weights)
        self._linear = bool(self._values[:, 0].min() > MIN_LINEAR_PROBABILITY)
        if not self._linear:
            self._weights = np.zeros_like(self._weights)
            self._weights[:, :-1] = log_p.reshape(-1, diagram.no_choice)
            self._values = _kernels.log_values(*self._edges, self._weights)

    @property
    def log_probability(self) -> FloatArray:
        root = self._values[:, 0]
        # rounding may leave P(V) a few ulp above 1
        return np.minimum(np.log(root) if self._linear else root, 0.0).reshape(self._batch)

    @property
    def _batch(self) -> tuple[int, ...]:
        return self._log_p.shape[:-2]

    @cached_property
    def marginals(self) -> FloatArray:
        from tabnas.feasible import _kernels

        self._check_possible()
        sweep = _kernels.marginals if self._linear else _kernels.log_marginals
        return sweep(*self._edges, self._weights, self._values)[:, :-1].reshape(self._log_p.shape)

    def sample(self, n: int, rng: np.random.Generator) -> IntArray:
        from tabnas.feasible import _kernels

        self._check_possible()
        # one uniform number for each layer, and one for the nodes that make no choice
        uniform = rng.random((len(self._weights), n, self._diagram.layers + 1))
        drawn = _kernels.sample(
            *self._edges, self._values, not self._linear, uniform, self._diagram.max_choices
        )
        return drawn.reshape(*self._batch, n, self._diagram.layers)

    def most_likely(self, n: int = 1) -> list[tuple[int, ...]]:
        if self._batch:
            raise TabNASError("`most_likely` must be called for one policy, got a batch")
        self._check_possible()
        of_choice = np.append(self._log_p.ravel(), 0.0)
        of_node = np.append(of_choice[self._diagram.choice], 0.0)
        best = self._diagram.best_paths(of_node[self._diagram.child])
        return list(islice(best, n))

    def _check_possible(self) -> None:
        if not self._linear and np.isneginf(self._values[:, 0]).any():
            raise TabNASError(
                "the policy must give a feasible architecture a positive probability, but logits "
                "of -inf exclude all of them"
            )
