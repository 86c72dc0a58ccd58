"""The task of a network: its inputs, its outputs and its loss."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from tabnas.errors import TabNASError, check_int, did_you_mean


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
    """Numeric columns, followed by the embeddings of the categorical columns.

    >>> Inputs(numeric=13, embeddings=[Embedding(categories=100, dimension=39)] * 26).width
    1027
    """

    numeric: int = 0
    embeddings: tuple[Embedding, ...] = ()

    def __init__(self, *, numeric: int = 0, embeddings: Iterable[Embedding] = ()) -> None:
        object.__setattr__(
            self, "numeric", check_int("the number of numeric columns", numeric, minimum=0)
        )
        object.__setattr__(self, "embeddings", tuple(embeddings))
        check_int("the width of the inputs", self.width, minimum=1)

    @property
    def width(self) -> int:
        """The number of input units of the first layer."""
        return self.numeric + sum(embedding.dimension for embedding in self.embeddings)

    @property
    def embedding_parameters(self) -> int:
        """The number of parameters of all embedding tables."""
        return sum(embedding.categories * embedding.dimension for embedding in self.embeddings)


@dataclass(frozen=True, kw_only=True)
class Task:
    """Inputs, loss and number of outputs: everything about a network except its hidden layers.

    >>> Task(inputs=Inputs(numeric=4), loss="softmax", outputs=3).loss
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
