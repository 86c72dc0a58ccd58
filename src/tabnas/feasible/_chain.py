"""Diagrams of chain limits, for spaces of any size.

With one limit, the network is cut at a layer m. Above the cut, a state is (candidate, cost so far):
all prefixes of equal cost and last candidate share it. Below, an atom is (candidate, cost to go).
A prefix with the budget r left may go on with every atom that costs at most r. Sorted by cost these
are the first k, so they hang on a ladder of gates, each gate holding the atoms since the rung below
it and an edge to that rung. This is a meet in the middle: about 20^(L/2) states instead of 20^L.

With several limits there is no such order. States are (candidate, costs so far), merged when every
limit leaves them the same completions, which needs no cut but more states.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tabnas.feasible._diagram import Diagram
from tabnas.feasible._limits import ChainLimit
from tabnas.types import IntArray

MAX_EDGES = 5_000_000
"""The largest diagram: past it a sweep takes tens of milliseconds, as long as sampling would."""


class TooManyStatesError(Exception):
    """The diagram would have more than `MAX_EDGES` edges."""


def compile_chain(limits: list[ChainLimit], max_choices: int) -> Diagram:
    """The diagram of all choices that hold every limit; its root has no path if there are none."""
    if len(limits) == 1:
        return _one_limit(limits[0], max_choices)
    return _several_limits(limits, max_choices)


# --- one limit ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _States:
    """(candidate, cost) pairs, sorted, and the edges that made them from their neighbours.

    For edge e, `inner[e]` is one of these states, `outer[e]` the neighbour on the far side of the
    cut's direction: the state before (above the cut) or the atom after (below).
    """

    candidate: IntArray
    cost: IntArray
    inner: IntArray
    outer: IntArray

    def __len__(self) -> int:
        return len(self.candidate)

    @classmethod
    def merge(
        cls, candidate: IntArray, cost: IntArray, outer: IntArray, *, candidates: int, limit: int
    ) -> _States:
        """Equal pairs become one state."""
        code = _PairCode(candidates, cost, limit=limit)
        unique, inner = np.unique(code.encode(candidate, cost), return_inverse=True)
        return cls(*code.decode(unique), inner, outer)


class _PairCode:
    """Integers for (candidate, cost) pairs, in the order of the pairs.

    The code is `candidate * (limit + 1) + cost`. Where that could exceed int64, as with thousands
    of candidates and costs near 2^52, the rank of a cost among `costs` takes its place.
    """

    def __init__(self, candidates: int, costs: IntArray, *, limit: int) -> None:
        fits = candidates * (limit + 1) <= np.iinfo(np.int64).max
        self._ranked = None if fits else np.unique(costs)
        self._size = limit + 1 if self._ranked is None else len(self._ranked) + 1

    def encode(self, candidate: IntArray, cost: IntArray) -> IntArray:
        """Return the codes; a cost that is not among `costs` counts as the next lower one."""
        if self._ranked is not None:
            cost = np.searchsorted(self._ranked, cost, "right")
        return candidate * self._size + cost

    def decode(self, code: IntArray) -> tuple[IntArray, IntArray]:
        """Return the candidates and costs."""
        candidate, cost = np.divmod(code, self._size)
        return candidate, cost if self._ranked is None else self._ranked[cost - 1]


def _one_limit(chain: ChainLimit, max_choices: int) -> Diagram:
    tables, limit, last = chain.tables, chain.limit, len(chain.tables) - 1
    least_before, least_after = _least_costs(chain)
    none = np.zeros(0, dtype=np.int64)

    prefixes = [_States(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), none, none)]
    ends = np.arange(tables[last].shape[1])
    atoms = [_States(ends, np.zeros_like(ends), none, none)]
    # Grow either side until they meet at the cut. One more layer of prefixes will have to be joined
    # to the next layer; one more of atoms needs gates, about as many edges again.
    above, below = 0, last
    while above < below:
        down = len(prefixes[-1]) * tables[above].shape[1]
        up = len(atoms[-1]) * tables[below].shape[0]
        if down * tables[above + 1].shape[1] <= 2 * up:
            _refuse_more(prefixes, atoms, down)
            before = prefixes[-1]
            cost = before.cost[:, None] + tables[above][before.candidate]
            outer, candidate = np.nonzero(cost + least_after[above] <= limit)
            taken = cost[outer, candidate]
            candidates = tables[above].shape[1]
            prefixes.append(
                _States.merge(candidate, taken, outer, candidates=candidates, limit=limit)
            )
            above += 1
        else:
            _refuse_more(prefixes, atoms, up)
            after = atoms[-1]
            cost = tables[below][:, after.candidate] + after.cost
            candidate, outer = np.nonzero(cost + least_before[below - 1][:, None] <= limit)
            taken = cost[candidate, outer]
            candidates = tables[below].shape[0]
            atoms.append(_States.merge(candidate, taken, outer, candidates=candidates, limit=limit))
            below -= 1
    _refuse_more(prefixes, atoms, len(prefixes[-1]) * tables[above].shape[1] + 2 * len(atoms[-1]))
    return _join(chain, max_choices, cut=above, prefixes=prefixes, atoms=atoms[::-1])


def _refuse_more(prefixes: list[_States], atoms: list[_States], more: int) -> None:
    if sum(len(states.inner) for states in (*prefixes, *atoms)) + more > MAX_EDGES:
        raise TooManyStatesError


def _join(
    chain: ChainLimit, max_choices: int, *, cut: int, prefixes: list[_States], atoms: list[_States]
) -> Diagram:
    """Prefixes, gates and atoms as one diagram. Its nodes come in that order."""
    layers = len(chain.tables)
    last, meeting = prefixes[-1], atoms[0]
    if len(last) == 0 or len(meeting) == 0:
        return Diagram.empty(layers, max_choices)

    # rank: the dearest atom of its candidate that a prefix can still pay for
    cost = last.cost[:, None] + chain.tables[cut][last.candidate]
    candidate = np.arange(cost.shape[1])
    code = _PairCode(len(candidate), meeting.cost, limit=chain.limit)
    key = code.encode(meeting.candidate, meeting.cost)
    rank = np.searchsorted(key, code.encode(candidate, chain.limit - cost), "right") - 1
    payable = (cost <= chain.limit) & (rank >= 0) & (meeting.candidate[rank] == candidate)
    prefix, taken = np.nonzero(payable)
    rungs, rung = np.unique(rank[prefix, taken], return_inverse=True)

    # A rung holds the atoms above the rung below it, and leads there if that is of its candidate.
    atom = np.arange(rungs[-1] + 1 if len(rungs) else 0)
    holder = np.searchsorted(rungs, atom)
    same = meeting.candidate[rungs[holder]] == meeting.candidate[atom]
    atom, holder = atom[same], holder[same]
    ladder = np.nonzero(np.diff(meeting.candidate[rungs]) == 0)[0]

    *at_prefix, at_gates, at_atoms = np.cumsum([0, *map(len, prefixes), len(rungs)])
    at_atom = at_atoms + np.cumsum([0, *map(len, atoms)])
    gate = at_gates + np.arange(len(rungs))[::-1]  # the dearest first: edges lead to higher nodes

    edges = [  # source, child
        *(
            (at_prefix[i] + states.outer, at_prefix[i + 1] + states.inner)
            for i, states in enumerate(prefixes[1:])
        ),
        (at_prefix[-1] + prefix, gate[rung]),
        (gate[ladder + 1], gate[ladder]),
        (gate[holder], at_atom[0] + atom),
        *(
            (at_atom[i] + states.inner, at_atom[i + 1] + states.outer)
            for i, states in enumerate(atoms[:-1])
        ),
        (at_atom[-2] + np.arange(len(atoms[-1])), np.full(len(atoms[-1]), at_atom[-1])),
    ]
    no_choice = np.array([layers * max_choices])
    above = [i * max_choices + states.candidate for i, states in enumerate(prefixes[1:])]
    here = cut * max_choices + meeting.candidate[rungs][::-1]
    below = [i * max_choices + states.candidate for i, states in enumerate(atoms, start=cut)]
    return Diagram.from_edges(
        layers,
        max_choices,
        source=np.concatenate([source for source, _ in edges]),
        child=np.concatenate([child for _, child in edges]),
        # the choice at the cut is taken by the atom, not by the gates on the way to it
        choice=np.concatenate([no_choice, *above, np.full_like(here, no_choice), *below]),
        place=np.concatenate([no_choice, *above, here, *below]),
    )


def _least_costs(chain: ChainLimit) -> tuple[list[IntArray], list[IntArray]]:
    """The least cost up to each candidate of each layer, and the least after it."""
    before = [chain.tables[0][0]]
    for table in chain.tables[1:]:
        before.append((before[-1][:, None] + table).min(axis=0))
    after = [np.zeros(chain.tables[-1].shape[1], dtype=np.int64)]
    for table in reversed(chain.tables[1:]):
        after.append((table + after[-1]).min(axis=1))
    return before, after[::-1]


# --- several limits -------------------------------------------------------------------------------


def _several_limits(limits: list[ChainLimit], max_choices: int) -> Diagram:
    layers = len(limits[0].tables)
    least_after = [_least_costs(chain)[1] for chain in limits]
    completions = [_costs_to_go(chain) for chain in limits]
    candidate = np.zeros(1, dtype=np.int64)  # of each state of the layer above
    costs = np.zeros((len(limits), 1), dtype=np.int64)
    sources, children, choices = [], [], [np.array([layers * max_choices])]
    start, edges = 0, 0
    for i in range(layers):
        edges += len(candidate) * limits[0].tables[i].shape[1]
        if edges > MAX_EDGES:
            raise TooManyStatesError
        after = np.stack(
            [
                cost[:, None] + chain.tables[i][candidate]
                for cost, chain in zip(costs, limits, strict=True)
            ]
        )
        room = [cost + least[i] for cost, least in zip(after, least_after, strict=True)]
        payable = np.all([c <= chain.limit for c, chain in zip(room, limits, strict=True)], axis=0)
        source, taken = np.nonzero(payable)
        after = after[:, source, taken]
        state = taken
        for cost, chain, to_go in zip(after, limits, completions, strict=True):
            kind = _completion_class(chain.limit - cost, taken, to_go[i])
            # pair the codes, numbering both anew so that they stay small
            kind = np.unique(kind, return_inverse=True)[1]
            state = np.unique(state * (len(kind) + 1) + kind, return_inverse=True)[1]
        _, example, state = np.unique(state, return_index=True, return_inverse=True)
        sources.append(start + source)
        start += len(candidate)
        children.append(start + state)
        candidate, costs = taken[example], after[:, example]
        choices.append(i * max_choices + candidate)
    ends = start + np.arange(len(candidate))
    return Diagram.from_edges(
        layers,
        max_choices,
        source=np.concatenate([*sources, ends]),
        child=np.concatenate([*children, np.full_like(ends, start + len(candidate))]),
        choice=np.concatenate(choices),
    )


def _costs_to_go(chain: ChainLimit) -> list[list[IntArray] | None]:
    """For each layer and candidate the distinct costs of what may follow, sorted.

    None where they are more than the budgets that can be left: too many to help.
    """
    to_go: list[list[IntArray] | None] = [
        [np.zeros(1, dtype=np.int64) for _ in range(chain.tables[-1].shape[1])]
    ]
    for table in reversed(chain.tables[1:]):
        after = to_go[-1]
        if after is None or table.shape[0] * sum(map(len, after)) > MAX_EDGES:
            to_go.append(None)
            continue
        layer = []
        for row in table:
            sums = np.concatenate([cost + costs for cost, costs in zip(row, after, strict=True)])
            layer.append(np.unique(sums[sums <= chain.limit]))
        to_go.append(layer)
    return to_go[::-1]


def _completion_class(
    left: IntArray, candidate: IntArray, to_go: list[IntArray] | None
) -> IntArray:
    """A code for the set of completions that `left` still pays for; equal code, equal set."""
    if to_go is None:
        return left
    kind = np.empty_like(left)
    for j, costs in enumerate(to_go):
        mine = candidate == j
        kind[mine] = np.searchsorted(costs, left[mine], "right")
    return kind
