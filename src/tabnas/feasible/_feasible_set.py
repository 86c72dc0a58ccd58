"""The feasible set V: the architectures of a space that keep the limits of a budget."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from math import ceil
from typing import Literal, get_args

import numpy as np

from tabnas.errors import (
    InexactError,
    InexactWarning,
    InfeasibleError,
    TabNASError,
    check_int,
    did_you_mean,
)
from tabnas.feasible._chain import MAX_EDGES, TooManyStatesError, compile_chain
from tabnas.feasible._conditional_policy import ConditionalPolicy, ExactConditionalPolicy
from tabnas.feasible._cost_calculator import MAX_ENUMERATED, CostCalculator
from tabnas.feasible._diagram import DecisionDiagram
from tabnas.feasible._enumeration import compile_enumeration
from tabnas.feasible._extremes import find_extreme, select_extreme
from tabnas.feasible._logits import Logits, log_probabilities
from tabnas.feasible._monte_carlo import (
    Estimate,
    SampledConditionalPolicy,
    estimate,
    sample_product,
)
from tabnas.formatting import count_decimals
from tabnas.space import COSTS, Architecture, Budget, CallableCost, Cost, SearchSpace
from tabnas.types import BoolArray, FloatArray, IntArray

Method = Literal["chain", "enumeration", "monte carlo"]
"""How a feasible set is computed: exactly by the first two, by sampling with the last."""
CostLike = Cost | str | Callable[[Architecture], float]


class FeasibleSet:
    """All architectures of `space` within `budget`, and inference over them.

    A policy is an array of logits, [..., layers, max_choices], or one array per layer; None is the
    uniform policy. There are three methods:

    - "chain": exact in spaces of any size, if every limit is on a chain cost and the diagram of V
      has at most 5 million edges;
    - "enumeration": exact for any cost, in spaces of up to 500,000 encodings;
    - "monte carlo": estimates from `samples` architectures, for everything else.

    By default the first method that applies is used. The attributes `method` and `is_exact` say
    which one it is; Monte Carlo also gives a warning. A budget that no architecture meets raises an
    `InfeasibleError`.

    >>> from tabnas import Budget, SearchSpace
    >>> space = SearchSpace.uniform(layers=3, inputs=1027, outputs=1)
    >>> feasible = FeasibleSet(space, Budget(dense_parameters=41_153))
    >>> feasible
    FeasibleSet(856 of 8,000, dense_parameters <= 41,153, exact by chain)
    >>> feasible.most_expensive()
    Architecture('32-144-24')
    >>> "32-64-96" in feasible
    False
    >>> round(float(feasible.probability()), 3)
    0.107
    """

    def __init__(
        self,
        space: SearchSpace,
        budget: Budget,
        *,
        method: Method | None = None,
        samples: int = 32_768,
    ) -> None:
        if method is not None and method not in get_args(Method):
            raise TabNASError(
                f"there is no method {method!r}; {did_you_mean(str(method), get_args(Method))}"
            )
        self.space = space
        self.budget = budget
        self.samples = check_int("samples", samples, minimum=1)
        self._calculator = CostCalculator(space, budget)
        self.method, self._diagram = self._choose_method(method)
        self._check_not_empty()

    # --- methods ----------------------------------------------------------------------------------

    def _choose_method(self, wanted: Method | None) -> tuple[Method, DecisionDiagram | None]:
        reason = "a limited cost is not a ChainCost"
        if wanted in (None, "chain") and self._calculator.has_only_chain_costs:
            try:
                limits = self._calculator.chain_limits
                return "chain", compile_chain(limits, self.space.max_choices)
            except TooManyStatesError:
                reason = f"its diagram would have more than {MAX_EDGES:,} edges"
        if wanted == "chain":
            raise TabNASError(f"the method 'chain' cannot be used: {reason}")
        if wanted in (None, "enumeration"):
            if self._calculator.n_encodings <= MAX_ENUMERATED:
                return "enumeration", compile_enumeration(self._calculator)
            too_many = f"the space has more than {MAX_ENUMERATED:,} encodings"
            if wanted == "enumeration":
                raise TabNASError(f"the method 'enumeration' cannot be used: {too_many}")
            warnings.warn(
                f"the feasible set is estimated from {self.samples:,} samples: "
                f"{reason}, and {too_many}",
                InexactWarning,
                stacklevel=3,
            )
        return "monte carlo", None

    @property
    def is_exact(self) -> bool:
        """Whether results are exact rather than estimates."""
        return self._diagram is not None

    def _require_diagram(self) -> DecisionDiagram:
        if self._diagram is None:
            raise InexactError(
                "this feasible set is estimated from samples and cannot be counted or listed; "
                "`probability()` estimates its share of the space"
            )
        return self._diagram

    @cached_property
    def sampled_members(self) -> IntArray:
        """Distinct feasible choices among `samples` uniform ones and the narrowest, [n, layers].

        Where V is estimated from samples, these are its known members: at least one.
        """
        drawn = sample_product(
            log_probabilities(self.space), self.samples, np.random.default_rng(0)
        )
        drawn[0] = 0
        return np.asarray(np.unique(drawn[self.contains(drawn)], axis=0))

    def _check_not_empty(self) -> None:
        if self._diagram is not None and self._diagram.count() > 0:
            return
        if self._diagram is None and len(self.sampled_members) > 0:
            return
        self._check_each_limit()
        if self._diagram is None:
            raise InfeasibleError(
                f"none of {self.samples:,} sampled architectures meets {self.budget}; "
                "raise the limit, or set `samples` higher"
            )
        raise InfeasibleError(
            f"no architecture meets {self.budget} together, though each single limit can be met"
        )

    def _check_each_limit(self) -> None:
        """Raise an error with the cheapest architecture if a single limit cannot be met."""
        everything = FeasibleSet(self.space, Budget())
        for limit in self.budget.limits:
            try:
                cheapest = everything.cheapest(limit.cost)
            except InexactError:
                continue
            cost = limit.cost(self.space, cheapest)
            if cost > limit.upper:
                # rounded up, so that the number in the message is a limit that can be met
                scale = 10 ** (1 if cost >= 1 else count_decimals(cost, 3))
                shown = cost if cost == int(cost) else ceil(scale * cost) / scale
                raise InfeasibleError(
                    f"no architecture meets {limit}: the cheapest, {cheapest}, has {shown:,}"
                )

    # --- members ----------------------------------------------------------------------------------

    def count(self) -> int:
        """Return the exact number of feasible architectures."""
        return self._require_diagram().count()

    def __iter__(self) -> Iterator[Architecture]:
        """Iterate over all feasible architectures, in no particular order."""
        return map(self.space.architecture, self._require_diagram().paths())

    @cached_property
    def members(self) -> IntArray:
        """All feasible choices, [count, layers], in ascending order; computed once."""
        return np.array(sorted(self._require_diagram().paths()), dtype=np.int64)

    def __contains__(self, architecture: object) -> bool:
        if not isinstance(architecture, Architecture | str) or architecture not in self.space:
            return False
        return bool(self.contains(np.array(self.space.choices(architecture))))

    def contains(self, choices: IntArray) -> BoolArray:
        """Return which of the choices, [..., layers], are feasible: [...]."""
        return self._calculator.contains(self.space.check_choices(choices))

    def cost_ratio(self, choices: IntArray) -> FloatArray:
        """Return cost / limit, T / T0, of the choices, [..., layers], as [...].

        With several limits, the largest ratio counts.
        """
        return self._calculator.cost_ratio(self.space.check_choices(choices))

    def reachable(self) -> BoolArray:
        """Return which candidates occur in a feasible architecture: [layers, max_choices]."""
        return self._require_diagram().reachable()

    def unused_widths(self) -> list[tuple[int, ...]]:
        """Return for each hidden layer the widths that occur in no feasible architecture."""
        return self._unused_candidates()[-self.space.depth :]

    def unused_dimensions(self) -> tuple[int, ...]:
        """Return the dimensions of numeric embeddings that no feasible architecture has."""
        return () if self.space.numeric_embeddings is None else self._unused_candidates()[0]

    def _unused_candidates(self) -> list[tuple[int, ...]]:
        return [
            tuple(candidate for candidate, ok in zip(layer, reachable, strict=False) if not ok)
            for layer, reachable in zip(self.space.layers, self.reachable(), strict=True)
        ]

    def cheapest(self, cost: CostLike | None = None) -> Architecture:
        """Return the feasible architecture of the lowest cost; by default the first limit's cost.

        Where V is estimated from samples, this is the cheapest of them.
        """
        return self._extreme(cost, sign=-1)

    def most_expensive(self, cost: CostLike | None = None) -> Architecture:
        """Return the feasible architecture of the highest cost; see `cheapest`."""
        return self._extreme(cost, sign=1)

    def _extreme(self, cost: CostLike | None, *, sign: int) -> Architecture:
        cost = self._cost(cost)
        if self._diagram is None:
            return self._to_architecture(
                select_extreme(self.sampled_members, self._calculator, cost, sign=sign)
            )
        return self._to_architecture(find_extreme(self._diagram, self._calculator, cost, sign=sign))

    def architecture(self, choices: Sequence[int] | IntArray) -> Architecture:
        """Return the architecture that `choices`, [layers], encode.

        Raise an error unless it is within the budget.
        """
        architecture = self.space.architecture(self.space.check_choices(choices))
        if not self.budget.admits(self.space, architecture):
            raise InfeasibleError(f"{architecture} does not meet {self.budget}")
        return architecture

    def _to_architecture(self, choices: Sequence[int] | IntArray) -> Architecture:
        """Return the architecture of choices that were found to be feasible."""
        try:
            return self.architecture(choices)
        except InfeasibleError as error:
            raise InfeasibleError(
                f"{error}, though it was found to be feasible; does a custom cost return different "
                "values for the same architecture?"
            ) from None

    def _cost(self, cost: CostLike | None) -> Cost:
        if isinstance(cost, Cost):
            return cost
        if callable(cost):
            return CallableCost(cost)
        limited = {limit.cost.name: limit.cost for limit in self.budget.limits}
        if cost is None:
            return next(iter(limited.values()), COSTS["parameters"])
        known = COSTS | limited
        if cost not in known:
            raise TabNASError(f"there is no cost {cost!r}; {did_you_mean(cost, known)}")
        return known[cost]

    # --- policies ---------------------------------------------------------------------------------

    def condition(
        self, logits: Logits = None, *, rng: np.random.Generator | int = 0
    ) -> ConditionalPolicy:
        """Return P(. | V) for a policy or a batch of them; only Monte Carlo uses `rng`."""
        return self.condition_normalized(log_probabilities(self.space, logits), rng=rng)

    def condition_normalized(
        self, log_p: FloatArray, *, rng: np.random.Generator | int = 0
    ) -> ConditionalPolicy:
        """Return P(. | V) like `condition`, for normalized log-probabilities; does no checks."""
        if self._diagram is not None:
            return ExactConditionalPolicy(self._diagram, log_p)
        return SampledConditionalPolicy(
            self.contains, log_p, self.samples, np.random.default_rng(rng)
        )

    def log_probability(self, logits: Logits = None) -> FloatArray:
        """Return log P(V), [...]."""
        return self.condition(logits).log_probability

    def probability(self, logits: Logits = None) -> FloatArray:
        """Return P(V), [...]."""
        return np.exp(self.log_probability(logits))

    def marginals(self, logits: Logits = None) -> FloatArray:
        """Return `P(Y_i = j | V)`, [..., layers, max_choices]."""
        return self.condition(logits).marginals

    def sample(
        self, n: int, logits: Logits = None, *, rng: np.random.Generator | int | None = None
    ) -> list[Architecture]:
        """Draw n independent architectures from P(. | V), for one policy.

        Set `rng` to a seed or a generator for reproducible results.
        """
        check_int("n", n, minimum=0)
        log_p = log_probabilities(self.space, logits)
        if log_p.ndim > 2:
            raise TabNASError(
                "`sample` must be called for one policy, got a batch; use "
                "`condition(logits).sample(n, rng)`"
            )
        rng = np.random.default_rng(rng)
        return [*map(self._to_architecture, self.condition(log_p, rng=rng).sample(n, rng))]

    def most_likely(self, n: int = 1, logits: Logits = None) -> list[Architecture]:
        """Return the n most likely feasible architectures, in that order; fewer if V is smaller."""
        check_int("n", n, minimum=0)
        return [*map(self._to_architecture, self.condition(logits).most_likely(n))]

    def estimate(
        self,
        logits: Logits = None,
        *,
        samples: int | None = None,
        rng: np.random.Generator | int = 0,
        proposal: Logits = None,
    ) -> Estimate:
        """Estimate P(V) and the marginals by Monte Carlo (Algorithm 2), with any method.

        `proposal` are the logits of q; by default q is the policy itself.
        """
        log_p = log_probabilities(self.space, logits)
        log_q = None if proposal is None else log_probabilities(self.space, proposal)
        samples = self.samples if samples is None else samples
        return estimate(self.contains, log_p, samples, np.random.default_rng(rng), log_q=log_q)

    def __repr__(self) -> str:
        if self._diagram is None:
            return f"FeasibleSet({self.samples:,} samples of {self.space.size:,}, {self.budget})"
        return (
            f"FeasibleSet({self.count():,} of {self.space.size:,}, {self.budget}, "
            f"exact by {self.method})"
        )
