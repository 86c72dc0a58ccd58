"""Snapshots of a search: states of its policy for files, reports and progress bars."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.decoding import decode, to_builtins
from tabnas.results import Snapshot
from tabnas.search import PolicySearch, Search, StepRecord
from tabnas.states import read_counts

SNAPSHOTS = 100
"""Snapshots of one search."""
DIGITS = 6
"""Decimal digits of the probabilities of a snapshot."""


class SnapshotRecorder:
    """Takes snapshots of a search, evenly over its steps."""

    def __init__(self, search: PolicySearch) -> None:
        self._search = search
        self.snapshots: list[Snapshot] = []

    def is_due(self) -> bool:
        """Return whether it is time for the next snapshot."""
        return len(self.snapshots) <= self._search.progress * SNAPSHOTS

    def on_step(self, record: StepRecord) -> None:
        """Take a snapshot if one is due."""
        if self.is_due():
            self.add_snapshot(record)

    def add_snapshot(self, record: StepRecord) -> Snapshot:
        """Take a snapshot now."""
        snapshot = take_snapshot(self._search, record)
        self.snapshots.append(snapshot)
        return snapshot


class RecordedSearch:
    """A search with its snapshots: both are saved and restored together."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self.recorder = SnapshotRecorder(search)

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return the state of the search, and the snapshots as JSON in bytes."""
        snapshots = json.dumps(to_builtins(self.recorder.snapshots))
        return self.search.state_dict() | {"snapshots": np.frombuffer(snapshots.encode(), np.uint8)}

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore a state that `state_dict` has returned."""
        text = read_counts(state, "snapshots", (None,), maximum=255).astype(np.uint8).tobytes()
        self.recorder.snapshots = decode(list[Snapshot], json.loads(text), source="the snapshots")
        self.search.load_state_dict({k: v for k, v in state.items() if k != "snapshots"})


def take_snapshot(search: PolicySearch, record: StepRecord) -> Snapshot:
    """Describe a search after one of its steps."""
    policy, space = search.controller.policy, search.feasible.space
    most_likely = policy.most_likely()[0]
    limit = search.feasible.budget.limits[0]
    quality = None
    if record.evaluation is not None and np.isfinite(record.evaluation.quality).any():
        quality = float(np.nanmean(record.evaluation.quality))
    return Snapshot(
        step=record.step,
        progress=search.progress,
        training_loss=record.loss,
        quality=quality,
        feasible_probability=float(np.exp(policy.conditional.log_probability)),
        entropy=float(policy.entropy),
        most_likely=str(most_likely),
        most_likely_cost=float(limit.cost(space, most_likely)),
        probabilities=tuple(
            tuple(np.round(layer[: len(candidates)], DIGITS).tolist())
            for layer, candidates in zip(policy.probabilities, space.layers, strict=True)
        ),
    )
