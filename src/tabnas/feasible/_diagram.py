"""The feasible set as a decision diagram: a directed acyclic graph whose paths are its members.

Node 0 is the root and the last node the terminal; edges lead to nodes of higher index. Entering a
node takes one choice (layer i has its candidate j) or none, and every feasible architecture is
exactly one path from root to terminal. So P(V), marginals, samples, counts and extremes are each a
sweep over the edges, whatever the costs were that made the diagram.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tabnas.types import BoolArray, FloatArray, IntArray

Index = NDArray[np.uint32]  # unsigned: compiled code need not check for negative indices


@dataclass(frozen=True, eq=False)
class Diagram:
    """Edges in compressed rows: those of node n are `first[n]` to `first[n + 1] - 1`.

    A choice is the flat index `layer * max_choices + candidate`, and `layers * max_choices` stands
    for none. `choice` is what entering a node takes; `place` is the layer and candidate in force
    there, which differs at nodes that pass on a choice to be taken by their descendants.
    """

    layers: int
    max_choices: int
    first: Index  # [nodes + 1]; the terminal, of index `nodes`, is not counted
    child: Index  # [edges]
    choice: Index  # [nodes]
    place: Index  # [nodes]

    @classmethod
    def from_edges(
        cls,
        layers: int,
        max_choices: int,
        *,
        source: IntArray,
        child: IntArray,
        choice: IntArray,
        place: IntArray | None = None,
    ) -> Diagram:
        """A diagram of edges in any order; `place` is where the choice is, if not given."""
        place = choice if place is None else place
        nodes = len(choice)
        degree = np.bincount(source, minlength=nodes)
        # Nodes of the same choice and place are put in order of their degree, which spares a sweep
        # most of its mispredicted branches. Those that take no choice may lead to one another and
        # stay as they are.
        group = np.cumsum(np.diff(choice, prepend=-1) | np.diff(place, prepend=-1) != 0)
        order = np.lexsort((np.where(choice == place, degree, 0), group))
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
            place=place[order].astype(np.uint32),
        )

    @classmethod
    def empty(cls, layers: int, max_choices: int) -> Diagram:
        """The diagram without a path: a root that leads nowhere."""
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
        """Paths from each node to the terminal, in integers of any size."""
        first, child = self.first.tolist(), self.child.tolist()
        counts = [0] * self.nodes + [1]
        for node in reversed(range(self.nodes)):
            counts[node] = sum([counts[c] for c in child[first[node] : first[node + 1]]])
        return counts

    def count(self) -> int:
        """The exact number of paths."""
        return self._counts[0]

    def possible(self) -> BoolArray:
        """[layers, max_choices]: which choices occur on any path."""
        first, child = self.first.tolist(), self.child.tolist()
        reached = [True] + [False] * self.nodes
        for node in range(self.nodes):
            if reached[node]:
                for c in child[first[node] : first[node + 1]]:
                    reached[c] |= self._counts[c] > 0
        possible = np.zeros(self.no_choice + 1, dtype=np.bool_)
        possible[self.choice[np.array(reached[:-1])]] = True
        return possible[:-1].reshape(self.layers, self.max_choices)

    def paths(self) -> Iterator[tuple[int, ...]]:
        """All paths, as candidates per layer, in no particular order."""
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
        """Paths by falling sum of `gain`, [edges], as candidates per layer.

        A best-first search: the best sum still to come is known exactly for every node, so nothing
        is expanded that does not lead to the next path. What is compared is how much a path falls
        short of the best, which is exactly 0 along the best edges; of equals, the furthest goes on.
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
