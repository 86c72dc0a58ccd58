"""The targets of examples: numbers, classes, or soft ones, which are distributions over classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tabnas.errors import TabNASError, check_int
from tabnas.nets._arrays import check_array, check_range
from tabnas.nets._network_spec import Loss, NetworkSpec
from tabnas.types import IntArray

MAX_SUM_ERROR = 1e-3
"""How far from 1 the probabilities of a row may sum up: they may come from half precision."""


@dataclass(frozen=True, eq=False, init=False)
class TopClasses:
    """The most probable classes of each row, for targets of many classes.

    classes        int32 [rows, k], class numbers from 0
    probabilities  float32 [rows, k], each row sums to 1

    All other classes have the probability 0. If a class is repeated in a row, its probabilities
    are added. Arrays of the right type and memory order are used in place.

    >>> TopClasses([[4, 0], [1, 2]], [[0.75, 0.25], [0.5, 0.5]]).probabilities.dtype
    dtype('float32')
    """

    classes: NDArray[np.int32]
    probabilities: NDArray[np.float32]

    def __init__(self, classes: ArrayLike, probabilities: ArrayLike) -> None:
        shape = np.shape(classes)
        if len(shape) != 2 or not shape[1]:
            raise TabNASError(
                f"classes must have the shape (rows, k) with k of at least 1, got {shape}"
            )
        set_field = object.__setattr__
        set_field(self, "classes", check_array("classes", classes, shape, np.int32))
        set_field(self, "probabilities", check_probabilities(probabilities, shape))

    def __len__(self) -> int:
        return len(self.classes)

    def take(self, rows: IntArray | slice) -> TopClasses:
        """Return some of the rows; a slice shares memory."""
        return TopClasses(self.classes[rows], self.probabilities[rows])

    def to_probabilities(self, classes: int) -> NDArray[np.float32]:
        """Return the probabilities of all classes, [rows, classes]."""
        probabilities = np.zeros((len(self), classes), np.float32)
        np.add.at(probabilities, (np.arange(len(self))[:, None], self.classes), self.probabilities)
        return np.minimum(probabilities, 1.0, out=probabilities)  # a sum may be rounded up


ExampleTarget: TypeAlias = NDArray[Any] | TopClasses
"""The target of `Examples`: class numbers [rows], values or probabilities [rows, outputs], or the
top classes."""


def check_target(
    spec: NetworkSpec, target: ArrayLike | TopClasses, rows: int, name: str = "targets"
) -> ExampleTarget:
    """Return a target in the types of `Examples`; raise an error if it does not fit the spec."""
    if isinstance(target, TopClasses):
        if spec.loss is not Loss.SOFTMAX or len(target) != rows:
            raise TabNASError(
                f"{name} must be numbers of {rows} rows, or for the softmax loss the top classes "
                f"of {rows} rows, got the top classes of {len(target)} rows"
            )
        check_range("top classes", target.classes, 0, spec.outputs - 1)
        return target
    if spec.loss is Loss.SOFTMAX:
        if np.ndim(target) == 2:
            return check_probabilities(target, (rows, spec.outputs))
        labels = check_array("class labels", target, (rows,), np.int32)
        check_range("class labels", labels, 0, spec.outputs - 1)
        return labels
    shaped = np.asarray(target)
    if spec.outputs == 1 and shaped.ndim == 1:
        shaped = shaped[:, None]
    values = check_array(name, shaped, (rows, spec.outputs), np.float32)
    largest = float(np.finfo(np.float32).max)
    minimum, maximum = (0.0, 1.0) if spec.loss is Loss.LOGISTIC else (-largest, largest)
    check_range(name, values, minimum, maximum)
    return values


def check_probabilities(probabilities: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return the probabilities as float32; raise an error unless each row is a distribution."""
    array = check_array("class probabilities", probabilities, shape, np.float32)
    check_range("class probabilities", array, 0.0, 1.0)
    sums = array.sum(axis=1, dtype=np.float64)
    wrong = np.flatnonzero(np.abs(sums - 1.0) > MAX_SUM_ERROR)
    if len(wrong):
        raise TabNASError(
            f"the class probabilities of each row must sum to 1, "
            f"got {sums[wrong[0]]:.6g} at {wrong[0]}; divide each row by its sum"
        )
    return array


def top_classes(probabilities: ArrayLike, k: int) -> TopClasses:
    """Return the k most probable classes of each row, their probabilities rescaled to sum 1.

    Of equally probable classes, those with the lowest numbers are kept. The classes of a row are in
    ascending order.

    >>> top = top_classes([[0.25, 0.125, 0.5, 0.125]], 3)
    >>> top.classes.tolist()
    [[0, 1, 2]]
    """
    shape = np.shape(probabilities)
    if len(shape) != 2:
        raise TabNASError(f"probabilities must have the shape (rows, classes), got {shape}")
    if check_int("k", k, minimum=1) > shape[1]:
        raise TabNASError(f"k must be at most the number of classes, {shape[1]}, got {k}")
    array = check_probabilities(probabilities, shape)
    # np.argpartition would choose among ties in an order that depends on the processor
    least = np.partition(array, shape[1] - k, axis=1)[:, shape[1] - k, None]
    kept, ties = array > least, array == least
    places = k - kept.sum(axis=1, keepdims=True)
    kept |= ties & (np.cumsum(ties, axis=1, dtype=np.int32) <= places)
    classes = np.nonzero(kept)[1].astype(np.int32).reshape(shape[0], k)
    chosen = array[kept].reshape(shape[0], k)
    return TopClasses(classes, chosen / chosen.sum(axis=1, keepdims=True))


# -- mixtures --------------------------------------------------------------------------------------


def mix_targets(
    spec: NetworkSpec, target: ArrayLike | TopClasses, answers: ArrayLike | TopClasses, share: float
) -> ArrayLike | TopClasses:
    """Return (1 - share) * target + share * answers, in a form that `Examples` takes.

    target   of the examples, as `Examples.target` returns it
    answers  of a teacher; softmax: probabilities [rows, classes], or `TopClasses`; logistic:
             probabilities of the positive class, [rows] or [rows, 1]; squared error: values
             [rows, outputs], or [rows] for one output

    A share of 0 returns the target unchanged. Class numbers and the top k classes of a teacher give
    k + 1 classes.

    >>> from tabnas.nets import Inputs
    >>> spec = NetworkSpec(inputs=Inputs(numeric=1), loss="softmax", outputs=2)
    >>> mix_targets(spec, [1], [[0.5, 0.5]], share=0.5).tolist()
    [[0.25, 0.75]]
    """
    if not 0.0 <= share <= 1.0:
        raise TabNASError(f"share must lie between 0 and 1, got {share}")
    if share == 0.0:
        return target
    rows = len(target) if isinstance(target, TopClasses) else len(np.asarray(target))
    first = check_target(spec, target, rows)
    second = check_target(spec, answers, rows, "answers")
    if spec.loss is Loss.SOFTMAX:
        if "probabilities" not in (_form(first), _form(second)):
            return _mix_top_classes(_to_top_classes(first), _to_top_classes(second), share)
        first = _to_probabilities(first, spec.outputs)
        second = _to_probabilities(second, spec.outputs)
    mixture: NDArray[np.float32] = np.float32(share) * np.asarray(second)
    mixture += np.float32(1.0 - share) * np.asarray(first)
    if spec.loss is not Loss.SQUARED_ERROR:
        np.minimum(mixture, 1.0, out=mixture)  # a sum may be rounded up
    return mixture


def _mix_top_classes(target: TopClasses, answers: TopClasses, share: float) -> TopClasses:
    """Return the classes of both, side by side."""
    own = np.float32(1.0 - share) * target.probabilities
    theirs = np.float32(share) * answers.probabilities
    return TopClasses(
        np.concatenate([target.classes, answers.classes], axis=1),
        np.concatenate([own, theirs], axis=1),
    )


def concatenate_targets(
    spec: NetworkSpec, first: ExampleTarget | None, second: ExampleTarget | None
) -> ExampleTarget | None:
    """Return the targets of both, one after the other.

    Class numbers become a distribution of the other's form if that is one. Top classes become
    probabilities of all classes if the other target is of this form.
    """
    if first is None or second is None:
        if first is not second:
            raise TabNASError("both or neither must have targets, got one without")
        return None
    forms = {_form(first), _form(second)} if spec.loss is Loss.SOFTMAX else set()
    if "probabilities" in forms:
        first = _to_probabilities(first, spec.outputs)
        second = _to_probabilities(second, spec.outputs)
    elif "top classes" in forms:
        first, second = _to_top_classes(first), _to_top_classes(second)
        k = max(first.classes.shape[1], second.classes.shape[1])
        return TopClasses(
            np.concatenate([_pad(first.classes, k), _pad(second.classes, k)]),
            np.concatenate([_pad(first.probabilities, k), _pad(second.probabilities, k)]),
        )
    return np.concatenate([np.asarray(first), np.asarray(second)])


def _form(target: ExampleTarget) -> str:
    if isinstance(target, TopClasses):
        return "top classes"
    return "class numbers" if target.ndim == 1 else "probabilities"


def _to_top_classes(target: ExampleTarget) -> TopClasses:
    """Return class numbers as one class of probability 1."""
    if isinstance(target, TopClasses):
        return target
    return TopClasses(target.reshape(-1, 1), np.ones((len(target), 1), np.float32))


def _to_probabilities(target: ExampleTarget, classes: int) -> NDArray[Any]:
    """Return any form of target as the probabilities of all classes."""
    if not isinstance(target, TopClasses) and target.ndim == 2:
        return target
    return _to_top_classes(target).to_probabilities(classes)


def _pad(array: NDArray[Any], columns: int) -> NDArray[Any]:
    """Return the array with columns of zeros added: class 0, with the probability 0."""
    return np.pad(array, [(0, 0), (0, columns - array.shape[1])])
