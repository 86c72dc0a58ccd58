"""Evolution: crossover and mutation of the best architectures, within the feasible set."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tabnas.errors import TabNASError, check_int
from tabnas.feasible import FeasibleSet
from tabnas.strategies._batch_strategy import BatchStrategy, to_tuples
from tabnas.strategies._candidate_pool import is_exhausted, sample_unseen
from tabnas.types import IntArray

MAX_ROUNDS = 20
"""How often offspring are bred for a generation before the rest is sampled from V."""


class Evolution(BatchStrategy):
    """Generations of `population` architectures, bred from the `top` best of all seen so far.

    Half of a generation are crossovers (each layer from one of two parents), half are mutations
    (each layer sampled again with probability `mutation`), as in Algorithm 1 of Guo et al. 2020,
    which the paper compares with. Infeasible offspring and offspring seen before are replaced by
    new ones, a bounded number of times; the rest of the generation is sampled uniformly from V.

    NOTE[DIFF]: the paper states no mutation probability; 0.1 is that of Guo et al.
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
            raise TabNASError(f"`mutation` must be in (0, 1], got {mutation}")
        self.population = check_int("population", population, minimum=2)
        self.top = check_int("top", top, minimum=1)
        self.mutation = mutation
        self._candidates = np.array([len(layer) for layer in feasible.space.layers])

    def plan(self) -> IntArray:
        parents = self.select_parents()
        generation: dict[tuple[int, ...], None] = {}  # keeps its order
        seen = set(to_tuples(self._choices))
        if len(parents) > 0 and not is_exhausted(self.feasible, seen):
            half = self.population // 2
            self._breed(lambda n: self._crossover(parents, n), half, generation, seen)
            self._breed(lambda n: self._mutate(parents, n), self.population, generation, seen)
        missing = self.population - len(generation)
        drawn = sample_unseen(self.feasible, missing, seen | generation.keys(), self.rng)
        planned = [*generation, *to_tuples(drawn)]
        # once all of V was evaluated, repeat the best, which helps against noise
        return np.array(planned) if planned else parents

    def select_parents(self) -> IntArray:
        """Return the best feasible architectures seen, [<= top, layers], best first."""
        choices, quality = self.mean_qualities()
        inside = self.feasible.contains(choices)
        best = np.argsort(-quality[inside], kind="stable")[: self.top]
        return choices[inside][best]

    def _breed(
        self,
        offspring: Callable[[int], IntArray],
        until: int,
        generation: dict[tuple[int, ...], None],
        seen: set[tuple[int, ...]],
    ) -> None:
        """Add offspring to the generation until it has `until` members, if possible."""
        for _ in range(MAX_ROUNDS):
            missing = until - len(generation)
            if missing <= 0:
                return
            children = offspring(missing)
            inside = to_tuples(children[self.feasible.contains(children)])
            generation |= {row: None for row in inside if row not in seen}

    def _crossover(self, parents: IntArray, n: int) -> IntArray:
        mothers, fathers = parents[self.rng.integers(len(parents), size=(2, n))]
        return np.asarray(np.where(self.rng.random(mothers.shape) < 0.5, mothers, fathers))

    def _mutate(self, parents: IntArray, n: int) -> IntArray:
        children = parents[self.rng.integers(len(parents), size=n)]
        drawn = self.rng.integers(self._candidates, size=children.shape)
        return np.where(self.rng.random(children.shape) < self.mutation, drawn, children)
