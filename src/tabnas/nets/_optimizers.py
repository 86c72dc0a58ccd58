"""The optimisers, as plain settings; the engines do the arithmetic.

g is the gradient of one element, w the element itself, lr the learning rate of the step. Only the
elements that some worker's child uses move in a step, and so do only their moments.

NOTE[DIFF]: a dense optimiser moves every element in every step: momentum goes on moving, and
Adam's moments go on decaying, for weights that the sampled child does not even have. That would
train a wide layer on the memory of children long past, and cost the whole SuperNet in every step.
Here an unused element stands still, moments included. For Adam, the bias correction therefore
counts the steps *of the element*, n, not of the network: with the global count, an element that
joins late would have hardly any correction left while its moments still start from 0, and its
first step would be (1 - beta1) / sqrt(1 - beta2) = 3.2 times too long at the usual betas. In a
stand-alone network every dense element is used in every step and both readings are ordinary Adam;
rows of embeddings count their own steps there too (PyTorch's SparseAdam counts the network's).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import isfinite

from tabnas.errors import TabnasError


@dataclass(frozen=True, kw_only=True)
class Optimizer(ABC):
    """What all optimisers share.

    `weight_decay` shrinks the matrices of the dense layers, not biases, LayerNorm or embeddings,
    apart from the gradient: w <- w - lr * weight_decay * w (for Adam, that is AdamW).
    """

    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        within("weight_decay", self.weight_decay, 0.0, float("inf"))

    @property
    @abstractmethod
    def moments(self) -> int:
        """How many running averages the optimiser keeps per element."""


@dataclass(frozen=True, kw_only=True)
class SGD(Optimizer):
    """Stochastic gradient descent: m <- momentum * m + g, then w <- w - lr * m."""

    momentum: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        within("momentum", self.momentum, 0.0, 1.0)

    @property
    def moments(self) -> int:
        """The velocity m, unless there is no momentum."""
        return 1 if self.momentum else 0


@dataclass(frozen=True, kw_only=True)
class Adam(Optimizer):
    """Adam.

    m <- beta1 * m + (1 - beta1) * g           v <- beta2 * v + (1 - beta2) * g^2
    w <- w - lr * m / (1 - beta1^n) / (sqrt(v / (1 - beta2^n)) + epsilon)

    The paper's networks take epsilon = 0.001.
    """

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        super().__post_init__()
        within("beta1", self.beta1, 0.0, 1.0)
        within("beta2", self.beta2, 0.0, 1.0)
        within("epsilon", self.epsilon, 1e-30, float("inf"))  # 0 / 0 where a unit is dead

    @property
    def moments(self) -> int:
        """The averages of the gradient and of its square."""
        return 2


def within(name: str, value: float, least: float, below: float) -> None:
    """Refuse a setting outside [least, below)."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not isfinite(value) or not least <= value < below:
        raise TabnasError(
            f"{name} must be at least {least:g} and below {below:g}, however {value!r} was given"
        )
