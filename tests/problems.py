"""Random spaces, budgets and policies for property tests."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import strategies as st

from tabnas.feasible import log_probabilities
from tabnas.space import (
    COSTS,
    Budget,
    CallableCost,
    Limit,
    NumericEmbeddings,
    SearchSpace,
    TableCost,
)
from tabnas.types import FloatArray


@st.composite
def numeric_embeddings(draw: st.DrawFn) -> NumericEmbeddings | None:
    """Numeric embeddings of up to four dimensions, or none at all."""
    if not draw(st.booleans()):
        return None
    columns = draw(st.integers(1, 4))
    dimensions = st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True)
    return NumericEmbeddings(
        columns=columns,
        knots=columns * draw(st.integers(2, 6)),
        dimensions=draw(dimensions),
    )


@st.composite
def spaces(
    draw: st.DrawFn, *, max_layers: int = 4, max_widths: int = 4, embedded: bool = False
) -> SearchSpace:
    """Small spaces; trailing layers may be optional; if `embedded`, some have an input layer."""
    layers = draw(st.integers(1, max_layers))
    widths = st.lists(st.integers(1, 30), min_size=1, max_size=max_widths, unique=True)
    candidates = [draw(widths) for _ in range(layers)]
    optional = draw(st.integers(0, layers))
    for i in range(layers - optional, layers):
        candidates[i] = [0, *candidates[i]]
    return SearchSpace(
        candidates,
        inputs=draw(st.integers(1, 40)),
        outputs=draw(st.integers(1, 5)),
        embedding_parameters=draw(st.integers(0, 20)),
        numeric_embeddings=draw(numeric_embeddings()) if embedded else None,
    )


def valid_choices(space: SearchSpace) -> list[tuple[int, ...]]:
    """Every encoding of an architecture, in order."""

    def valid(choices: tuple[int, ...]) -> bool:
        hidden = choices[len(choices) - len(space.widths) :]
        widths = [layer[j] for layer, j in zip(space.widths, hidden, strict=True)]
        return all(a > 0 or b == 0 for a, b in itertools.pairwise(widths))

    return [
        choices
        for choices in itertools.product(*(range(len(layer)) for layer in space.layers))
        if valid(choices)
    ]


def _measured(
    space: SearchSpace, seed: int, *, kind: type[TableCost] = TableCost, name: str = "latency_us"
) -> TableCost:
    """A cost of random fractions, as a measurement would give."""
    rng = np.random.default_rng(seed)
    dimensions = {0} if space.numeric_embeddings is None else {*space.layers[0]}
    inputs = [space.input_width(dimension) for dimension in sorted(dimensions)]
    widths = dict.fromkeys([*inputs, *itertools.chain(*space.widths)])
    return kind(
        name=name,
        layers={(a, b): float(rng.random()) for a in widths for b in widths},
        heads={(a, space.outputs): float(rng.random()) for a in widths},
        overhead=float(rng.random()),
        embeddings={dimension: float(rng.random()) for dimension in dimensions},
    )


class _MeasuredMaximum(TableCost):
    """Like a `TableCost`, but the largest term counts."""

    reduction = "max"


@st.composite
def problems(draw: st.DrawFn, *, chain_only: bool = False) -> tuple[SearchSpace, Budget]:
    """A space and a budget of one to three limits that at least one architecture holds."""
    space = draw(spaces(embedded=True))
    seed = draw(st.integers(0, 100))
    peak = _measured(space, seed, kind=_MeasuredMaximum, name="peak")
    costs = [*COSTS.values(), _measured(space, seed), peak]
    if not chain_only:
        costs.append(CallableCost(lambda a: (sum(a.widths) + 3 * a.dimension) % 7, name="odd"))
    chosen = draw(st.lists(st.sampled_from(costs), min_size=1, max_size=3, unique=True))
    witness = space.architecture(draw(st.sampled_from(valid_choices(space))))
    slack = draw(st.floats(1, 1.5))
    return space, Budget(*(Limit(cost, cost(space, witness) * slack) for cost in chosen))


@st.composite
def policies(draw: st.DrawFn, space: SearchSpace, *, spread: float = 5.0) -> FloatArray:
    """Logits of a random policy, [layers, max_choices]."""
    seed = draw(st.integers(0, 2**32 - 1))
    return np.random.default_rng(seed).normal(scale=spread, size=space.mask.shape)


class BruteForce:
    """V and P(. | V) by listing every architecture: what all exact answers must equal."""

    def __init__(self, space: SearchSpace, budget: Budget, logits: FloatArray | None = None):
        log_p = log_probabilities(space, logits)
        self.choices = [
            choices
            for choices in valid_choices(space)
            if budget.admits(space, space.architecture(choices))
        ]
        layers = np.arange(len(space.layers))
        self.log_p = np.array([log_p[layers, list(choices)].sum() for choices in self.choices])
        largest = self.log_p.max()
        weights = np.exp(self.log_p - largest)
        self.log_probability = largest + np.log(weights.sum())
        self.conditional = weights / weights.sum()
        self.marginals = np.zeros(space.mask.shape)
        for choices, probability in zip(self.choices, self.conditional, strict=True):
            self.marginals[layers, list(choices)] += probability
