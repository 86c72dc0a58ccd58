"""The feasible set V: the architectures of a space that hold a budget's limits."""

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
    TabnasError,
    did_you_mean,
    whole,
)
from tabnas.feasible._chain import MAX_EDGES, TooManyStatesError, compile_chain
from tabnas.feasible._conditional import Conditional, ExactConditional
from tabnas.feasible._diagram import Diagram
from tabnas.feasible._enumeration import compile_enumerated
from tabnas.feasible._extremes import extreme, extreme_of
from tabnas.feasible._logits import Logits, log_probabilities
from tabnas.feasible._measure import MAX_ENUMERATED, Measure
from tabnas.feasible._monte_carlo import Estimate, EstimatedConditional, estimate, sample_product
from tabnas.space import COSTS, Architecture, Budget, CallableCost, Cost, SearchSpace
from tabnas.types import BoolArray, FloatArray, IntArray

Method = Literal["chain", "enumeration", "monte carlo"]
"""How a feasible set is known: exactly by the first two, by sampling with the last."""
CostLike = Cost | str | Callable[[Architecture], float]


class FeasibleSet:
    """All architectures of `space` within `budget`, and inference over them.

    A policy is given by its logits, [..., layers, max_choices] or one array per layer; without any
    it is uniform. Three methods know V:

    - "chain": exact in spaces of any size, if every limit is on a chain cost and the diagram of V
      stays below 5 million edges;
    - "enumeration": exact for any cost, in spaces of up to 500,000 encodings;
    - "monte carlo": estimates from `samples` architectures, for all else.

    The first that applies is taken, unless `method` names one; the attributes `method` and `exact`
    tell which, and a fall to Monte Carlo warns. A budget that no architecture meets is refused.

    >>> from tabnas import Budget, SearchSpace
    >>> space = SearchSpace.uniform(layers=3, inputs=1027, outputs=1)
    >>> feasible = FeasibleSet(space, Budget(dense_parameters=41_153))
    >>> feasible
    FeasibleSet(856 of 8,000, dense_parameters <= 41,153, exact by chain)
    >>> feasible.dearest()
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
            raise TabnasError(
                f"there is no method {method!r}; {did_you_mean(str(method), get_args(Method))}"
            )
        self.space = space
        self.budget = budget
        self.samples = whole("samples", samples, least=1)
        self._measure = Measure(space, budget)
        self.method, self._diagram = self._know(method)
        self._refuse_empty()

    # --- how V is known ---------------------------------------------------------------------------

    def _know(self, wanted: Method | None) -> tuple[Method, Diagram | None]:
        why_not = "a limited cost does not add up along the layers"
        if wanted in (None, "chain") and self._measure.all_chain:
            try:
                limits = self._measure.chain_limits
                return "chain", compile_chain(limits, self.space.max_choices)
            except TooManyStatesError:
                why_not = f"its diagram would have more than {MAX_EDGES:,} edges"
        if wanted == "chain":
            raise TabnasError(f"the feasible set cannot be known along the chain: {why_not}")
        if wanted in (None, "enumeration"):
            if self._measure.encodings <= MAX_ENUMERATED:
                return "enumeration", compile_enumerated(self._measure)
            too_many = f"the space has more than {MAX_ENUMERATED:,} encodings"
            if wanted == "enumeration":
                raise TabnasError(f"the feasible set cannot be enumerated: {too_many}")
            warnings.warn(
                f"the feasible set is known by {self.samples:,} samples only: "
                f"{why_not}, and {too_many}",
                InexactWarning,
                stacklevel=3,
            )
        return "monte carlo", None

    @property
    def exact(self) -> bool:
        """Whether answers are exact rather than estimates."""
        return self._diagram is not None

    @property
    def _exact_diagram(self) -> Diagram:
        if self._diagram is None:
            raise InexactError(
                "the feasible set is known by samples only and cannot be counted or listed; "
                "its share of the space is about `probability()`"
            )
        return self._diagram

    @cached_property
    def sampled_members(self) -> IntArray:
        """Distinct feasible choices among `samples` uniform ones and the narrowest, [n, layers].

        Where V is known by samples only, these are the members that are known: at least one.
        """
        drawn = sample_product(
            log_probabilities(self.space), self.samples, np.random.default_rng(0)
        )
        drawn[0] = 0
        return np.asarray(np.unique(drawn[self.contains(drawn)], axis=0))

    def _refuse_empty(self) -> None:
        if self._diagram is not None and self._diagram.count() > 0:
            return
        if self._diagram is None and len(self.sampled_members) > 0:
            return
        self._refuse_below_the_cheapest()
        if self._diagram is None:
            raise InfeasibleError(
                f"none of {self.samples:,} sampled architectures holds {self.budget}: "
                "raise the limit, or ask for more samples"
            )
        raise InfeasibleError(
            f"no architecture holds {self.budget} at once, though each limit can be held alone"
        )

    def _refuse_below_the_cheapest(self) -> None:
        """Name the cheapest architecture of a limit that none holds, where it can be found."""
        everything = FeasibleSet(self.space, Budget())
        for limit in self.budget.limits:
            try:
                cheapest = everything.cheapest(limit.cost)
            except InexactError:
                continue
            cost = limit.cost(self.space, cheapest)
            if cost > limit.at_most:
                # rounded up, so that a limit of what is said can be held
                shown = cost if cost == int(cost) or cost < 1 else ceil(10 * cost) / 10
                raise InfeasibleError(
                    f"no architecture holds {limit}: the cheapest, {cheapest}, has {shown:,}"
                )

    # --- V itself ---------------------------------------------------------------------------------

    def count(self) -> int:
        """The exact number of feasible architectures."""
        return self._exact_diagram.count()

    def __iter__(self) -> Iterator[Architecture]:
        """All feasible architectures, in no particular order."""
        return map(self.space.architecture, self._exact_diagram.paths())

    @cached_property
    def members(self) -> IntArray:
        """All feasible choices, [count, layers], in ascending order; found once, then kept."""
        return np.array(sorted(self._exact_diagram.paths()), dtype=np.int64)

    def __contains__(self, architecture: object) -> bool:
        if not isinstance(architecture, Architecture | str) or architecture not in self.space:
            return False
        return bool(self.contains(np.array(self.space.choices(architecture))))

    def contains(self, choices: IntArray) -> BoolArray:
        """Which of the choices, [..., layers], are feasible: [...]."""
        return self._measure.contains(choices)

    def load(self, choices: IntArray) -> FloatArray:
        """T / T0 of the choices, [..., layers]; of several limits the tightest counts: [...]."""
        return self._measure.load(choices)

    def possible(self) -> BoolArray:
        """[layers, max_choices]: which candidates occur in a feasible architecture."""
        return self._exact_diagram.possible()

    def unused_widths(self) -> list[tuple[int, ...]]:
        """For each layer the candidate widths that occur in no feasible architecture."""
        return [
            tuple(width for width, ok in zip(layer, possible, strict=False) if not ok)
            for layer, possible in zip(self.space.candidates, self.possible(), strict=True)
        ]

    def cheapest(self, cost: CostLike | None = None) -> Architecture:
        """The feasible architecture that costs least, by the first limit's cost if none is named.

        Where V is known by samples only: the cheapest of them.
        """
        return self._extreme(cost, sign=-1)

    def dearest(self, cost: CostLike | None = None) -> Architecture:
        """The feasible architecture that costs most; as for `cheapest`."""
        return self._extreme(cost, sign=1)

    def _extreme(self, cost: CostLike | None, *, sign: int) -> Architecture:
        cost = self._cost(cost)
        if self._diagram is None:
            return self._admitted(extreme_of(self.sampled_members, self._measure, cost, sign=sign))
        return self._admitted(extreme(self._diagram, self._measure, cost, sign=sign))

    def _admitted(self, choices: Sequence[int] | IntArray) -> Architecture:
        """The architecture, asked once more whether it holds the budget before it is returned."""
        architecture = self.space.architecture(choices)
        if not self.budget.admits(self.space, architecture):
            raise InfeasibleError(
                f"{architecture} does not hold {self.budget}, though it was found to be feasible; "
                "does a cost of your own give different answers to the same question?"
            )
        return architecture

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
            raise TabnasError(f"there is no cost called {cost!r}; {did_you_mean(cost, known)}")
        return known[cost]

    # --- V under a policy -------------------------------------------------------------------------

    def given(self, logits: Logits = None, *, rng: np.random.Generator | int = 0) -> Conditional:
        """P(. | V) for a policy or a batch of them; `rng` matters to Monte Carlo only."""
        return self.conditional(log_probabilities(self.space, logits), rng=rng)

    def conditional(self, log_p: FloatArray, *, rng: np.random.Generator | int = 0) -> Conditional:
        """`given`, for what is known to be log-probabilities: nothing is checked."""
        if self._diagram is not None:
            return ExactConditional(self._diagram, log_p)
        return EstimatedConditional(self.contains, log_p, self.samples, np.random.default_rng(rng))

    def log_probability(self, logits: Logits = None) -> FloatArray:
        """log P(V), [...]."""
        return self.given(logits).log_probability

    def probability(self, logits: Logits = None) -> FloatArray:
        """P(V), [...]."""
        return np.exp(self.log_probability(logits))

    def marginals(self, logits: Logits = None) -> FloatArray:
        """`P(Y_i = j | V)`, [..., layers, max_choices]."""
        return self.given(logits).marginals

    def sample(
        self, n: int, logits: Logits = None, *, rng: np.random.Generator | int | None = None
    ) -> list[Architecture]:
        """n independent architectures from P(. | V), for one policy; others at every call.

        Give `rng` a seed or a generator to have the same again.
        """
        whole("n", n, least=0)
        log_p = log_probabilities(self.space, logits)
        if log_p.ndim > 2:
            raise TabnasError("sample() takes one policy; given(logits).sample() takes a batch")
        rng = np.random.default_rng(rng)
        return [*map(self._admitted, self.given(log_p, rng=rng).sample(n, rng))]

    def most_likely(self, n: int = 1, logits: Logits = None) -> list[Architecture]:
        """The n most likely feasible architectures, most likely first; fewer if V is smaller."""
        whole("n", n, least=0)
        return [*map(self._admitted, self.given(logits).most_likely(n))]

    def estimate(
        self,
        logits: Logits = None,
        *,
        samples: int | None = None,
        rng: np.random.Generator | int = 0,
        proposal: Logits = None,
    ) -> Estimate:
        """P(V) and the marginals by Monte Carlo (Algorithm 2), however V is known.

        `proposal` are the logits of q; without any, q is the policy itself.
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
