"""What a user may say about a run; everything has a default but the limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from math import inf
from numbers import Real
from typing import Any, Literal, get_args

from tabnas.data import Scaling, Shares
from tabnas.data.lowlevel import check_decimal_mark
from tabnas.errors import TabNASError, check_int, did_you_mean
from tabnas.latency import COST_NAMES
from tabnas.nets import ENGINES
from tabnas.space import COSTS, Budget, Cost, Limit

Order = Literal["random", "time", "group"]
ClassWeight = Literal["balanced"]
MOST_WORKERS = 64
MOST_LAYERS = 32
MOST_WIDTHS = 500
MOST_WIDTH = 1 << 14
MOST_CANDIDATES = 10_000


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """One run: a table, a limit, and whatever else somebody cares about."""

    limits: Mapping[str, float]
    """The most of each cost, by its name: {"parameters": 20_000, "latency_us": 50}."""
    latency_table: str | None = None
    """A file of `tabnas latency` from another machine, to keep limits on latency there."""
    layers: int | None = None
    """The most hidden layers. Without it, three."""
    widths: tuple[int, ...] | None = None
    """Candidate widths of every layer; 0 makes layers optional. Without them, a rule finds them."""

    metric: str | None = None
    """What candidates are chosen by. Without it, log loss for classes and RMSE for quantities."""
    class_weight: ClassWeight | None = None
    """"balanced": every class weighs the same in training, but rare."""
    shares: Shares = field(default_factory=Shares)
    """How much of the table is for validation and for the final test."""
    order: Order = "random"
    """How rows are split: at random (by class), by time (the latest are the test), by group."""
    order_column: str | None = None
    """The column of moments or groups, for the orders "time" and "group". It is no feature then."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """Kinds of columns where the found ones are wrong: {"zip": "categorical"}."""
    drop: tuple[str, ...] = ()
    """Columns to ignore."""
    decimal: str | None = None
    """The mark of decimals, "." or ",", where texts leave open whether 1.234 is a thousand."""
    scaling: Scaling = "robust"
    """How numbers are scaled: "robust", "standard", or "none", as in the paper."""

    time: float | None = None
    """About how many seconds the run may take. Without it, as much work as pays by default."""
    candidates: int | None = None
    """How many architectures are trained alone. Without it, three, and more if rows are few."""
    refit: bool = False
    """Whether the final model is trained once more on all rows, those of the test included."""
    baselines: bool = True
    """Whether boosted trees are trained for comparison."""
    seed: int = 0
    workers: int = 1
    """Children trained side by side in a step of the search."""
    engine: str = "compiled"
    memory: int = 10**9
    """About how many bytes a run may take while it learns from a store, whose rows are more."""

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        self._refuse_other_types()
        set_field(self, "limits", dict(self.limits))
        set_field(self, "kinds", dict(self.kinds))
        set_field(self, "drop", tuple(self.drop))
        if not self.limits:
            known = ", ".join(f"max_{name}" for name in (*COSTS, *COST_NAMES))
            raise TabNASError(f"a run must have at least one limit, got none: {known}")
        for name in self.limits:
            _one_of("cost called", name, (*COSTS, *COST_NAMES))
        self.budget  # noqa: B018 - refuses unknown costs and impossible limits
        self._refuse_impossible_latencies()
        check_int("seed", self.seed, minimum=0)
        check_int("memory", self.memory, minimum=1)
        if check_int("workers", self.workers, minimum=1) > MOST_WORKERS:
            raise TabNASError(
                f"workers must be at most {MOST_WORKERS}, got {self.workers}; more "
                "than there are cores only wait for one another"
            )
        for name, most in (("layers", MOST_LAYERS), ("candidates", MOST_CANDIDATES)):
            if getattr(self, name) is not None:
                _at_most(most, name, check_int(name, getattr(self, name), minimum=1))
        if self.widths is not None:
            set_field(self, "widths", tuple(self.widths))
            _at_most(MOST_WIDTHS, "the number of widths", len(self.widths))
            for width in self.widths:
                _at_most(MOST_WIDTH, "a width", check_int("a width", width, minimum=0))
        if self.time is not None and not (_is_number(self.time) and 0 < self.time < inf):
            raise TabNASError(f"the time must be positive seconds, got {self.time!r}")
        _one_of("order of a split", self.order, get_args(Order))
        _one_of("scaling", self.scaling, get_args(Scaling))
        check_decimal_mark(self.decimal)
        _one_of("engine", self.engine, tuple(ENGINES))
        if self.class_weight is not None:
            _one_of("class weight", self.class_weight, get_args(ClassWeight))
        if (self.order == "random") != (self.order_column is None):
            raise TabNASError(
                "a split by time or by group needs the name of its column, and a random one none"
            )

    def _refuse_impossible_latencies(self) -> None:
        limits = {name: most for name, most in self.limits.items() if name in COST_NAMES}
        for name, most in limits.items():
            if not _is_number(most) or not 0 < most < inf:
                raise TabNASError(
                    f"the limit on {name} must be a positive number of microseconds, got {most!r}"
                )
        if self.latency_table is not None and not limits:
            raise TabNASError(
                "a latency table must serve a limit on latency, got none; set "
                + " or ".join(f"max_{name}" for name in COST_NAMES)
            )

    def _refuse_other_types(self) -> None:
        """Files can hold anything; whatever reads a setting later may rely on its type."""
        for name in ("limits", "kinds"):
            _typed(name, getattr(self, name), Mapping, "names with what is said of each")
        for name in ("widths", "drop"):
            if getattr(self, name) is not None:
                _typed(name, getattr(self, name), Iterable, "a list")
        _typed("shares", self.shares, Shares, "shares of the rows")
        for name in ("refit", "baselines"):
            _typed(name, getattr(self, name), bool, "true or false")
        for name in ("metric", "class_weight", "order_column", "latency_table", "decimal"):
            if getattr(self, name) is not None:
                _typed(name, getattr(self, name), str, "a text")
        for name in ("order", "scaling", "engine"):
            _typed(name, getattr(self, name), str, "a text")
        for column in self.drop:
            _typed("a column to drop", column, str, "a text")
        for column, kind in self.kinds.items():
            _typed(f"the kind of {column!r}", kind, str, "a text")

    def to_dict(self) -> dict[str, Any]:
        """What was said, fit for TOML, which knows no None."""
        said = {each.name: getattr(self, each.name) for each in fields(self)}
        said["shares"] = asdict(self.shares)
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in said.items()
            if value is not None
        }

    def identity(self) -> dict[str, str]:
        """Return what settings must have in common for one run to be resumed by another."""
        return {f"the setting {name}": str(value) for name, value in self.to_dict().items()}

    @classmethod
    def from_dict(cls, said: Mapping[str, Any]) -> RunSettings:
        """The inverse of `to_dict`; what is unknown or malformed is refused."""
        known = {each.name for each in fields(cls)}
        _typed("the settings of a run", said, Mapping, "a section of names and values")
        for name in said:
            if name not in known:
                raise TabNASError(f"there is no setting {name!r}; {did_you_mean(name, known)}")
        try:
            shares = {"shares": Shares(**said["shares"])} if "shares" in said else {}
            return cls(**{**said, **shares})
        except (TypeError, AttributeError, ArithmeticError) as error:
            raise TabNASError(f"the settings of the run are malformed: {error}") from None

    @property
    def budget(self) -> Budget:
        """The limits on what can be computed, without those on latency."""
        return Budget(**{name: m for name, m in self.limits.items() if name not in COST_NAMES})

    def budget_with(self, latencies: Mapping[str, Cost]) -> Budget:
        """All limits, in the order in which they were given; a plan finds the latencies."""
        known = COSTS | dict(latencies)
        return Budget(*(Limit(known[name], most) for name, most in self.limits.items()))


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _typed(what: str, given: Any, kind: type, words: str) -> None:
    if not isinstance(given, kind) or (kind is Iterable and isinstance(given, str | Mapping)):
        shown = repr(given) if isinstance(given, str | Real | None) else type(given).__name__
        raise TabNASError(f"{what} must be {words}, got {shown[:80]}")


def _at_most(most: int, what: str, given: int) -> None:
    """More would take memory or time that nobody has; better refused than died of."""
    if given > most:
        raise TabNASError(f"{what} must be at most {most:,}, got {given:,}")


def _one_of(what: str, given: Any, known: tuple[str, ...]) -> None:
    if given not in known:
        raise TabNASError(f"there is no {what} {given!r}; {did_you_mean(str(given), known)}")
