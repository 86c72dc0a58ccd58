"""Compiled kernels for every step of a policy: sweeps over a diagram, softmax, sampling.

`p` is [batch, layers * max_choices + 1]; the last column is 1, for nodes that make no choice. The
linear kernels are accurate while P(V) is well above the smallest float, which
`ExactConditionalPolicy` checks; otherwise it uses the log kernels.
"""

from __future__ import annotations

from math import exp, inf, log

import numpy as np

from tabnas.kernel_cache import cached_njit
from tabnas.types import FloatArray, IndexArray, IntArray


@cached_njit
def values(first: IndexArray, child: IndexArray, choice: IndexArray, p: FloatArray) -> FloatArray:
    """[batch, nodes + 1]: the probability of a node's choice and then any path to the terminal."""
    nodes = len(first) - 1
    value = np.empty((len(p), nodes + 1))
    for b in range(len(p)):
        pb, v = p[b], value[b]
        v[nodes] = 1.0
        end = first[nodes]
        for n in range(nodes - 1, -1, -1):
            start = first[n]
            total = 0.0
            for e in range(start, end):
                total += v[child[e]]
            v[n] = pb[choice[n]] * total
            end = start
    return value


@cached_njit
def marginals(
    first: IndexArray, child: IndexArray, choice: IndexArray, p: FloatArray, value: FloatArray
) -> FloatArray:
    """Like `p`: the probability of each choice given that the terminal is reached."""
    nodes = len(first) - 1
    result = np.zeros_like(p)
    reach = np.empty(nodes + 1)
    for b in range(len(p)):
        pb, v, m = p[b], value[b], result[b]
        reach[:] = 0.0
        reach[0] = 1.0 / v[0]
        # neighbours mostly have the same choice: sum in a register, not in memory
        current, total = choice[0], 0.0
        start = first[0]
        for n in range(nodes):
            if choice[n] != current:
                m[current] += total
                current, total = choice[n], 0.0
            total += reach[n] * v[n]
            passed = reach[n] * pb[current]
            end = first[n + 1]
            for e in range(start, end):
                reach[child[e]] += passed
            start = end
        m[current] += total
    return result


@cached_njit
def log_values(
    first: IndexArray, child: IndexArray, choice: IndexArray, log_p: FloatArray
) -> FloatArray:
    """The logarithm of `values`."""
    nodes = len(first) - 1
    value = np.empty((len(log_p), nodes + 1))
    for b in range(len(log_p)):
        lb, v = log_p[b], value[b]
        v[nodes] = 0.0
        for n in range(nodes - 1, -1, -1):
            largest = -inf
            for e in range(first[n], first[n + 1]):
                largest = max(largest, v[child[e]])
            if largest == -inf:
                v[n] = -inf
                continue
            total = 0.0
            for e in range(first[n], first[n + 1]):
                total += exp(v[child[e]] - largest)
            v[n] = lb[choice[n]] + largest + log(total)
    return value


@cached_njit
def log_marginals(
    first: IndexArray, child: IndexArray, choice: IndexArray, log_p: FloatArray, value: FloatArray
) -> FloatArray:
    """`marginals` from log-probabilities and `log_values`; the result is not logarithmic.

    The shares of a node's children are computed from the children's values. The node's value, their
    sum, may be rounded to less than one of them, since logits may have any size.
    """
    nodes = len(first) - 1
    result = np.zeros_like(log_p)
    visited = np.empty(nodes + 1)  # the probability of passing through each node, given V
    for b in range(len(log_p)):
        v, m = value[b], result[b]
        visited[:] = 0.0
        visited[0] = 1.0
        for n in range(nodes):
            m[choice[n]] += visited[n]
            if visited[n] == 0.0:
                continue
            largest, total = -inf, 0.0
            for e in range(first[n], first[n + 1]):
                largest = max(largest, v[child[e]])
            for e in range(first[n], first[n + 1]):
                total += exp(v[child[e]] - largest)
            for e in range(first[n], first[n + 1]):
                visited[child[e]] += visited[n] * exp(v[child[e]] - largest) / total
    return result


@cached_njit
def sample(
    first: IndexArray,
    child: IndexArray,
    choice: IndexArray,
    value: FloatArray,
    logs: bool,
    uniform: FloatArray,
    max_choices: int,
) -> IntArray:
    """[batch, n, layers]: paths drawn with the random numbers `uniform`, [batch, n, layers + 1].

    `value` is the result of `values` or, with `logs`, of `log_values`.
    """
    batch, count, layers = uniform.shape[0], uniform.shape[1], uniform.shape[2] - 1
    result = np.empty((batch, count, layers), dtype=np.int64)
    for b in range(batch):
        v = value[b]
        for k in range(count):
            node, layer, u = 0, 0, uniform[b, k, 0]
            while layer < layers:
                largest, total = -inf, 0.0
                for e in range(first[node], first[node + 1]):
                    largest = max(largest, v[child[e]])
                for e in range(first[node], first[node + 1]):
                    total += exp(v[child[e]] - largest) if logs else v[child[e]]
                rest, taken, weight = u * total, 0, 1.0
                for e in range(first[node], first[node + 1]):
                    w = exp(v[child[e]] - largest) if logs else v[child[e]]
                    if w > 0.0:
                        taken, weight = child[e], w
                        if rest < w:
                            break
                        rest -= w
                if choice[taken] < layers * max_choices:
                    result[b, k, layer] = choice[taken] - layer * max_choices
                    layer += 1
                    u = uniform[b, k, layer]
                else:  # the rest of the random number decides the next edge
                    u = min(rest / weight, 1.0)
                node = taken
    return result


@cached_njit
def best_values(first: IndexArray, child: IndexArray, gain: FloatArray) -> FloatArray:
    """[nodes + 1]: the largest sum of `gain`, [edges], from each node to the terminal."""
    nodes = len(first) - 1
    best = np.full(nodes + 1, -inf)
    best[nodes] = 0.0
    for n in range(nodes - 1, -1, -1):
        for e in range(first[n], first[n + 1]):
            best[n] = max(best[n], gain[e] + best[child[e]])
    return best


@cached_njit
def best_maxima(first: IndexArray, child: IndexArray, cost: FloatArray, sign: int) -> FloatArray:
    """[nodes + 1]: the largest `sign *` maximum of `cost`, [edges], from each node to the terminal.

    Costs are at least 0. The result is -inf for nodes without a path.
    """
    nodes = len(first) - 1
    best = np.full(nodes + 1, -inf)
    best[nodes] = 0.0
    for n in range(nodes - 1, -1, -1):
        for e in range(first[n], first[n + 1]):
            if best[child[e]] > -inf:
                best[n] = max(best[n], sign * max(cost[e], sign * best[child[e]]))
    return best


@cached_njit
def invert_cdf(cdf: FloatArray, uniform: FloatArray) -> IntArray:
    """[batch, n, layers]: independent choices from `cdf` [batch, layers, choices] and uniforms."""
    batch, count, layers = uniform.shape
    last = cdf.shape[2] - 1
    result = np.empty((batch, count, layers), dtype=np.int64)
    for b in range(batch):
        for k in range(count):
            for i in range(layers):
                j = 0
                while j < last and uniform[b, k, i] >= cdf[b, i, j]:
                    j += 1
                result[b, k, i] = j
    return result


@cached_njit
def log_softmax(logits: FloatArray) -> FloatArray:
    """`l_j - log sum_j exp l_j` in every row of [n, choices]; NaN without a finite largest one."""
    result = np.empty_like(logits)
    for n in range(len(logits)):
        largest = logits[n, 0]
        for j in range(logits.shape[1]):
            if not logits[n, j] <= largest:  # also true for NaN, which then stays
                largest = logits[n, j]
        total = 0.0
        for j in range(logits.shape[1]):
            total += exp(logits[n, j] - largest)
        shift = largest + log(total)
        for j in range(logits.shape[1]):
            result[n, j] = logits[n, j] - shift
    return result


@cached_njit
def chain_sums(terms: IntArray, starts: IntArray, columns: IntArray, choices: IntArray) -> IntArray:
    """[n]: the sums of a chain's terms along choices, [n, layers].

    The tables of all layers lie one after the other in `terms`, by rows; that of layer i begins at
    `starts[i]` and has `columns[i]` columns.
    """
    total = np.zeros(len(choices), dtype=np.int64)
    for n in range(len(choices)):
        before = 0
        for i in range(choices.shape[1]):
            here = choices[n, i]
            total[n] += terms[starts[i] + before * columns[i] + here]
            before = here
    return total
