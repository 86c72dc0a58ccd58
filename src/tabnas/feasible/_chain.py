"""Diagrams of chain limits, for spaces of any size.

With one limit, the network is cut at a layer m. Above the cut, a prefix state is (candidate, cost
so far): all prefixes with the same cost and last candidate share it. Below the cut, a suffix state
is (candidate, cost of the layers after it). A prefix with the budget r left can be completed by
every suffix that costs at most r. Sorted by cost, these are the first k suffixes. So a chain of
gates leads to them: a gate has edges to the suffixes between its own cost and that of the next
cheaper gate, and an edge to that gate. This meets in the middle: it takes about 20^(L/2) states
instead of 20^L.

Several limits have no common order of cost. Then a state is (candidate, costs so far), and states
with the same completions under every limit are merged. This needs no cut, but more states.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tabnas.feasible._diagram import DecisionDiagram
from tabnas.feasible._limits import ChainLimit
from tabnas.types import IntArray

MAX_EDGES = 5_000_000
"""Beyond this size a sweep takes tens of milliseconds, as long as sampling."""


class TooManyStatesError(Exception):
    """The diagram would have more than `MAX_EDGES` edges."""


def compile_chain(limits: list[ChainLimit], max_choices: int) -> DecisionDiagram:
    """Return the diagram of all choices that keep every limit; without any, it has no path."""
    if len(limits) == 1:
        return _compile_one_limit(limits[0], max_choices)
    return _compile_several_limits(limits, max_choices)


# --- one limit ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _States:
    """Sorted (candidate, cost) pairs of one layer, and their edges to a neighbouring layer.

    For edge e, `inner[e]` is one of these states and `outer[e]` its neighbour farther from the cut:
    the prefix before it (above the cut) or the suffix after it (below).
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
        """Merge equal pairs into one state."""
        code = _PairCode(candidates, cost, limit=limit)
        unique, inner = np.unique(code.encode(candidate, cost), return_inverse=True)
        return cls(*code.decode(unique), inner, outer)


class _PairCode:
    """Encodes (candidate, cost) pairs as integers with the order of the pairs.

    The code is `candidate * (limit + 1) + cost`. Where that could exceed int64, as with thousands
    of candidates and costs near 2^52, the rank of a cost among `costs` replaces the cost.
    """

    def __init__(self, candidates: int, costs: IntArray, *, limit: int) -> None:
        fits = candidates * (limit + 1) <= np.iinfo(np.int64).max
        self._ranked = None if fits else np.unique(costs)
        self._size = limit + 1 if self._ranked is None else len(self._ranked) + 1

    def encode(self, candidate: IntArray, cost: IntArray) -> IntArray:
        """Return the codes; a cost that is not among `costs` is replaced by the next lower one."""
        if self._ranked is not None:
            cost = np.searchsorted(self._ranked, cost, "right")
        return candidate * self._size + cost

    def decode(self, code: IntArray) -> tuple[IntArray, IntArray]:
        """Return the candidates and costs."""
        candidate, cost = np.divmod(code, self._size)
        return candidate, cost if self._ranked is None else self._ranked[cost - 1]


def _compile_one_limit(chain: ChainLimit, max_choices: int) -> DecisionDiagram:
    """Return the diagram of all choices that keep one limit: prefixes and suffixes, joined."""
    tables, limit, last = chain.tables, chain.limit, len(chain.tables) - 1
    min_before, min_after = _min_costs(chain)
    none = np.zeros(0, dtype=np.int64)

    prefixes = [_States(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), none, none)]
    ends = np.arange(tables[last].shape[1])
    suffixes = [_States(ends, np.zeros_like(ends), none, none)]
    # Extend the cheaper side until both meet at the cut. One more layer of prefixes must be joined
    # to the next layer; one more layer of suffixes needs gates, about as many edges again.
    above, below = 0, last
    while above < below:
        down = len(prefixes[-1]) * tables[above].shape[1]
        up = len(suffixes[-1]) * tables[below].shape[0]
        if down * tables[above + 1].shape[1] <= 2 * up:
            _check_size(prefixes, suffixes, down)
            before = prefixes[-1]
            costs = before.cost[:, None] + tables[above][before.candidate]
            outer, candidate = np.nonzero(costs + min_after[above] <= limit)
            cost, candidates = costs[outer, candidate], tables[above].shape[1]
            prefixes.append(
                _States.merge(candidate, cost, outer, candidates=candidates, limit=limit)
            )
            above += 1
        else:
            _check_size(prefixes, suffixes, up)
            after = suffixes[-1]
            costs = tables[below][:, after.candidate] + after.cost
            candidate, outer = np.nonzero(costs + min_before[below - 1][:, None] <= limit)
            cost, candidates = costs[candidate, outer], tables[below].shape[0]
            suffixes.append(
                _States.merge(candidate, cost, outer, candidates=candidates, limit=limit)
            )
            below -= 1
    joined = len(prefixes[-1]) * tables[above].shape[1] + 2 * len(suffixes[-1])
    _check_size(prefixes, suffixes, joined)
    return _join(chain, max_choices, cut=above, prefixes=prefixes, suffixes=suffixes[::-1])


def _check_size(prefixes: list[_States], suffixes: list[_States], more: int) -> None:
    if sum(len(states.inner) for states in (*prefixes, *suffixes)) + more > MAX_EDGES:
        raise TooManyStatesError


def _join(
    chain: ChainLimit,
    max_choices: int,
    *,
    cut: int,
    prefixes: list[_States],
    suffixes: list[_States],
) -> DecisionDiagram:
    """Return prefixes, gates and suffixes as one diagram. Its nodes come in that order."""
    layers = len(chain.tables)
    if len(prefixes[-1]) == 0 or len(suffixes[0]) == 0:
        return DecisionDiagram.empty(layers, max_choices)
    gates = _Gates.between(prefixes[-1], suffixes[0], chain.tables[cut], chain.limit)

    *at_prefix, at_gates, at_suffixes = np.cumsum([0, *map(len, prefixes), len(gates)])
    at_suffix = at_suffixes + np.cumsum([0, *map(len, suffixes)])
    # the most expensive gate first, since edges lead to nodes of higher index
    gate_node = at_gates + np.arange(len(gates))[::-1]

    edges = [  # source, child
        *(
            (at_prefix[i] + states.outer, at_prefix[i + 1] + states.inner)
            for i, states in enumerate(prefixes[1:])
        ),
        (at_prefix[-1] + gates.prefix, gate_node[gates.of_prefix]),
        (gate_node[gates.chained + 1], gate_node[gates.chained]),
        (gate_node[gates.of_suffix], at_suffix[0] + gates.suffix),
        *(
            (at_suffix[i] + states.inner, at_suffix[i + 1] + states.outer)
            for i, states in enumerate(suffixes[:-1])
        ),
        (at_suffix[-2] + np.arange(len(suffixes[-1])), np.full(len(suffixes[-1]), at_suffix[-1])),
    ]
    no_choice = np.array([layers * max_choices])
    above = [i * max_choices + states.candidate for i, states in enumerate(prefixes[1:])]
    at_cut = cut * max_choices + gates.candidate[::-1]
    below = [i * max_choices + states.candidate for i, states in enumerate(suffixes, start=cut)]
    return DecisionDiagram.from_edges(
        layers,
        max_choices,
        source=np.concatenate([source for source, _ in edges]),
        child=np.concatenate([child for _, child in edges]),
        # the suffix makes the choice at the cut, not the gates on the way to it
        choice=np.concatenate([no_choice, *above, np.full_like(at_cut, no_choice), *below]),
        location=np.concatenate([no_choice, *above, at_cut, *below]),
    )


@dataclass(frozen=True, eq=False)
class _Gates:
    """The gates at the cut, in ascending order of candidate and cost, and their edges.

    Edges lead from `prefix[e]` to the gate `of_prefix[e]`, from the gate `chained[e] + 1` to the
    gate `chained[e]`, and from the gate `of_suffix[e]` to `suffix[e]`.
    """

    candidate: IntArray
    prefix: IntArray
    of_prefix: IntArray
    chained: IntArray
    suffix: IntArray
    of_suffix: IntArray

    def __len__(self) -> int:
        return len(self.candidate)

    @classmethod
    def between(cls, prefixes: _States, suffixes: _States, table: IntArray, limit: int) -> _Gates:
        """Return the gates from the last prefixes to the first suffixes; `table` has the costs."""
        # rank: the most expensive suffix of each candidate that a prefix can still afford
        costs = prefixes.cost[:, None] + table[prefixes.candidate]
        candidates = np.arange(costs.shape[1])
        code = _PairCode(len(candidates), suffixes.cost, limit=limit)
        suffix_codes = code.encode(suffixes.candidate, suffixes.cost)
        rank = np.searchsorted(suffix_codes, code.encode(candidates, limit - costs), "right") - 1
        affordable = (costs <= limit) & (rank >= 0) & (suffixes.candidate[rank] == candidates)
        prefix, candidate = np.nonzero(affordable)
        gates, of_prefix = np.unique(rank[prefix, candidate], return_inverse=True)

        # A gate leads to the suffixes between it and the next cheaper gate, and to that gate if
        # both have the same candidate.
        suffix = np.arange(gates[-1] + 1 if len(gates) else 0)
        of_suffix = np.searchsorted(gates, suffix)
        same = suffixes.candidate[gates[of_suffix]] == suffixes.candidate[suffix]
        gate_candidate = suffixes.candidate[gates]
        return cls(
            candidate=gate_candidate,
            prefix=prefix,
            of_prefix=of_prefix,
            chained=np.nonzero(np.diff(gate_candidate) == 0)[0],
            suffix=suffix[same],
            of_suffix=of_suffix[same],
        )


def _min_costs(chain: ChainLimit) -> tuple[list[IntArray], list[IntArray]]:
    """Return the minimum cost up to each candidate of each layer, and the minimum after it."""
    before = [chain.tables[0][0]]
    for table in chain.tables[1:]:
        before.append((before[-1][:, None] + table).min(axis=0))
    after = [np.zeros(chain.tables[-1].shape[1], dtype=np.int64)]
    for table in reversed(chain.tables[1:]):
        after.append((table + after[-1]).min(axis=1))
    return before, after[::-1]


# --- several limits -------------------------------------------------------------------------------


def _compile_several_limits(limits: list[ChainLimit], max_choices: int) -> DecisionDiagram:
    """Return the diagram of all choices that keep every limit, one layer after another.

    States are extended by every candidate of the next layer that all limits can afford. Then those
    with the same candidate and the same completions under every limit are merged.
    """
    layers = len(limits[0].tables)
    min_after = [_min_costs(chain)[1] for chain in limits]
    completions = [_completion_costs(chain) for chain in limits]
    candidate = np.zeros(1, dtype=np.int64)  # of each state of the layer above
    costs = np.zeros((len(limits), 1), dtype=np.int64)
    sources, children, choices = [], [], [np.array([layers * max_choices])]
    start, edges = 0, 0
    for i in range(layers):
        edges += len(candidate) * limits[0].tables[i].shape[1]
        if edges > MAX_EDGES:
            raise TooManyStatesError
        extended = np.stack(
            [
                cost[:, None] + chain.tables[i][candidate]
                for cost, chain in zip(costs, limits, strict=True)
            ]
        )  # the costs of every state with every next candidate
        lowest = [cost + minimum[i] for cost, minimum in zip(extended, min_after, strict=True)]
        affordable = np.all(
            [cost <= chain.limit for cost, chain in zip(lowest, limits, strict=True)], axis=0
        )
        source, next_candidate = np.nonzero(affordable)
        next_costs = extended[:, source, next_candidate]
        state = next_candidate
        for cost, chain, of_layer in zip(next_costs, limits, completions, strict=True):
            code = _encode_completions(chain.limit - cost, next_candidate, of_layer[i])
            # pair the codes and renumber both, so that they stay small
            code = np.unique(code, return_inverse=True)[1]
            state = np.unique(state * (len(code) + 1) + code, return_inverse=True)[1]
        _, example, state = np.unique(state, return_index=True, return_inverse=True)
        sources.append(start + source)
        start += len(candidate)
        children.append(start + state)
        candidate, costs = next_candidate[example], next_costs[:, example]
        choices.append(i * max_choices + candidate)
    ends = start + np.arange(len(candidate))
    return DecisionDiagram.from_edges(
        layers,
        max_choices,
        source=np.concatenate([*sources, ends]),
        child=np.concatenate([*children, np.full_like(ends, start + len(candidate))]),
        choice=np.concatenate(choices),
    )


def _completion_costs(chain: ChainLimit) -> list[list[IntArray] | None]:
    """Return for each layer and candidate the sorted distinct costs of its completions.

    None where they would be too many to be of use.
    """
    found: list[list[IntArray] | None] = [
        [np.zeros(1, dtype=np.int64) for _ in range(chain.tables[-1].shape[1])]
    ]
    for table in reversed(chain.tables[1:]):
        after = found[-1]
        if after is None or table.shape[0] * sum(map(len, after)) > MAX_EDGES:
            found.append(None)
            continue
        layer = []
        for row in table:
            sums = np.concatenate([cost + costs for cost, costs in zip(row, after, strict=True)])
            layer.append(np.unique(sums[sums <= chain.limit]))
        found.append(layer)
    return found[::-1]


def _encode_completions(
    left: IntArray, candidate: IntArray, costs_of: list[IntArray] | None
) -> IntArray:
    """Return a code for the set of completions that cost at most `left`, unique to that set."""
    if costs_of is None:
        return left
    code = np.empty_like(left)
    for j, costs in enumerate(costs_of):
        same = candidate == j
        code[same] = np.searchsorted(costs, left[same], "right")
    return code
