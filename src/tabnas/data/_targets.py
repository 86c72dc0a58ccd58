"""Targets: classes to numbers and back, quantities scaled and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabnas.data._values import are_numbers, distinct, is_text, numbers, texts
from tabnas.errors import TabnasError, did_you_mean
from tabnas.types import FloatArray

Task = Literal["binary", "multiclass", "regression"]
FEW_CLASSES = 20
"""Whole numbers with more different values than this are taken for quantities."""


@dataclass(frozen=True, kw_only=True)
class Target(ABC):
    """A fitted target column; its state is plain data."""

    name: str
    form: ClassVar[str]

    @property
    @abstractmethod
    def task(self) -> Task:
        """What is learned."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """How many logits or values a network gives for it."""

    @abstractmethod
    def encode(self, column: Any) -> NDArray[Any]:
        """What a network learns from, [rows]; missing and unknown values are refused."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The state, fit for JSON."""


@dataclass(frozen=True, kw_only=True)
class ClassTarget(Target):
    """Two or more classes, numbered in the order of their labels.

    >>> target = ClassTarget.fit("bird", pa.chunked_array([["owl", "auk", "owl"]]))
    >>> target.classes, target.task
    (('auk', 'owl'), 'binary')
    """

    form = "classes"
    classes: tuple[Any, ...]  # texts, integers or booleans

    @classmethod
    def fit(cls, name: str, column: Any) -> ClassTarget:
        """Find the classes of the training rows."""
        values = _labels(column)
        found = sorted(value for value in values.unique().to_pylist() if value is not None)
        if len(found) < 2:
            only = f"only {found[0]!r}" if found else "none"
            raise TabnasError(f"the target {name!r} must have at least two classes, but has {only}")
        return cls(name=name, classes=tuple(found))

    @property
    def task(self) -> Task:
        return "binary" if len(self.classes) == 2 else "multiclass"

    @property
    def outputs(self) -> int:
        return 1 if len(self.classes) == 2 else len(self.classes)

    @cached_property
    def _lookup(self) -> pa.Array:
        return pa.array(list(self.classes))

    def encode(self, column: Any) -> NDArray[np.int32]:
        values = _labels(column)
        try:
            codes = pc.index_in(values.cast(self._lookup.type), value_set=self._lookup)
        except pa.ArrowInvalid:
            codes = pc.index_in(values.cast(pa.string()), value_set=self._lookup.cast(pa.string()))
        if codes.null_count:
            row = int(codes.is_null().to_numpy().argmax())
            value = values[row].as_py()
            problem = "is missing" if value is None else f"is {value!r}, which training had not"
            raise TabnasError(f"the target {self.name!r} in row {row + 1} {problem}")
        return np.asarray(codes.to_numpy(), np.int32)

    def decode(self, codes: NDArray[np.integer[Any]]) -> NDArray[Any]:
        """The labels of class numbers, of the type they had."""
        return np.asarray(np.array(self.classes)[codes])

    def to_dict(self) -> dict[str, Any]:
        return {"form": self.form, "name": self.name, "classes": list(self.classes)}


@dataclass(frozen=True, kw_only=True)
class NumberTarget(Target):
    """A quantity, standardised inside and given back in its own units."""

    form = "number"
    center: float
    scale: float

    @classmethod
    def fit(cls, name: str, column: Any) -> NumberTarget:
        """Find mean and standard deviation of the training rows."""
        values = numbers(name, column)
        present = values[~np.isnan(values)]
        if len(present) == 0 or present.min() == present.max():
            raise TabnasError(
                f"the target {name!r} must have at least two different values, "
                f"but has {'one' if len(present) else 'none'}"
            )
        largest = float(np.abs(present).max())  # sums of large values would overflow
        share = present / largest
        return cls(
            name=name, center=float(share.mean()) * largest, scale=float(share.std()) * largest
        )

    @property
    def task(self) -> Task:
        return "regression"

    @property
    def outputs(self) -> int:
        return 1

    def encode(self, column: Any) -> NDArray[np.float32]:
        values = numbers(self.name, column)
        if np.isnan(values).any():
            row = int(np.isnan(values).argmax())
            raise TabnasError(f"the target {self.name!r} in row {row + 1} is missing")
        return ((values / 2 - self.center / 2) / self.scale * 2).astype(np.float32)

    def decode(self, values: NDArray[np.floating[Any]]) -> FloatArray:
        """Scaled values in the target's own units."""
        return np.asarray(values, np.float64) * self.scale + self.center

    def to_dict(self) -> dict[str, Any]:
        return {
            "form": self.form,
            "name": self.name,
            "center": self.center,
            "scale": self.scale,
        }


def fit_target(
    name: str, column: Any, *, task: Literal["classification", "regression"] | None = None
) -> Target:
    """The target of a column: classes or a quantity, found from the values unless `task` says."""
    if task not in (None, "classification", "regression"):
        known = ("classification", "regression")
        raise TabnasError(f"there is no task {task!r}; {did_you_mean(str(task), known)}")
    if len(column) == _missing(column):
        raise TabnasError(f"the target {name!r} must have values, but all are missing")
    classes = holds_classes(column) if task is None else task == "classification"
    return ClassTarget.fit(name, column) if classes else NumberTarget.fit(name, column)


def holds_classes(column: Any) -> bool:
    """Whether a target column looks like classes rather than a quantity.

    Texts and booleans do, and whole numbers of at most 20 different values.
    """
    if pa.types.is_boolean(column.type) or pa.types.is_dictionary(column.type):
        return True
    if is_text(column) and not are_numbers(texts(column)):
        return True
    values = numbers("target", column)
    whole = bool((values[~np.isnan(values)] % 1 == 0).all())
    return whole and distinct(pa.array(values, from_pandas=True)) <= FEW_CLASSES


def target_from_dict(state: Mapping[str, Any]) -> Target:
    """The inverse of `to_dict`."""
    fields = {key: value for key, value in state.items() if key != "form"}
    if state.get("form") == ClassTarget.form:
        return ClassTarget(**(fields | {"classes": tuple(fields["classes"])}))
    if state.get("form") == NumberTarget.form:
        return NumberTarget(**fields)
    raise TabnasError(f"there is no target of the form {state.get('form')!r}")


def _labels(column: Any) -> Any:
    """Class labels as texts, integers or booleans; whole floats count as integers."""
    if pa.types.is_dictionary(column.type) or is_text(column):
        return texts(column)
    if pa.types.is_floating(column.type):
        try:
            return column.cast(pa.int64())  # refuses fractions; NaN is no null here
        except pa.ArrowInvalid:
            values = pa.array(column.to_numpy(), from_pandas=True)
            return values.cast(pa.int64()) if _whole(values) else values.cast(pa.string())
    return column


def _whole(values: pa.Array) -> bool:
    return bool(pc.all(pc.equal(pc.floor(values), values), min_count=0).as_py())


def _missing(column: Any) -> int:
    values = texts(column) if is_text(column) else column
    if pa.types.is_floating(values.type):
        return int(pc.sum(pc.is_null(values, nan_is_null=True)).as_py() or 0)
    return int(values.null_count)
