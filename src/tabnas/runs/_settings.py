"""What a user may say about a run; everything has a default but the limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from math import inf
from numbers import Real
from typing import Any, Literal, get_args

from tabnas.data import Scaling, Shares
from tabnas.errors import TabnasError, did_you_mean, whole
from tabnas.space import COSTS, Budget

Order = Literal["random", "time", "group"]
ClassWeight = Literal["balanced"]
MOST_WORKERS = 64


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """One run: a table, a limit, and whatever else somebody cares about."""

    limits: Mapping[str, float]
    """The most of each cost, by its name: {"parameters": 20_000}."""
    layers: int | None = None
    """The most hidden layers. Without it, three."""
    widths: tuple[int, ...] | None = None
    """Candidate widths of every layer; 0 makes layers optional. Without them, a rule finds them."""

    metric: str | None = None
    """What candidates are chosen by. Without it, log loss for classes and RMSE for quantities."""
    class_weight: ClassWeight | None = None
    """"balanced": every class weighs the same in training, however rare."""
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

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        set_field(self, "limits", dict(self.limits))
        set_field(self, "kinds", dict(self.kinds))
        set_field(self, "drop", tuple(self.drop))
        if not self.limits:
            known = ", ".join(f"max_{name}" for name in COSTS)
            raise TabnasError(
                f"a run must have at least one limit, however none was given: {known}"
            )
        self.budget  # noqa: B018 - refuses unknown costs and impossible limits
        whole("seed", self.seed, least=0)
        if whole("workers", self.workers, least=1) > MOST_WORKERS:
            raise TabnasError(
                f"workers must be at most {MOST_WORKERS}, however {self.workers} was given; more "
                "than there are cores only wait for one another"
            )
        for name in ("layers", "candidates"):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name), least=1)
        if self.widths is not None:
            if not isinstance(self.widths, Iterable) or isinstance(self.widths, str):
                raise TabnasError(
                    f"widths must be several numbers, however {self.widths!r} was given"
                )
            set_field(self, "widths", tuple(self.widths))
        if self.time is not None and not (_is_number(self.time) and 0 < self.time < inf):
            raise TabnasError(f"the time must be positive seconds, however {self.time!r} was given")
        _one_of("order of a split", self.order, get_args(Order))
        if self.class_weight is not None:
            _one_of("class weight", self.class_weight, get_args(ClassWeight))
        if (self.order == "random") != (self.order_column is None):
            raise TabnasError(
                "a split by time or by group needs the name of its column, and a random one none"
            )

    def to_dict(self) -> dict[str, Any]:
        """What was said, fit for TOML, which knows no None."""
        said = {each.name: getattr(self, each.name) for each in fields(self)}
        said["shares"] = asdict(self.shares)
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in said.items()
            if value is not None
        }

    @classmethod
    def from_dict(cls, said: Mapping[str, Any]) -> RunSettings:
        """The inverse of `to_dict`; what is unknown or malformed is refused."""
        known = {each.name for each in fields(cls)}
        for name in said:
            if name not in known:
                raise TabnasError(f"there is no setting {name!r}; {did_you_mean(name, known)}")
        try:
            changed: dict[str, Any] = {n: tuple(said[n]) for n in ("widths", "drop") if n in said}
            if "shares" in said:
                changed["shares"] = Shares(**said["shares"])
            return cls(**{**said, **changed})
        except (TypeError, AttributeError) as error:
            raise TabnasError(f"the settings of the run are malformed: {error}") from None

    @property
    def budget(self) -> Budget:
        """The limits, as the search takes them."""
        return Budget(**self.limits)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _one_of(what: str, given: Any, known: tuple[str, ...]) -> None:
    if given not in known:
        raise TabnasError(f"there is no {what} {given!r}; {did_you_mean(str(given), known)}")
