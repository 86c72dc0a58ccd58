"""Targets: classes to numbers and back, quantities scaled and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabnas.data._kinds import Kind, meaning_of, refuse_remarks_among_labels
from tabnas.data._labels import Label, find_labels, label_codes, label_keys
from tabnas.data._number_text import (
    ANYWHERE,
    MARKS,
    POINT,
    DecimalContext,
    NumberFormat,
    are_number_like,
)
from tabnas.data._state import (
    Check,
    checked,
    damaged,
    finite,
    listed,
    one_of,
    positive,
    require,
    text,
)
from tabnas.data._target_rows import target_marks
from tabnas.data._values import (
    RowError,
    absent,
    distinct,
    is_text,
    numbers,
    refuse_unfit,
    texts,
)
from tabnas.errors import TabNASError, did_you_mean
from tabnas.types import FloatArray

Task = Literal["binary", "multiclass", "regression"]
"""What is to be predicted: one of two classes, one of several, or a quantity."""
FEW_CLASSES = 30
"""Whole numbers with more different values than this are taken for quantities."""
FAR = 1e9  # deviations from the mean, beyond which the square of an error could overflow


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
    def truth(self, column: Any, decimal: str | None = None) -> NDArray[Any]:
        """What predictions are judged by, [rows]: class numbers, or values in their own units.

        Numbers that come as texts are read by the decimal mark that their table shows, if any.
        """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The state, fit for JSON."""


@dataclass(frozen=True, kw_only=True)
class ClassTarget(Target):
    """Two or more classes, numbered in the order of their labels.

    Labels come back as they were, but for whole floats, which come back as integers.

    >>> target = ClassTarget.fit("bird", pa.chunked_array([["owl", "auk", "owl"]]))
    >>> target.classes, target.task
    (('auk', 'owl'), 'binary')
    """

    form = "classes"
    classes: tuple[Label, ...]

    @classmethod
    def fit(cls, name: str, column: Any) -> ClassTarget:
        """Find the classes of the training rows."""
        found = find_labels(name, column)
        if len(found) < 2:
            only = f"only {found[0]!r}" if found else "none"
            raise TabNASError(
                f"the target {name!r} must have at least two classes, but it has {only}; "
                "give rows of others, or name another column"
            )
        return cls(name=name, classes=found)

    @property
    def task(self) -> Task:
        return "binary" if len(self.classes) == 2 else "multiclass"

    @property
    def outputs(self) -> int:
        return 1 if len(self.classes) == 2 else len(self.classes)

    def encode(self, column: Any) -> NDArray[np.int32]:
        codes = label_codes(self.name, self.classes, column)
        if codes.null_count:
            row = int(codes.is_null().to_numpy().argmax())
            value = column[row].as_py()
            problem = (
                "is missing"
                if absent(column, marks=target_marks(column, self))[row]
                else f"is {value!r}, which training had not; leave the row out"
            )
            raise RowError(f"the target {self.name!r} in", row, problem)
        return np.asarray(codes.to_numpy(), np.int32)

    def truth(self, column: Any, decimal: str | None = None) -> NDArray[np.int32]:
        return self.encode(column)

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
    decimal: str = POINT.decimal  # the mark in numbers that come as texts
    unit: str = POINT.unit  # that may stand beside them

    @classmethod
    def fit(cls, name: str, column: Any, form: NumberFormat = POINT) -> NumberTarget:
        """Find mean and standard deviation of the training rows."""
        values = numbers(name, column, form)
        present = values[~np.isnan(values)]
        if len(present) == 0 or present.min() == present.max():
            raise TabNASError(
                f"the target {name!r} must have at least two different values, "
                f"but it has {'one' if len(present) else 'none'}; give other rows, or name "
                "another column"
            )
        largest = float(np.abs(present).max())  # sums of large values would overflow
        share = present / largest
        return cls(
            name=name,
            center=float(share.mean()) * largest,
            scale=float(share.std()) * largest or largest,  # the tiniest floats have no half
            decimal=form.decimal,
            unit=form.unit,
        )

    @property
    def written(self) -> NumberFormat:
        """How the training table writes it, where it is a text."""
        return NumberFormat(self.decimal, self.unit)

    @property
    def task(self) -> Task:
        return "regression"

    @property
    def outputs(self) -> int:
        return 1

    def truth(self, column: Any, decimal: str | None = None) -> FloatArray:
        form = NumberFormat(decimal or self.decimal, self.unit)
        values = numbers(self.name, column, form)
        missing = np.isnan(values)
        if missing.any():
            raise RowError(f"the target {self.name!r} in", int(missing.argmax()), "is missing")
        return values

    def encode(self, column: Any) -> NDArray[np.float32]:
        return self.scaled(self.truth(column))

    def scaled(self, values: FloatArray) -> NDArray[np.float32]:
        """Values in the target's own units as a network learns them."""
        with np.errstate(over="ignore"):
            scaled = (values / 2 - self.center / 2) / self.scale * 2
        return np.clip(scaled, -FAR, FAR).astype(np.float32)

    def decode(self, values: NDArray[np.floating[Any]]) -> FloatArray:
        """Scaled values in the target's own units."""
        largest = np.finfo(np.float64).max
        with np.errstate(over="ignore"):
            units = np.asarray(values, np.float64) * self.scale + self.center
        return np.asarray(np.clip(units, -largest, largest))

    def to_dict(self) -> dict[str, Any]:
        return {
            "form": self.form,
            "name": self.name,
            "center": self.center,
            "scale": self.scale,
            "decimal": self.decimal,
            "unit": self.unit,
        }


def fit_target(
    name: str,
    column: Any,
    *,
    task: Literal["classification", "regression"] | None = None,
    decimals: DecimalContext = ANYWHERE,
) -> Target:
    """The target of a column: classes or a quantity, found from the values unless `task` says."""
    if task not in (None, "classification", "regression"):
        known = ("classification", "regression")
        raise TabNASError(f"there is no task {task!r}; {did_you_mean(str(task), known)}")
    refuse_unfit(name, column)
    if absent(column).all():
        raise TabNASError(
            f"the target {name!r} must have values, but all are missing; name another column"
        )
    classes = holds_classes(name, column, decimals) if task is None else task == "classification"
    if classes:
        return ClassTarget.fit(name, column)
    return NumberTarget.fit(name, column, fit_number_format(name, column, decimals)[0])


def fit_number_format(
    name: str, column: Any, decimals: DecimalContext
) -> tuple[NumberFormat, tuple[str, ...]]:
    """How the quantities of a target are written, and what to say of it."""
    meaning = meaning_of(name, column, decimals, Kind.NUMERIC)
    return meaning.form, meaning.notes


def holds_classes(name: str, column: Any, decimals: DecimalContext = ANYWHERE) -> bool:
    """Whether a target column looks like classes rather than a quantity.

    Texts and booleans do, and whole numbers of at most 30 different values.
    """
    if pa.types.is_boolean(column.type) or pa.types.is_dictionary(column.type):
        return True
    if is_text(column) and not are_number_like(texts(column).unique()).all():
        refuse_remarks_among_labels(name, texts(column))
        return True
    values = numbers(name, column, fit_number_format(name, column, decimals)[0])
    whole = bool((values[~np.isnan(values)] % 1 == 0).all())
    return whole and distinct(pa.array(values, from_pandas=True)) <= FEW_CLASSES


def refuse_lonely_classes(target: ClassTarget, codes: NDArray[np.integer[Any]]) -> None:
    """Refuse a class of a single row: it cannot be both learned from and judged by."""
    lonely = np.nonzero(np.bincount(codes, minlength=len(target.classes)) == 1)[0]
    if len(lonely):
        others = f", as have {len(lonely) - 1} others" if len(lonely) > 1 else ""
        raise TabNASError(
            f"the class {target.classes[lonely[0]]!r} of the target {target.name!r} has only one "
            f"row{others}, but learning and judging it takes at least two; remove it or merge "
            "it with another"
        )


def target_from_dict(state: Mapping[str, Any]) -> Target:
    """The inverse of `to_dict`; what is malformed is refused."""
    form = state.get("form") if isinstance(state, Mapping) else None
    if form == ClassTarget.form:
        checks = {"name": text, "classes": Check("two or more labels of one type", _labels)}
    elif form == NumberTarget.form:
        checks = {"name": text, "center": finite, "scale": positive}
        checks |= {"decimal": one_of(MARKS), "unit": text}
    else:
        raise damaged("the target", "of classes or a number", form)
    fields = checked("the target", {k: v for k, v in state.items() if k != "form"}, checks)
    return ClassTarget(**fields) if form == ClassTarget.form else NumberTarget(**fields)


def _labels(values: Any) -> tuple[Label, ...]:
    labels = tuple(listed(values))
    require(len(labels) >= 2 and len(set(map(type, labels))) == 1)
    require(isinstance(labels[0], str | int | float))
    for label in labels:
        _read_label(label)
    require(len(label_keys(labels).unique()) == len(labels))
    return labels


def _read_label(label: Label) -> None:
    if isinstance(label, str):
        text.read(label)
        require("\0" not in label)  # NumPy's texts end there
    elif isinstance(label, float):
        finite.read(label)
