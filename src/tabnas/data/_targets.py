"""Encode and decode targets: classes as integers, quantities standardized."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabnas.data._kinds import Kind, check_number_labels, infer_schema
from tabnas.data._labels import (
    Label,
    encode_labels,
    find_labels,
    normalize_labels,
)
from tabnas.data._number_text import (
    DEFAULT_DECIMALS,
    DEFAULT_NUMBER_FORMAT,
    DecimalContext,
    NumberFormat,
    are_number_like,
)
from tabnas.data._values import (
    CERTAIN_NA_VALUES,
    NA_VALUES,
    POSSIBLE_LABELS,
    RowError,
    check_column_type,
    count_distinct,
    is_missing,
    is_text,
    to_numbers,
    to_texts,
)
from tabnas.data.columns import DecimalMark, Text, read_text
from tabnas.decoding import (
    DecodeError,
    DecodeWith,
    FiniteFloat,
    PositiveFloat,
    decode,
    describe_value,
)
from tabnas.errors import TabNASError, did_you_mean
from tabnas.types import FloatArray, IntArray

Task = Literal["binary", "multiclass", "regression"]
"""What is predicted: one of two classes, one of several, or a quantity."""
MAX_INTEGER_CLASSES = 30
"""Integers with more different values than this are a quantity."""
MAX_SCALED = 1e9  # deviations from the mean, beyond which the square of an error could overflow


@dataclass(frozen=True, kw_only=True)
class Target(ABC):
    """A fitted target column; its state is plain data."""

    name: Text
    kind: ClassVar[str]

    @property
    @abstractmethod
    def task(self) -> Task:
        """The task of the target."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """The number of outputs that a network has for it."""

    @abstractmethod
    def encode(self, column: Any, decimal: str | None = None) -> NDArray[Any]:
        """Return `y`, [rows]: class indices, or numbers in their original units.

        Missing and unknown values are an error. `decimal` is the decimal mark of numbers that come
        as texts, if their table shows one.
        """

    def scale_values(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return what a network is trained on: class indices, or standardized numbers."""
        return y

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the state, for JSON."""


def _read_labels(values: Any) -> tuple[Label, ...]:
    """Return the labels of a file: two or more that differ, all of one type."""
    labels = tuple(values) if isinstance(values, list | tuple) else ()
    if (
        len(labels) < 2
        or len(set(map(type, labels))) != 1
        or not isinstance(labels[0], str | int | float)
        or not all(map(_is_label, labels))
        or len(normalize_labels(labels).unique()) < len(labels)
    ):
        raise ValueError(f"must be two or more labels of one type, got {describe_value(values)}")
    return labels


def _is_label(label: Label) -> bool:
    if isinstance(label, str):
        return "\0" not in read_text(label)  # where NumPy's texts end
    return isinstance(label, int) or isfinite(label)


def _check_labels(name: str, labels: Sequence[Label]) -> None:
    """Raise an error if a label has a zero byte, with which no model could be loaded."""
    for label in labels:
        if isinstance(label, str) and "\0" in label:
            raise TabNASError(
                f"the classes of the target {name!r} must not have zero bytes, got {label!r}; "
                "replace them in the table"
            )


def _make_label_array(labels: Sequence[Label]) -> NDArray[Any]:
    """Return labels as an array; NumPy alone would round integers of which some only fit uint64."""
    array = np.array(labels)
    integers = [label for label in labels if isinstance(label, int)]
    if array.dtype.kind != "f" or not integers:
        return array
    return np.array(integers, np.uint64 if min(integers) >= 0 else object)


@dataclass(frozen=True, kw_only=True)
class ClassTarget(Target):
    """Two or more classes, numbered in the order of their labels.

    Labels are decoded as they were, except for integral floats, which become integers.

    >>> target = ClassTarget.fit("bird", pa.chunked_array([["owl", "auk", "owl"]]))
    >>> target.classes, target.task
    (('auk', 'owl'), 'binary')
    """

    kind = "classes"
    classes: Annotated[tuple[Label, ...], DecodeWith(_read_labels)]

    @classmethod
    def fit(cls, name: str, column: Any) -> ClassTarget:
        """Find the classes of the training rows."""
        classes = find_labels(name, column)
        _check_labels(name, classes)
        if len(classes) < 2:
            only = f"only {classes[0]!r}" if classes else "none"
            raise TabNASError(
                f"the target {name!r} must have at least two classes, but it has {only}; "
                "give rows of others, or name another column"
            )
        return cls(name=name, classes=classes)

    @property
    def task(self) -> Task:
        return "binary" if len(self.classes) == 2 else "multiclass"

    @property
    def outputs(self) -> int:
        return 1 if len(self.classes) == 2 else len(self.classes)

    def encode(self, column: Any, decimal: str | None = None) -> NDArray[np.int32]:
        codes = encode_labels(self.name, self.classes, column)
        if codes.null_count:
            row = int(codes.is_null().to_numpy().argmax())
            value = column[row].as_py()
            problem = (
                "is missing"
                if is_missing(column, na_values=find_na_values(column, self))[row]
                else f"is {value!r}, which does not occur in the training rows; leave the row out"
            )
            raise RowError(f"the target {self.name!r} in", row, problem)
        return np.asarray(codes.to_numpy(), np.int32)

    @property
    def labels(self) -> NDArray[Any]:
        """The classes as an array, in their original type."""
        return _make_label_array(self.classes)

    def decode(self, codes: NDArray[np.integer[Any]]) -> NDArray[Any]:
        """Return the labels of class indices, in their original type."""
        return np.asarray(self.labels[codes])

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "name": self.name, "classes": list(self.classes)}


@dataclass(frozen=True, kw_only=True)
class NumberTarget(Target):
    """A quantity, standardized for training and decoded to its original units."""

    kind = "number"
    center: FiniteFloat
    scale: PositiveFloat
    decimal: DecimalMark = DEFAULT_NUMBER_FORMAT.decimal  # of numbers that come as texts
    unit: Text = DEFAULT_NUMBER_FORMAT.unit  # that may stand beside them

    @classmethod
    def fit(
        cls, name: str, column: Any, number_format: NumberFormat = DEFAULT_NUMBER_FORMAT
    ) -> NumberTarget:
        """Find mean and standard deviation of the training rows."""
        values = to_numbers(name, column, number_format)
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
            decimal=number_format.decimal,
            unit=number_format.unit,
        )

    @property
    def written(self) -> NumberFormat:
        """How the training table writes it, if it is a text."""
        return NumberFormat(self.decimal, self.unit)

    @property
    def task(self) -> Task:
        return "regression"

    @property
    def outputs(self) -> int:
        return 1

    def encode(self, column: Any, decimal: str | None = None) -> FloatArray:
        number_format = NumberFormat(decimal or self.decimal, self.unit)
        values = to_numbers(self.name, column, number_format)
        missing = np.isnan(values)
        if missing.any():
            raise RowError(f"the target {self.name!r} in", int(missing.argmax()), "is missing")
        return values

    def scale_values(self, y: NDArray[Any]) -> NDArray[np.float32]:
        with np.errstate(over="ignore"):
            scaled = (y / 2 - self.center / 2) / self.scale * 2
        return np.clip(scaled, -MAX_SCALED, MAX_SCALED).astype(np.float32)

    def unscale_values(self, values: NDArray[np.floating[Any]]) -> FloatArray:
        """Return standardized values in the target's original units."""
        largest = np.finfo(np.float64).max
        with np.errstate(over="ignore"):
            units = np.asarray(values, np.float64) * self.scale + self.center
        return np.asarray(np.clip(units, -largest, largest))

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
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
    decimals: DecimalContext = DEFAULT_DECIMALS,
) -> Target:
    """Fit the target of a column: classes or a quantity, inferred unless `task` is given."""
    if task not in (None, "classification", "regression"):
        known = ("classification", "regression")
        raise TabNASError(f"there is no task {task!r}; {did_you_mean(str(task), known)}")
    check_column_type(name, column)
    if is_missing(column).all():
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
    """Return how the quantities of a target are written, and notes about it."""
    schema = infer_schema(name, column, decimals, Kind.NUMERIC)
    return schema.number_format, schema.notes


def holds_classes(name: str, column: Any, decimals: DecimalContext = DEFAULT_DECIMALS) -> bool:
    """Return whether a target column holds classes rather than a quantity.

    Texts and booleans are classes, and integers of at most 30 different values.
    """
    if pa.types.is_boolean(column.type) or pa.types.is_dictionary(column.type):
        return True
    if is_text(column) and not are_number_like(to_texts(column).unique()).all():
        check_number_labels(name, to_texts(column))
        return True
    values = to_numbers(name, column, fit_number_format(name, column, decimals)[0])
    is_integral = bool((values[~np.isnan(values)] % 1 == 0).all())
    return is_integral and count_distinct(pa.array(values, from_pandas=True)) <= MAX_INTEGER_CLASSES


def check_class_counts(target: ClassTarget, codes: NDArray[np.integer[Any]]) -> None:
    """Raise an error if a class has a single row: it cannot be in training and in validation."""
    single_row = np.nonzero(np.bincount(codes, minlength=len(target.classes)) == 1)[0]
    if len(single_row):
        others = f", as have {len(single_row) - 1} others" if len(single_row) > 1 else ""
        raise TabNASError(
            f"the class {target.classes[single_row[0]]!r} of the target {target.name!r} has only "
            f"one row{others}, but training and evaluation need at least two; remove it or merge "
            "it with another"
        )


def target_from_dict(state: Mapping[str, Any]) -> Target:
    """Return the target of a state that `to_dict` gave; raise an error if it is malformed."""
    kind = state.get("kind") if isinstance(state, Mapping) else None
    known: tuple[type[Target], ...] = (ClassTarget, NumberTarget)
    for target in known:
        if kind == target.kind:
            fields = {key: value for key, value in state.items() if key != "kind"}
            return decode(target, fields, source="the target")
    raise DecodeError(
        f"the target must be of kind 'classes' or 'number', got {describe_value(kind)}"
    )


# --- rows with a target ---------------------------------------------------------------------------


def find_labelled_rows(column: Any, target: Target | None = None) -> IntArray:
    """Return the numbers of the rows with a target: not null, NaN, or a text like "?"."""
    missing = is_missing(column, na_values=find_na_values(column, target))
    return np.asarray(np.nonzero(~missing)[0], np.int64)


def find_na_values(column: Any, target: Target | None = None) -> tuple[str, ...]:
    """Return the texts that mean that the target of a row is missing.

    Among other texts, "-" and "none" may be labels; for a fitted target, they are if it has them.
    """
    if not is_text(column):
        return NA_VALUES
    if target is not None:
        classes = {str(label).strip() for label in getattr(target, "classes", ())}
        return tuple(text for text in NA_VALUES if text not in classes)
    return NA_VALUES if are_number_like(to_texts(column).unique()).all() else CERTAIN_NA_VALUES


def describe_labels(target: Target) -> tuple[str, ...]:
    """Return notes about labels that look like a missing value."""
    return tuple(
        f"{label!r} is a class of the target {target.name!r}, and not taken for a missing value; "
        "leave these cells empty if they mean that"
        for label in getattr(target, "classes", ())
        if isinstance(label, str) and label.strip() in POSSIBLE_LABELS
    )
