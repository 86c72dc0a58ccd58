"""Diagrams by enumeration of all architectures: for small spaces and any cost."""

from __future__ import annotations

import numpy as np

from tabnas.feasible._cost_calculator import CostCalculator
from tabnas.feasible._diagram import DecisionDiagram
from tabnas.types import BoolArray, IntArray


def compile_enumeration(calculator: CostCalculator) -> DecisionDiagram:
    """Return the diagram of all feasible choices; without any, it has no path."""
    shape = calculator.shape
    choices = np.indices(shape).reshape(len(shape), -1).T
    return _compile(calculator.contains(choices), shape, calculator.space.max_choices)


def _compile(feasible: BoolArray, shape: tuple[int, ...], max_choices: int) -> DecisionDiagram:
    """Merge, from the last layer up, all prefixes that have the same completions."""
    # The kind of a prefix identifies the set of its completions; 0 is the empty set.
    kind = feasible.astype(np.int64)
    rows_of: list[IntArray] = []  # for each layer, [kinds, candidates]: the kinds that follow
    for candidates in reversed(shape):
        dead = np.zeros((1, candidates), dtype=np.int64)
        rows = np.concatenate([dead, kind.reshape(-1, candidates)])
        rows, kind = np.unique(rows, axis=0, return_inverse=True)  # sorted, so `dead` is 0
        kind = kind.reshape(-1)[1:]  # some NumPy releases return another shape
        rows_of.append(rows)
    rows_of.reverse()
    root = int(kind[0])

    # A node is (candidate, kind after it). Candidates without a completion have no node.
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
    return DecisionDiagram.from_edges(
        len(shape),
        max_choices,
        source=np.concatenate([*sources, ends]),
        child=np.concatenate([*children, np.full_like(ends, nodes)]),
        choice=np.concatenate(choices),
    )
