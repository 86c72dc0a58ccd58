"""Diagrams by looking at every architecture: small spaces, any cost."""

from __future__ import annotations

import numpy as np

from tabnas.feasible._diagram import Diagram
from tabnas.feasible._measure import Measure
from tabnas.types import BoolArray, IntArray


def compile_enumerated(measure: Measure) -> Diagram:
    """The diagram of all feasible choices; its root has no path if there are none."""
    shape = measure.shape
    choices = np.indices(shape).reshape(len(shape), -1).T
    return _compile(measure.contains(choices), shape, measure.space.max_choices)


def _compile(feasible: BoolArray, shape: tuple[int, ...], max_choices: int) -> Diagram:
    """Merge, from the last layer up, all beginnings that allow the same endings."""
    # kinds[i][b, ...] is what may follow a beginning of i layers; 0 is a dead end
    kind = feasible.astype(np.int64)
    rows_of: list[IntArray] = []  # for each layer, [kinds, candidates]: the kinds that follow
    for candidates in reversed(shape):
        dead = np.zeros((1, candidates), dtype=np.int64)
        rows = np.concatenate([dead, kind.reshape(-1, candidates)])
        rows, kind = np.unique(rows, axis=0, return_inverse=True)  # sorted: the dead end is 0
        kind = kind.reshape(-1)[1:]  # some releases of NumPy shape it otherwise
        rows_of.append(rows)
    rows_of.reverse()
    root = int(kind[0])

    # A node is (candidate, kind that follows); a candidate followed by a dead end is none.
    nodes = 1
    sources, children, choices = [], [], [np.array([len(shape) * max_choices])]
    node_of = np.where(np.arange(len(rows_of[0])) == root, 0, -1)[None, :]  # [candidates, kinds]
    for i, rows in enumerate(rows_of):
        before, kinds = np.nonzero(node_of >= 0)
        edge, taken = np.nonzero(rows[kinds])
        follows = rows[kinds[edge], taken]
        last_kind = int(rows.max(initial=0))
        pairs, child = np.unique(taken * (last_kind + 1) + follows, return_inverse=True)
        sources.append(node_of[before, kinds][edge])
        children.append(nodes + child)
        candidate, kind_after = np.divmod(pairs, last_kind + 1)
        choices.append(i * max_choices + candidate)
        kinds_after = len(rows_of[i + 1]) if i + 1 < len(shape) else 2
        node_of = np.full((len(rows[0]), kinds_after), -1)
        node_of[candidate, kind_after] = nodes + np.arange(len(pairs))
        nodes += len(pairs)
    ends = node_of[node_of >= 0]
    return Diagram.from_edges(
        len(shape),
        max_choices,
        source=np.concatenate([*sources, ends]),
        child=np.concatenate([*children, np.full_like(ends, nodes)]),
        choice=np.concatenate(choices),
    )
