"""Compiled kernels of a policy step: for arrays this small, NumPy's calls take most of the time."""

from __future__ import annotations

from math import sqrt

import numpy as np

from tabnas.kernel_cache import cached_njit
from tabnas.types import BoolArray, FloatArray, IntArray


@cached_njit
def policy_gradient(
    choices: IntArray, advantage: FloatArray, expectation: FloatArray
) -> FloatArray:
    """Return `sum_k advantage_k * (1[y_ki = j] - E[1[Y_i = j]])`, [batch, layers, choices].

    `choices` is [batch, n, layers], `advantage` [batch, n].
    """
    gradient = np.empty_like(expectation)
    for b in range(len(choices)):
        total = advantage[b].sum()
        for i in range(expectation.shape[1]):
            for j in range(expectation.shape[2]):
                gradient[b, i, j] = -total * expectation[b, i, j]
            for k in range(choices.shape[1]):
                gradient[b, i, choices[b, k, i]] += advantage[b, k]
    return gradient


@cached_njit
def adam_step(
    logits: FloatArray,
    mean: FloatArray,
    square: FloatArray,
    steps: FloatArray,
    gradient: FloatArray,
    active: BoolArray,
    learning_rate: float,
    beta1: float,
    beta2: float,
    epsilon: float,
) -> FloatArray:
    """Return new logits, [batch, n]; update moments and step counts of active policies in place."""
    moved = logits.copy()
    for b in range(len(logits)):
        if not active[b]:
            continue
        steps[b] += 1
        # bias correction: the averages start at 0
        mean_scale = 1 / (1 - beta1 ** steps[b])
        square_scale = 1 / (1 - beta2 ** steps[b])
        for i in range(logits.shape[1]):
            g = gradient[b, i]
            mean[b, i] = beta1 * mean[b, i] + (1 - beta1) * g
            square[b, i] = beta2 * square[b, i] + (1 - beta2) * g * g
            step = mean_scale * mean[b, i] / (sqrt(square_scale * square[b, i]) + epsilon)
            moved[b, i] += learning_rate * step
    return moved
