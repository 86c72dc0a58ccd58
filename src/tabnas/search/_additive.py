"""An additive model of the qualities a search has seen."""

from __future__ import annotations

import numpy as np

from tabnas.blas import single_threaded_blas
from tabnas.search._history import History
from tabnas.space import SearchSpace
from tabnas.types import FloatArray, IntArray


def additive_qualities(space: SearchSpace, history: History, *, ridge: float = 1.0) -> FloatArray:
    """The worth of every choice, [layers, max_choices], by ridge regression on the looks.

    The model: quality of a look = level of its step + the sum of its choices' worths. Levels are
    free, since the weights under an architecture improve, and the rows differ, from step to step.
    Later looks weigh more, from 1 at the first to e^2 at the last: their weights are nearer to
    those in the end. As logits, the worths make the model's best architectures the most
    likely ones, so the best in V are found exactly: `feasible.most_likely(n, worths)`.
    """
    look, choices, quality = history.evaluated()
    worths = np.zeros((space.depth, space.max_choices))
    if not len(quality):
        return worths
    sizes = [len(layer) for layer in space.candidates]
    begins = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    design = np.zeros((len(quality), sum(sizes)))
    np.put_along_axis(design, choices + begins, 1.0, axis=1)
    weight = np.exp(2.0 * look / max(look.max(), 1))
    # a free level for every look: compare within looks only
    design = design - _means(design, look, weight)
    quality = quality - _means(quality[:, None], look, weight)[:, 0]
    weighted = design * weight[:, None]
    with single_threaded_blas():  # more threads would add up in another order
        normal = weighted.T @ design + ridge * weight.mean() * np.eye(design.shape[1])
        solved = np.linalg.solve(normal, weighted.T @ quality)
    for layer, (begin, size) in enumerate(zip(begins, sizes, strict=True)):
        worths[layer, :size] = solved[begin : begin + size]
    return worths


def _means(values: FloatArray, group: IntArray, weight: FloatArray) -> FloatArray:
    """The weighted mean of each row's group, [rows, columns]."""
    total = np.zeros((int(group.max()) + 1, values.shape[1]))
    np.add.at(total, group, values * weight[:, None])
    mass = np.bincount(group, weight)
    return np.asarray(total[group] / mass[group][:, None])
