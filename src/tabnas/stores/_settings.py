"""Everything that shapes a store but the files themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from tabnas.data import Kind, Scaling, Shares
from tabnas.data.columns import BUCKETS, checked_buckets
from tabnas.data.reading import refuse_other_marks
from tabnas.errors import TabNASError, check_int, did_you_mean
from tabnas.stores._memory import Sizes

DECLARABLE = ("numeric", "categorical", "boolean", "datetime", "hashed")


@dataclass(frozen=True, kw_only=True)
class StoreSettings:
    """What is asked of a store; all of it is checked here, before any file is read."""

    target: str
    task: Literal["classification", "regression"] | None = None
    shares: Shares = field(default_factory=Shares)
    kinds: Mapping[str, str] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    scaling: Scaling = "robust"
    min_count: int = 2
    max_categories: int = 10_000
    buckets: int = BUCKETS
    decimal: str | None = None  # the mark of decimals, where texts leave it open
    seed: int = 0
    memory: int = 10**9  # bytes

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        kinds = {name.strip(): _kind(name, kind) for name, kind in self.kinds.items()}
        set_field(self, "kinds", kinds)
        set_field(self, "drop", tuple(dict.fromkeys(name.strip() for name in self.drop)))
        set_field(self, "target", self.target.strip())
        check_int("min_count", self.min_count, minimum=1)
        check_int("max_categories", self.max_categories, minimum=1)
        check_int("seed", self.seed, minimum=0)
        checked_buckets(self.buckets)
        refuse_other_marks(self.decimal)
        Sizes.within(self.memory)
        _among("task", self.task, (None, "classification", "regression"))
        _among("scaling", self.scaling, get_args(Scaling))
        for name in (self.target, *self.drop):
            if name in kinds:
                what = "the target" if name == self.target else "dropped"
                raise TabNASError(
                    f"the column {name!r} must be of one use, but it is {what} and declared "
                    f"{kinds[name]}; remove one"
                )
        if self.target in self.drop:
            raise TabNASError(f"the column {self.target!r} cannot be both the target and dropped")

    @property
    def sizes(self) -> Sizes:
        """What the memory allows."""
        return Sizes.within(self.memory)

    def to_dict(self) -> dict[str, Any]:
        """All of it, fit for JSON."""
        return asdict(self) | {"drop": list(self.drop)}


def _kind(name: str, kind: str) -> str:
    if kind not in DECLARABLE:
        raise TabNASError(
            f"the column {name!r} cannot be {kind!r}; {did_you_mean(str(kind), DECLARABLE)}"
        )
    return str(Kind(kind))


def _among(what: str, given: Any, known: tuple[Any, ...]) -> None:
    if given not in known:
        words = [str(one) for one in known if one is not None]
        raise TabNASError(f"there is no {what} {given!r}; {did_you_mean(str(given), words)}")
