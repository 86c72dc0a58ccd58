"""The specification of a network: its inputs, its outputs and its loss."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tabnas.errors import TabNASError, check_int, did_you_mean
from tabnas.space import DEFAULT_DIMENSIONS, NumericEmbeddings


class Loss(StrEnum):
    """The losses; each is a mean over rows, weighted if the rows have weights."""

    LOGISTIC = "logistic"
    """Binary target, one logit z, label y in [0, 1]: log(1 + exp(z)) - y z."""
    SOFTMAX = "softmax"
    """One logit per class: log(sum exp(z)) - z[label]."""
    SQUARED_ERROR = "squared_error"
    """Regression on one or several outputs: the mean over outputs of (z - y)^2."""


@dataclass(frozen=True, kw_only=True)
class Embedding:
    """A learned table [categories, dimension]: a vector for each category of a column."""

    categories: int
    dimension: int

    def __post_init__(self) -> None:
        check_int("the categories of an embedding", self.categories, minimum=1)
        check_int("the dimension of an embedding", self.dimension, minimum=1)


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Numeric columns, then the embeddings of categorical columns, then those of numeric ones.

    `knots` are ascending values of each numeric column, at least two, or none for a column that is
    not embedded. If the architecture has numeric embeddings of dimension d, the inputs end with
    dimension 1 of all embedded columns, dimension 2 of all, and so on up to d.

    >>> Inputs(numeric=13, category_embeddings=[Embedding(categories=100, dimension=39)] * 26).width
    1027
    >>> inputs = Inputs(numeric=3, knots=[(-1.0, 0.0, 1.5), (), (0.0, 1.0)])
    >>> inputs.embedded_numeric, inputs.numeric_embeddings([0, 2])
    ((0, 2), NumericEmbeddings(columns=2, knots=5, dimensions=(0, 2)))
    """

    numeric: int = 0
    category_embeddings: tuple[Embedding, ...] = ()
    knots: tuple[tuple[float, ...], ...] = ()

    def __init__(
        self,
        *,
        numeric: int = 0,
        category_embeddings: Iterable[Embedding] = (),
        knots: Iterable[Iterable[float]] = (),
    ) -> None:
        object.__setattr__(
            self, "numeric", check_int("the number of numeric columns", numeric, minimum=0)
        )
        object.__setattr__(self, "category_embeddings", tuple(category_embeddings))
        columns = tuple(_check_knots(column, values) for column, values in enumerate(knots))
        if columns and len(columns) != self.numeric:
            raise TabNASError(
                f"knots must be given for each of the {self.numeric} numeric columns, "
                f"got {len(columns)}"
            )
        object.__setattr__(self, "knots", columns if any(columns) else ())
        check_int("the width of the inputs", self.width, minimum=1)

    @property
    def width(self) -> int:
        """The number of input units of the first layer, without numeric embeddings."""
        return self.numeric + sum(embedding.dimension for embedding in self.category_embeddings)

    @cached_property
    def embedded_numeric(self) -> tuple[int, ...]:
        """The numeric columns that have knots."""
        return tuple(column for column, knots in enumerate(self.knots) if knots)

    @cached_property
    def gaps(self) -> tuple[NDArray[np.float32], ...]:
        """The distance from each knot of an embedded column to the next, as float32."""
        gaps = [np.diff(np.array(knots, np.float64)) for knots in self.knots if knots]
        return tuple(np.minimum(gap, np.finfo(np.float32).max).astype(np.float32) for gap in gaps)

    def numeric_embeddings(
        self, dimensions: Iterable[int] = DEFAULT_DIMENSIONS
    ) -> NumericEmbeddings | None:
        """Return the input layer of a search space; None if no column has knots."""
        if not self.embedded_numeric:
            return None
        return NumericEmbeddings(
            columns=len(self.embedded_numeric),
            knots=sum(map(len, self.knots)),
            dimensions=dimensions,
        )

    @property
    def embedding_parameters(self) -> int:
        """The number of parameters of all embeddings of categories."""
        return sum(
            embedding.categories * embedding.dimension for embedding in self.category_embeddings
        )


def _check_knots(column: int, knots: Iterable[float]) -> tuple[float, ...]:
    """Return the knots of a column as float32 values; raise an error unless they ascend."""
    with np.errstate(over="ignore"):
        values = tuple(np.asarray(tuple(knots), np.float32).tolist())
    if not values:
        return ()
    finite = bool(np.isfinite(values).all())
    if len(values) < 2 or not finite or any(not a < b for a, b in pairwise(values)):
        raise TabNASError(
            f"the knots of numeric column {column} must be at least two finite numbers that ascend "
            f"in single precision, got {values[:5]}"
        )
    return values


@dataclass(frozen=True, kw_only=True)
class NetworkSpec:
    """Inputs, loss and number of outputs: everything about a network except its hidden layers.

    >>> NetworkSpec(inputs=Inputs(numeric=4), loss="softmax", outputs=3).loss
    <Loss.SOFTMAX: 'softmax'>
    """

    inputs: Inputs
    loss: Loss
    outputs: int

    def __init__(self, *, inputs: Inputs, loss: Loss | str, outputs: int = 1) -> None:
        if loss not in list(Loss):
            known = [member.value for member in Loss]
            raise TabNASError(f"unknown loss {loss!r}; {did_you_mean(loss, known)}")
        loss = Loss(loss)
        minimum = 2 if loss is Loss.SOFTMAX else 1
        check_int(f"the outputs of a network with {loss} loss", outputs, minimum=minimum)
        if loss is Loss.LOGISTIC and outputs != 1:
            raise TabNASError(
                f"the logistic loss must have 1 output, got {outputs}; "
                "for several classes use the softmax loss"
            )
        object.__setattr__(self, "inputs", inputs)
        object.__setattr__(self, "loss", loss)
        object.__setattr__(self, "outputs", outputs)
