"""The course of a search, as it is kept and shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.runs.checkpoints._recall import recalled
from tabnas.search import PolicySearch, Search, StepRecord
from tabnas.states import read_counts

SNAPSHOTS = 100
"""How often the policy is written down over a search."""


@dataclass(frozen=True)
class Snapshot:
    """Where a search stands."""

    step: int
    progress: float
    training_loss: float | None  # None: no step could be taken
    quality: float | None  # mean of the last looks; None while the policy is frozen
    feasible_probability: float  # P(V) of the policy
    entropy: float
    favourite: str  # the most likely feasible architecture
    favourite_cost: float  # by the first limit
    probabilities: list[list[float]]  # of every candidate width, by layer

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        return dict(vars(self))


class Trace:
    """Watches a search and takes snapshots, evenly over its steps."""

    def __init__(self, search: PolicySearch) -> None:
        self._search = search
        self.snapshots: list[Snapshot] = []

    def due(self) -> bool:
        """Whether the next snapshot is."""
        return len(self.snapshots) <= self._search.progress * SNAPSHOTS

    def watch(self, round: StepRecord) -> None:
        """Take a snapshot if one is due."""
        if self.due():
            self.snapshot(round)

    def snapshot(self, round: StepRecord) -> Snapshot:
        """Write down where the search stands."""
        taken = describe(self._search, round)
        self.snapshots.append(taken)
        return taken


class TracedSearch:
    """A search with its trace, as one piece of work that can be gone on with."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self.trace = Trace(search)

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """The search's state, and the snapshots as a text in bytes."""
        taken = json.dumps([snapshot.to_dict() for snapshot in self.trace.snapshots])
        return self.search.state_dict() | {"snapshots": np.frombuffer(taken.encode(), np.uint8)}

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on where another stood."""
        text = read_counts(state, "snapshots", (None,), maximum=255).astype(np.uint8).tobytes()
        self.trace.snapshots = [recalled(Snapshot, taken) for taken in json.loads(text)]
        self.search.load_state_dict({k: v for k, v in state.items() if k != "snapshots"})


def describe(search: PolicySearch, round: StepRecord) -> Snapshot:
    """Where a search stands after a round."""
    policy, space = search.controller.policy, search.feasible.space
    favourite = policy.most_likely()[0]
    limit = search.feasible.budget.limits[0]
    looked = round.evaluation is not None and np.isfinite(round.evaluation.quality).any()
    return Snapshot(
        step=round.step,
        progress=search.progress,
        training_loss=round.loss,
        quality=float(np.nanmean(round.evaluation.quality))
        if looked and round.evaluation
        else None,
        feasible_probability=float(np.exp(policy.conditional.log_probability)),
        entropy=float(policy.entropy),
        favourite=str(favourite),
        favourite_cost=limit.cost(space, favourite),
        probabilities=[
            [round_to(p) for p in layer[: len(widths)]]
            for layer, widths in zip(policy.probabilities, space.candidates, strict=True)
        ],
    )


def round_to(value: float, digits: int = 6) -> float:
    """Rounded for a file that people read."""
    return float(np.round(value, digits))
