"""The budget: one or several hard limits on costs (`T0` of the paper)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from numbers import Real
from sys import float_info

from tabnas.errors import TabNASError, did_you_mean
from tabnas.space._architecture import Architecture
from tabnas.space._precision import Precision
from tabnas.space._search_space import SearchSpace
from tabnas.space.costs import COSTS, Bytes, CallableCost, Cost

MAX_LIMIT = float_info.max
"""The largest limit on a cost."""


@dataclass(frozen=True)
class Limit:
    """A cost and its upper bound.

    The cost is a `Cost` or any function of an architecture.
    """

    cost: Cost
    upper: float

    def __init__(self, cost: Cost | Callable[[Architecture], float], upper: float) -> None:
        if not isinstance(cost, Cost) and not callable(cost):
            raise TabNASError(
                f"a limit must be on a cost or a function of an architecture, got {cost!r}; to "
                "limit a cost by its name, write Budget(parameters=20_000)"
            )
        cost = cost if isinstance(cost, Cost) else CallableCost(cost)
        valid = isinstance(upper, Real) and not isinstance(upper, bool)
        if not valid or not 0 <= upper <= MAX_LIMIT:
            raise TabNASError(
                f"the limit on {cost.name} must be a finite number of at least 0, got {upper!r:.40}"
            )
        upper = int(upper) if upper == int(upper) else float(upper)
        object.__setattr__(self, "cost", cost)
        object.__setattr__(self, "upper", upper)

    def __str__(self) -> str:
        return f"{self.cost.name} <= {self.upper:,}"


class Budget:
    """Hard limits that must all hold.

    >>> budget = Budget(parameters=20_000, flops=60_000)
    >>> print(budget)
    parameters <= 20,000 and flops <= 60,000

    Limit a custom cost with a `Limit`:

    >>> def widest(architecture):
    ...     return max(architecture.widths)
    >>> print(Budget(Limit(widest, 64), parameters=20_000))
    widest <= 64 and parameters <= 20,000
    """

    limits: tuple[Limit, ...]

    def __init__(self, *limits: Limit, **named: float) -> None:
        for name in named:
            if name not in COSTS:
                raise TabNASError(
                    f"there is no cost {name!r}; {did_you_mean(name, COSTS)} "
                    "(limit a custom cost with Limit(cost, upper))"
                )
        for limit in limits:
            if not isinstance(limit, Limit):
                raise TabNASError(
                    "a limit must have the name of its cost, like Budget(parameters=20_000), or be "
                    f"a Limit(cost, upper), got {limit!r}"
                )
        self.limits = (*limits, *(Limit(COSTS[name], bound) for name, bound in named.items()))
        names = [limit.cost.name for limit in self.limits]
        for name in names:
            if names.count(name) > 1:
                raise TabNASError(
                    f"the budget limits {name} more than once; give custom costs different names: "
                    "CallableCost(function, name=...)"
                )

    def at_precision(self, precision: Precision) -> Budget:
        """Return the limits for networks whose weights are stored in another precision."""
        limits = self.limits
        return Budget(*(Limit(limit.cost.at_precision(precision), limit.upper) for limit in limits))

    def get_upper(self, name: str) -> float:
        """Return the limit on a cost; infinite if there is none.

        >>> budget = Budget(parameters=20_000)
        >>> budget.get_upper("parameters"), budget.get_upper("bytes")
        (20000, inf)
        """
        return next((limit.upper for limit in self.limits if limit.cost.name == name), inf)

    @property
    def precision(self) -> Precision:
        """The precision for which a limit counts bytes."""
        costs = (limit.cost for limit in self.limits)
        return next((c.precision for c in costs if isinstance(c, Bytes)), Precision.FLOAT32)

    def costs(self, space: SearchSpace, architecture: Architecture) -> dict[str, float]:
        """Return the value of every limited cost for the architecture, by name."""
        return {limit.cost.name: limit.cost(space, architecture) for limit in self.limits}

    def admits(self, space: SearchSpace, architecture: Architecture) -> bool:
        """Return whether the architecture keeps all limits."""
        return all(limit.cost(space, architecture) <= limit.upper for limit in self.limits)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Budget) and self.limits == other.limits

    def __hash__(self) -> int:
        return hash(self.limits)

    def __str__(self) -> str:
        return " and ".join(map(str, self.limits)) or "no limit"

    def __repr__(self) -> str:
        return f"Budget({self})"
