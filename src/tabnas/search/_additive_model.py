"""An additive model of the qualities in the history of a search."""

from __future__ import annotations

import numpy as np

from tabnas.blas import single_threaded_blas
from tabnas.search._history import History
from tabnas.space import SearchSpace
from tabnas.types import FloatArray, IntArray


def fit_additive_model(space: SearchSpace, history: History, *, ridge: float = 1.0) -> FloatArray:
    """Return the coefficient of every choice, [layers, max_choices], by ridge regression.

    The model: quality = intercept of the policy step + sum of the coefficients of the choices. Each
    step has its own intercept, since the weights improve, and the rows change, from step to step.
    Later evaluations have more weight, from 1 for the first to e^2 for the last, since their
    SuperNet is closer to the final one. Used as logits, the coefficients make the best
    architectures of the model the most likely ones, so `feasible.most_likely(n, coefficients)`
    finds the best in V exactly.
    """
    step, choices, quality = history.flatten()
    coefficients = np.zeros((len(space.layers), space.max_choices))
    if not len(quality):
        return coefficients
    sizes = [len(layer) for layer in space.layers]
    offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    design = np.zeros((len(quality), sum(sizes)))
    np.put_along_axis(design, choices + offsets, 1.0, axis=1)
    weight = np.exp(2.0 * step / max(step.max(), 1))
    # an intercept for every step: compare within steps only
    design = design - _group_means(design, step, weight)
    quality = quality - _group_means(quality[:, None], step, weight)[:, 0]
    weighted = design * weight[:, None]
    with single_threaded_blas():  # more threads would add in another order
        normal = weighted.T @ design + ridge * weight.mean() * np.eye(design.shape[1])
        solution = np.linalg.solve(normal, weighted.T @ quality)
    for layer, (offset, size) in enumerate(zip(offsets, sizes, strict=True)):
        coefficients[layer, :size] = solution[offset : offset + size]
    return coefficients


def _group_means(values: FloatArray, group: IntArray, weight: FloatArray) -> FloatArray:
    """Return the weighted mean of each row's group, [rows, columns]."""
    total = np.zeros((int(group.max()) + 1, values.shape[1]))
    np.add.at(total, group, values * weight[:, None])
    mass = np.bincount(group, weight)
    return np.asarray(total[group] / mass[group][:, None])
