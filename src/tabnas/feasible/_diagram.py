"""The feasible set as a decision diagram: a directed acyclic graph whose paths are its members.

Node 0 is the root and the last node the terminal; edges lead to nodes of higher index. Entering a
node makes one choice (layer i has its candidate j) or none, and every feasible architecture is
exactly one path from root to terminal. So P(V), marginals, samples, counts and extremes are each
one sweep over the edges, whatever costs the diagram was built from.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tabnas.types import BoolArray, FloatArray, IndexArray, IntArray


@dataclass(frozen=True, eq=False)
class DecisionDiagram:
    """Edges in compressed sparse rows: those of node n are `first[n]` to `first[n + 1] - 1`.

    A choice is the flat index `layer * max_choices + candidate`, and `layers * max_choices` means
    none. `choice` is the choice made by entering a node. `location` is the layer and candidate that
    a node belongs to. The two differ at nodes whose choice is made by their descendants.
    """

    layers: int
    max_choices: int
    first: IndexArray  # [nodes + 1]; the terminal has the index `nodes` and is not counted
    child: IndexArray  # [edges]
    choice: IndexArray  # [nodes]
    location: IndexArray  # [nodes]

    @classmethod
    def from_edges(
        cls,
        layers: int,
        max_choices: int,
        *,
        source: IntArray,
        child: IntArray,
        choice: IntArray,
        location: IntArray | None = None,
    ) -> DecisionDiagram:
        """Build a diagram from edges in any order; `location` defaults to `choice`."""
        location = choice if location is None else location
        nodes = len(choice)
        degree = np.bincount(source, minlength=nodes)
        # Nodes of the same choice and location are sorted by degree, which avoids most mispredicted
        # branches of a sweep. Nodes without a choice may have edges between them and keep their
        # order.
        group = np.cumsum(np.diff(choice, prepend=-1) | np.diff(location, prepend=-1) != 0)
        order = np.lexsort((np.where(choice == location, degree, 0), group))
        renumbered = np.empty(nodes + 1, dtype=np.int64)
        renumbered[order] = np.arange(nodes)
        renumbered[nodes] = nodes
        source, child = renumbered[source], renumbered[child]
        return cls(
            layers=layers,
            max_choices=max_choices,
            first=np.concatenate([[0], np.cumsum(degree[order])]).astype(np.uint32),
            child=child[np.argsort(source, kind="stable")].astype(np.uint32),
            choice=choice[order].astype(np.uint32),
            location=location[order].astype(np.uint32),
        )

    @classmethod
    def empty(cls, layers: int, max_choices: int) -> DecisionDiagram:
        """Return the diagram without a path: a root without edges."""
        nothing = np.zeros(0, dtype=np.int64)
        root = np.array([layers * max_choices])
        return cls.from_edges(layers, max_choices, source=nothing, child=nothing, choice=root)

    @property
    def nodes(self) -> int:
        return len(self.first) - 1

    @property
    def edges(self) -> int:
        return len(self.child)

    @property
    def no_choice(self) -> int:
        return self.layers * self.max_choices

    @cached_property
    def _counts(self) -> list[int]:
        """The number of paths from each node to the terminal, as Python integers."""
        first, child = self.first.tolist(), self.child.tolist()
        counts = [0] * self.nodes + [1]
        for node in reversed(range(self.nodes)):
            counts[node] = sum([counts[c] for c in child[first[node] : first[node + 1]]])
        return counts

    def count(self) -> int:
        """Return the exact number of paths."""
        return self._counts[0]

    def reachable(self) -> BoolArray:
        """Return which choices occur on any path: [layers, max_choices]."""
        first, child = self.first.tolist(), self.child.tolist()
        reached = [True] + [False] * self.nodes
        for node in range(self.nodes):
            if reached[node]:
                for c in child[first[node] : first[node + 1]]:
                    reached[c] |= self._counts[c] > 0
        reachable = np.zeros(self.no_choice + 1, dtype=np.bool_)
        reachable[self.choice[np.array(reached[:-1])]] = True
        return reachable[:-1].reshape(self.layers, self.max_choices)

    def paths(self) -> Iterator[tuple[int, ...]]:
        """Yield all paths, as candidates per layer, in no particular order."""
        stack: list[tuple[int, tuple[int, ...]]] = [(0, ())]
        while stack:
            node, taken = stack.pop()
            if node == self.nodes:
                yield taken
                continue
            for child in self.child[self.first[node] : self.first[node + 1]]:
                if self._counts[child]:
                    stack.append((int(child), self._take(taken, child)))

    def best_paths(self, gain: FloatArray) -> Iterator[tuple[int, ...]]:
        """Yield paths in descending order of their sum of `gain`, [edges], as candidates per layer.

        This is a best-first search. The best sum from every node to the terminal is known exactly,
        so only nodes on the way to the next path are expanded. The heap is ordered by how much a
        path falls short of the best, which is exactly 0 along the best edges; of equal ones, the
        longest is expanded first.
        """
        from tabnas.feasible import _kernels

        to_come = _kernels.best_values(self.first, self.child, gain).tolist()
        heap: list[tuple[float, int, tuple[int, ...]]] = [(0.0, 0, ())]
        while heap and to_come[0] > -np.inf:
            lost, negative, taken = heapq.heappop(heap)
            node = -negative
            if node == self.nodes:
                yield taken
                continue
            for edge in range(self.first[node], self.first[node + 1]):
                child = int(self.child[edge])
                best_here = float(gain[edge]) + to_come[child]
                if best_here > -np.inf:
                    more = to_come[node] - best_here
                    heapq.heappush(heap, (lost + more, -child, self._take(taken, child)))

    def _take(self, taken: tuple[int, ...], node: int) -> tuple[int, ...]:
        choice = self.no_choice if node == self.nodes else int(self.choice[node])
        return taken if choice == self.no_choice else (*taken, choice % self.max_choices)
