"""The settings of a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from tabnas.data import Kind, Scaling, Shares
from tabnas.data.columns import BUCKETS, check_buckets
from tabnas.data.lowlevel import check_decimal_mark
from tabnas.errors import TabNASError, check_int, did_you_mean

MIN_MEMORY = 300 * 10**6
"""The smallest memory setting in bytes; the program itself takes most of it."""
MAX_CHUNK_BYTES = 1 << 25  # larger ones are no faster
MAX_SAMPLED_ROWS = 1 << 18
MIN_SAMPLED_ROWS = 1 << 12
DECLARABLE_KINDS = ("numeric", "categorical", "boolean", "datetime", "hashed")


@dataclass(frozen=True, kw_only=True)
class StoreSettings:
    """The settings of a store, checked before any file is read."""

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
        kinds = {name.strip(): _check_kind(name, kind) for name, kind in self.kinds.items()}
        set_field(self, "kinds", kinds)
        set_field(self, "drop", tuple(dict.fromkeys(name.strip() for name in self.drop)))
        set_field(self, "target", self.target.strip())
        check_int("min_count", self.min_count, minimum=1)
        check_int("max_categories", self.max_categories, minimum=1)
        check_int("seed", self.seed, minimum=0)
        check_buckets(self.buckets)
        check_decimal_mark(self.decimal)
        MemoryPlan.from_memory(self.memory)
        _check_choice("task", self.task, (None, "classification", "regression"))
        _check_choice("scaling", self.scaling, get_args(Scaling))
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
    def memory_plan(self) -> MemoryPlan:
        """How the memory is divided."""
        return MemoryPlan.from_memory(self.memory)


def _check_kind(name: str, kind: str) -> str:
    if kind not in DECLARABLE_KINDS:
        raise TabNASError(
            f"the column {name!r} cannot be {kind!r}; {did_you_mean(str(kind), DECLARABLE_KINDS)}"
        )
    return str(Kind(kind))


def _check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    if value not in choices:
        names = [str(choice) for choice in choices if choice is not None]
        raise TabNASError(f"there is no {name} {value!r}; {did_you_mean(str(value), names)}")


# --- memory ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class MemoryPlan:
    """How the memory is divided."""

    chunk: int  # bytes of a file that are read at a time
    counts: int  # bytes of all counts of categories
    sample: int  # bytes of the rows that scales are found from

    @classmethod
    def from_memory(cls, memory: int) -> MemoryPlan:
        """Divide the memory; parsing and encoding a chunk takes several times its bytes."""
        if not isinstance(memory, int) or isinstance(memory, bool) or memory < MIN_MEMORY:
            raise TabNASError(
                f"memory must be at least {MIN_MEMORY // 10**6} MB, of which the program itself "
                f"takes most, got {memory!r}"
            )
        chunk = min(memory // 100, MAX_CHUNK_BYTES)
        return cls(chunk=chunk, counts=memory // 20, sample=memory // 32)

    def sampled_rows(self, row_bytes: float) -> int:
        """Return how many rows are sampled if each takes that many bytes."""
        return int(min(max(self.sample / max(row_bytes, 1.0), MIN_SAMPLED_ROWS), MAX_SAMPLED_ROWS))
