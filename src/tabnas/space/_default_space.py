"""The default search space: a rule from inputs, outputs and limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from tabnas.errors import check_int
from tabnas.space._architecture import Architecture
from tabnas.space._budget import MAX_LIMIT, Budget, Limit
from tabnas.space._numeric_embeddings import NumericEmbeddings
from tabnas.space._search_space import ABSENT, SearchSpace
from tabnas.space.costs import ChainCost

DEFAULT_LAYERS = 3
RELAXATION = 2.0
"""Candidate widths must fit into this many times the limit, so that some exceed it."""
OCTAVES_BELOW, DEFAULT_OCTAVES_ABOVE = 2, 3
"""The range of candidates around the width of a network with equal layers at the limit."""
MIN_WIDTH = 8
"""However loose the limit, candidates go down to this width, by factors of two."""

# four widths an octave, so that neighbours differ by at most a quarter: ..., 8, 10, 12, 14, 16, 20.
# Not 1: layer normalization makes a single unit constant.
LADDER = sorted({2, 3, 1024} | {m << k for m in (4, 5, 6, 7) for k in range(8)})


def default_space(
    budget: Budget,
    *,
    inputs: int,
    outputs: int,
    embedding_parameters: int = 0,
    numeric_embeddings: NumericEmbeddings | None = None,
    layers: int = DEFAULT_LAYERS,
    octaves_above: int = DEFAULT_OCTAVES_ABOVE,
) -> SearchSpace:
    """Return a space of up to `layers` optional hidden layers, with widths that suit the budget.

    Widths come from a ladder of four an octave, up to 1,024. The center is the width of the widest
    network within the budget whose layers are all equally wide. Candidates reach two octaves below
    it, and `octaves_above` above, as far as a layer of that width fits into twice the limit. Below
    that come the powers of two down to 8, so that a looser limit removes no small network. So the
    space includes bottlenecks and wide layers, and few useless widths. If no layer fits, the space
    has the narrowest width all the same, so that an error can name the cheapest network.

    The widths suit networks with the smallest dimension of `numeric_embeddings`, in general 0. Of
    the other dimensions, the space has those with which a network fits into the budget.

    >>> space = default_space(Budget(parameters=2_000), inputs=16, outputs=26)
    >>> space.widths[0]
    (0, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80)
    >>> [layer[-1] for layer in space.widths]
    [80, 112, 112]
    >>> default_space(Budget(parameters=1_000_000), inputs=16, outputs=26).widths[0][:8]
    (0, 8, 16, 32, 64, 128, 160, 192)
    """
    ends: dict[str, Any] = {
        "inputs": inputs,
        "outputs": outputs,
        "embedding_parameters": embedding_parameters,
        "numeric_embeddings": numeric_embeddings,
    }
    linear = SearchSpace([[ABSENT]], **ends)
    depth, center = _equal_widths(budget, linear, check_int("layers", layers, minimum=1))
    relaxed = scale_limits(budget, linear, RELAXATION)
    narrowest = next(width for width in LADDER if width >= center >> OCTAVES_BELOW)
    small = [w for w in LADDER if MIN_WIDTH <= w < narrowest and w.bit_count() == 1]
    candidates: list[Sequence[int]] = []
    for layer in range(depth):
        fits = _widest(relaxed, linear, before=(narrowest,) * layer)
        widest = min(fits, center << octaves_above)
        candidates.append([ABSENT, *small, *(w for w in LADDER if narrowest <= w <= widest)])
    candidates = candidates or [[ABSENT, LADDER[0]]]
    ends["numeric_embeddings"] = _fitting_dimensions(budget, linear, tuple(candidates[0][1:2]))
    return SearchSpace(candidates, **ends)


def _fitting_dimensions(
    budget: Budget, ends: SearchSpace, narrowest: tuple[int, ...]
) -> NumericEmbeddings | None:
    """Return the numeric embeddings with the dimensions that fit, the smallest one if none does.

    The cheapest network of a dimension is linear, or has one layer of the `narrowest` width, which
    costs less than many outputs for each input.
    """
    embeddings = ends.numeric_embeddings
    if embeddings is None:
        return None
    fitting = [
        dimension
        for dimension in embeddings.dimensions
        if budget.admits(ends, Architecture((), dimension))
        or budget.admits(ends, Architecture(narrowest, dimension))
    ]
    return replace(embeddings, dimensions=tuple(fitting) or embeddings.dimensions[:1])


def spanning_space(spaces: Sequence[SearchSpace]) -> SearchSpace:
    """Return the space of all widths that one of the spaces has, for the same inputs and outputs.

    >>> small, large = (
    ...     default_space(Budget(parameters=limit), inputs=30, outputs=1) for limit in (500, 5_000)
    ... )
    >>> [space.widths[0][1] for space in (small, large, spanning_space([small, large]))]
    [2, 8, 2]
    >>> [space.widths[0][-1] for space in (small, large, spanning_space([small, large]))]
    [28, 256, 256]
    """
    first = spaces[0]
    layers = zip_longest(*(space.widths for space in spaces), fillvalue=(ABSENT,))
    return SearchSpace(
        [sorted(set().union(*candidates)) for candidates in layers],
        inputs=first.inputs,
        outputs=first.outputs,
        embedding_parameters=first.embedding_parameters,
        numeric_embeddings=_spanning_dimensions(spaces),
    )


def _spanning_dimensions(spaces: Sequence[SearchSpace]) -> NumericEmbeddings | None:
    embeddings = [space.numeric_embeddings for space in spaces]
    first = next(filter(None, embeddings), None)
    if first is None:
        return None
    dimensions = set().union(*((0,) if e is None else e.dimensions for e in embeddings))
    return replace(first, dimensions=tuple(dimensions))


def scale_limits(budget: Budget, space: SearchSpace, factor: float) -> Budget:
    """Return the budget with `factor` times as much for what depends on the architecture.

    The fixed part of a cost, such as that of embedding tables, is not multiplied.
    """
    limits = []
    for limit in budget.limits:
        fixed = limit.cost.fixed(space) if isinstance(limit.cost, ChainCost) else 0
        variable = max(0.0, limit.upper - fixed)
        scaled = limit.upper + (factor - 1) * variable
        limits.append(Limit(limit.cost, min(scaled, MAX_LIMIT)))
    return Budget(*limits)


def _equal_widths(budget: Budget, ends: SearchSpace, layers: int) -> tuple[int, int]:
    """Return how many equal layers the budget admits, at most `layers`, and their largest width."""
    for depth in range(layers, 0, -1):
        if width := _widest(budget, ends, repeat=depth):
            return depth, width
    return 0, ABSENT


def _min_dimension(space: SearchSpace) -> int:
    return 0 if space.numeric_embeddings is None else space.numeric_embeddings.dimensions[0]


def _widest(
    budget: Budget, ends: SearchSpace, *, before: tuple[int, ...] = (), repeat: int = 1
) -> int:
    """Return the largest width of the ladder that fits `repeat` times after `before`; 0 if none."""

    def fits(width: int) -> bool:
        architecture = Architecture(before + (width,) * repeat, _min_dimension(ends))
        return budget.admits(ends, architecture)

    # not by bisection: in C, 8 units take less time than 7
    return next((width for width in reversed(LADDER) if fits(width)), ABSENT)
