"""The space that is searched when nobody names one: a rule from inputs, outputs and limit."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import zip_longest

from tabnas.errors import check_int
from tabnas.space._architecture import Architecture
from tabnas.space._budget import Budget, Limit
from tabnas.space._search_space import ABSENT, SearchSpace
from tabnas.space.costs import ChainCost

LAYERS = 3
REACH = 2.0
"""Candidates go up to what this many times the limit allows, so that more than it can be judged."""
OCTAVES_BELOW, OCTAVES_ABOVE = 2, 3
"""How far candidates go from the width of a network whose layers are all equally wide."""
SMALL = 8
"""However loose the limit, widths go down to this one, an octave at a time."""

# four widths an octave, so that neighbours differ by a quarter: 2, ..., 8, 10, 12, 14, 16, 20, ...
# Not 1: normalised, a single unit says the same of every row.
LADDER = sorted({2, 3, 1024} | {m << k for m in (4, 5, 6, 7) for k in range(8)})


def default_space(
    budget: Budget,
    *,
    inputs: int,
    outputs: int,
    embedding_parameters: int = 0,
    layers: int = LAYERS,
    octaves_above: int = OCTAVES_ABOVE,
) -> SearchSpace:
    """Up to `layers` hidden layers, every one optional, whose widths the limit lets vary.

    Widths come from a ladder of four an octave, up to 1,024. The centre is the widest network at
    the limit whose layers are all equally wide. Candidates reach two octaves below it, and three
    above (`octaves_above`), as far as a layer of that width fits into twice the limit at all. Below
    that come the powers of two down to 8: a looser limit takes no small network away. So
    bottlenecks and wide layers are there, and little that cannot be of use. Where no layer fits,
    the narrowest is there all the same: it may be the cheapest network, which who refuses the limit
    has to name.

    >>> space = default_space(Budget(parameters=2_000), inputs=16, outputs=26)
    >>> space.candidates[0]
    (0, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80)
    >>> [layer[-1] for layer in space.candidates]
    [80, 112, 112]
    >>> default_space(Budget(parameters=1_000_000), inputs=16, outputs=26).candidates[0][:8]
    (0, 8, 16, 32, 64, 128, 160, 192)
    """
    ends = {
        "inputs": inputs,
        "outputs": outputs,
        "embedding_parameters": embedding_parameters,
    }
    linear = SearchSpace([[ABSENT]], **ends)
    depth, center = _equal_widths(budget, linear, check_int("layers", layers, minimum=1))
    relaxed = relax(budget, linear, REACH)
    narrowest = next(width for width in LADDER if width >= center >> OCTAVES_BELOW)
    small = [w for w in LADDER if SMALL <= w < narrowest and w.bit_count() == 1]
    candidates: list[Sequence[int]] = []
    for layer in range(depth):
        fits = _widest(relaxed, linear, before=(narrowest,) * layer)
        widest = min(fits, center << octaves_above)
        candidates.append([ABSENT, *small, *(w for w in LADDER if narrowest <= w <= widest)])
    return SearchSpace(candidates or [[ABSENT, LADDER[0]]], **ends)


def spanning_space(spaces: Sequence[SearchSpace]) -> SearchSpace:
    """Every width that one of the spaces has; they have the same inputs and outputs.

    >>> small, large = (
    ...     default_space(Budget(parameters=limit), inputs=30, outputs=1) for limit in (500, 5_000)
    ... )
    >>> [space.candidates[0][1] for space in (small, large, spanning_space([small, large]))]
    [2, 8, 2]
    >>> [space.candidates[0][-1] for space in (small, large, spanning_space([small, large]))]
    [28, 256, 256]
    """
    first = spaces[0]
    layers = zip_longest(*(space.candidates for space in spaces), fillvalue=(ABSENT,))
    return SearchSpace(
        [sorted(set().union(*candidates)) for candidates in layers],
        inputs=first.inputs,
        outputs=first.outputs,
        embedding_parameters=first.embedding_parameters,
    )


def relax(budget: Budget, space: SearchSpace, factor: float) -> Budget:
    """The budget with `factor` times the room for what an architecture can change.

    What a cost charges to all architectures, such as embedding tables, does not grow.
    """
    limits = []
    for limit in budget.limits:
        fixed = limit.cost.fixed(space) if isinstance(limit.cost, ChainCost) else 0
        room = max(0.0, limit.upper - fixed)
        limits.append(Limit(limit.cost, limit.upper + (factor - 1) * room))
    return Budget(*limits)


def _equal_widths(budget: Budget, ends: SearchSpace, layers: int) -> tuple[int, int]:
    """How many equal layers the limit allows, at most `layers`, and how wide they can be."""
    for depth in range(layers, 0, -1):
        if width := _widest(budget, ends, repeat=depth):
            return depth, width
    return 0, ABSENT


def _widest(
    budget: Budget, ends: SearchSpace, *, before: tuple[int, ...] = (), repeat: int = 1
) -> int:
    """The widest of the ladder that fits, `repeat` times, after some layers; 0 if none does."""

    def too_wide(width: int) -> bool:
        return not budget.admits(ends, Architecture(before + (width,) * repeat))

    index = bisect_right(LADDER, False, key=too_wide)
    return LADDER[index - 1] if index else ABSENT
