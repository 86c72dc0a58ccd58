"""The settings of the optimizers; the engines do the arithmetic.

g is the gradient of one element, w the element itself, lr the learning rate of the step. Only the
elements that some worker's child uses move in a step, and only their moments are updated.

NOTE[DIFF]: a dense optimizer moves every element in every step: momentum keeps moving, and
Adam's moments keep decaying, for weights that the sampled child does not even have. That would
train a wide layer on the gradients of earlier children, and every step would cost as much as one
of the largest network. Here unused elements and their moments do not change. For Adam, the bias
correction therefore counts the steps *of the element*, n, not of the network: with the global
count, an element that is first used late would have hardly any correction left while its moments
still start from 0, and its first step would be (1 - beta1) / sqrt(1 - beta2) = 3.2 times too long
at the usual betas. In a stand-alone network every dense element is used in every step, and both
counts give ordinary Adam; rows of embeddings count their own steps there too (PyTorch's SparseAdam
counts the network's).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import isfinite

from tabnas.errors import TabNASError


@dataclass(frozen=True, kw_only=True)
class Optimizer(ABC):
    """The base class of all optimizers.

    `weight_decay` shrinks the matrices of the dense layers, not biases, LayerNorm or embeddings,
    separately from the gradient: w <- w - lr * weight_decay * w (for Adam, that is AdamW).
    """

    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        check_range("weight_decay", self.weight_decay, 0.0, float("inf"))

    @property
    @abstractmethod
    def moments(self) -> int:
        """The number of running averages that the optimizer keeps per element."""


@dataclass(frozen=True, kw_only=True)
class SGD(Optimizer):
    """Stochastic gradient descent: m <- momentum * m + g, then w <- w - lr * m."""

    momentum: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("momentum", self.momentum, 0.0, 1.0)

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
        check_range("beta1", self.beta1, 0.0, 1.0)
        check_range("beta2", self.beta2, 0.0, 1.0)
        check_range("epsilon", self.epsilon, 1e-30, float("inf"))  # 0 / 0 where a unit is dead

    @property
    def moments(self) -> int:
        """The averages of the gradient and of its square."""
        return 2


def check_range(name: str, value: float, minimum: float, below: float) -> None:
    """Raise an error unless the value is a number in [minimum, below)."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not isfinite(value) or not minimum <= value < below:
        raise TabNASError(f"{name} must be at least {minimum:g} and below {below:g}, got {value!r}")
