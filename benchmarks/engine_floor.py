"""The floor of a training step: its matrix products alone, by SciPy's BLAS.

No copies, no bias, no normalisation, no update; contiguous matrices; one call into compiled code
for all products of the step. Used by `benchmarks/engine.py`.
"""

from __future__ import annotations

import llvmlite.binding
import numpy as np
from numba import njit, types
from numba.extending import get_cython_function_address

llvmlite.binding.add_symbol(
    "benchmark_sgemm", get_cython_function_address("scipy.linalg.cython_blas", "sgemm")
)
_sgemm = types.ExternalFunction("benchmark_sgemm", types.void(*[types.uintp] * 13))
_N, _T = ord("N"), ord("T")


@njit(nogil=True)
def _gemm(ints, reals, flip_a, flip_b, m, n, k, a, lda, b, ldb, c, ldc):
    """Column-major C = op(A) op(B); all arguments of BLAS go by address."""
    ints[0], ints[1], ints[2], ints[3] = m, n, k, lda
    ints[4], ints[5], ints[6], ints[7] = ldb, ldc, flip_a, flip_b
    i, r = ints.ctypes.data, reals.ctypes.data
    _sgemm(i + 24, i + 28, i, i + 4, i + 8, r, a, i + 12, b, i + 16, r + 4, c, i + 20)


@njit(nogil=True)
def _products(repeats, rows, sizes, starts, places, x, w, a, d, g, inputs_too, ints, reals):
    """Row-major Z = A W, dW = A^T dZ and dA = dZ W^T for every layer."""
    layers = sizes.size - 1
    for _ in range(repeats):
        for layer in range(layers):
            before = x.ctypes.data if layer == 0 else a.ctypes.data + 4 * places[layer]
            out = a.ctypes.data + 4 * places[layer + 1]
            i, o = sizes[layer], sizes[layer + 1]
            weight = w.ctypes.data + 4 * starts[layer]
            _gemm(ints, reals, _N, _N, o, rows, i, weight, o, before, i, out, o)
        for layer in range(layers - 1, -1, -1):
            before = x.ctypes.data if layer == 0 else a.ctypes.data + 4 * places[layer]
            slope = d.ctypes.data + 4 * places[layer + 1]
            i, o = sizes[layer], sizes[layer + 1]
            weight, gradient = w.ctypes.data + 4 * starts[layer], g.ctypes.data + 4 * starts[layer]
            _gemm(ints, reals, _N, _T, o, i, rows, slope, o, before, i, gradient, o)
            if layer > 0 or inputs_too:
                out = d.ctypes.data + 4 * places[layer]
                _gemm(ints, reals, _T, _N, i, rows, o, weight, o, slope, o, out, i)


def make_floor(sizes, rows, *, inputs_too):
    """A function of the number of steps.

    `inputs_too`: embeddings need the gradient of the inputs.
    """
    rng = np.random.default_rng(0)
    sizes = np.array(sizes)
    starts = np.concatenate([[0], np.cumsum(sizes[:-1] * sizes[1:])])
    places = np.concatenate([[0], np.cumsum(sizes * rows)])
    x, a, d = (rng.normal(size=n).astype(np.float32) for n in (rows * sizes[0], *[places[-1]] * 2))
    w, g = (0.05 * rng.normal(size=starts[-1]).astype(np.float32) for _ in range(2))
    ints, reals = np.zeros(8, np.int32), np.array([1.0, 0.0], np.float32)

    def run(steps):
        _products(steps, rows, sizes, starts, places, x, w, a, d, g, inputs_too, ints, reals)

    return run
