"""Evolution: the best so far are crossed and mutated, inside the feasible set."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tabnas.errors import TabnasError, whole
from tabnas.feasible import FeasibleSet
from tabnas.strategies._batches import BatchStrategy, rows
from tabnas.strategies._drawing import all_seen, unseen
from tabnas.types import IntArray

ROUNDS = 20
"""How many times as many offspring as are wanted are bred, before the rest is drawn from V."""


class Evolution(BatchStrategy):
    """Generations of `population` architectures, bred from the `top` best of all seen so far.

    Half of a generation are crossovers (each layer from one of two parents), half mutations (each
    layer drawn anew with probability `mutation`): Algorithm 1 of Guo et al. 2020, which the paper
    compares with. Nothing infeasible and nothing seen before is suggested: such offspring are bred
    again, a bounded number of times, and what is then missing is drawn uniformly from V.

    NOTE[DIFF]: the paper names no mutation probability; 0.1 is that of Guo et al.
    """

    name = "evolution"

    def __init__(
        self,
        feasible: FeasibleSet,
        *,
        rng: np.random.Generator | int,
        population: int = 50,
        top: int = 10,
        mutation: float = 0.1,
    ) -> None:
        super().__init__(feasible, rng=rng)
        if not 0 < mutation <= 1:
            raise TabnasError(f"mutation must be in (0, 1], however {mutation} was given")
        self.population = whole("population", population, least=2)
        self.top = whole("top", top, least=1)
        self.mutation = mutation
        self._candidates = np.array([len(layer) for layer in feasible.space.candidates])

    def plan(self) -> IntArray:
        parents = self.parents()
        generation: dict[tuple[int, ...], None] = {}  # keeps its order
        taken = set(rows(self._choices))
        if len(parents) > 0 and not all_seen(self.feasible, taken):
            half = self.population // 2
            self._breed(lambda n: self._cross(parents, n), half, generation, taken)
            self._breed(lambda n: self._mutate(parents, n), self.population, generation, taken)
        missing = self.population - len(generation)
        drawn = unseen(self.feasible, missing, taken | generation.keys(), self.rng)
        planned = [*generation, *rows(drawn)]
        # when all of V was seen: the best again, which tells more of them where looks are noisy
        return np.array(planned) if planned else parents

    def parents(self) -> IntArray:
        """The best feasible architectures seen, [<= top, layers], best first."""
        choices, quality = self.seen()
        inside = self.feasible.contains(choices)
        best = np.argsort(-quality[inside], kind="stable")[: self.top]
        return choices[inside][best]

    def _breed(
        self,
        offspring: Callable[[int], IntArray],
        until: int,
        generation: dict[tuple[int, ...], None],
        taken: set[tuple[int, ...]],
    ) -> None:
        """Add offspring until the generation has so many members, if they can be had."""
        for _ in range(ROUNDS):
            missing = until - len(generation)
            if missing <= 0:
                return
            children = offspring(missing)
            inside = rows(children[self.feasible.contains(children)])
            generation |= {row: None for row in inside if row not in taken}

    def _cross(self, parents: IntArray, n: int) -> IntArray:
        mothers, fathers = parents[self.rng.integers(len(parents), size=(2, n))]
        return np.asarray(np.where(self.rng.random(mothers.shape) < 0.5, mothers, fathers))

    def _mutate(self, parents: IntArray, n: int) -> IntArray:
        children = parents[self.rng.integers(len(parents), size=n)]
        drawn = self.rng.integers(self._candidates, size=children.shape)
        return np.where(self.rng.random(children.shape) < self.mutation, drawn, children)
