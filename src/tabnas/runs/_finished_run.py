"""The finished run: its model, and everything it has measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tabnas.model import BoostedTrees, Metric, Model, Scores
from tabnas.results import Diagnostics, LimitEffect, Snapshot, TeacherSummary
from tabnas.runs.candidates._candidate import Candidate
from tabnas.runs.plan._plan import Plan
from tabnas.runs.prepare._prepared_data import PreparedData
from tabnas.settings import RunSettings


@dataclass(frozen=True, eq=False)
class FinishedRun:
    """The model of a run, and everything the run has measured; `RunResult` is its file."""

    model: Model
    settings: RunSettings
    data: PreparedData
    plan: Plan
    metric: Metric
    candidates: tuple[Candidate, ...]  # best first
    limit_effects: tuple[LimitEffect, ...]
    scores: dict[str, Scores]  # on the test rows: of the network and the reference models
    teacher: TeacherSummary | None  # None if there was none
    boosted: BoostedTrees | None
    diagnostics: Diagnostics | None  # errors, calibration, importance of columns
    notes: tuple[str, ...]  # for the user
    trained_on_all_rows: bool  # whether the model was trained on every row
    snapshots: tuple[Snapshot, ...]
    phase_seconds: dict[str, float]  # of the jobs of each phase, which work side by side
    total_seconds: float
    latencies_us: Mapping[str, float]  # latencies of the model's file, by the name of the cost

    @property
    def chosen(self) -> Candidate:
        """The candidate that became the model."""
        return self.candidates[0]

    def add_preparation(self, seconds: float) -> FinishedRun:
        """Return the run with the time that went by before it was executed."""
        before = self.phase_seconds.get("preparation", 0.0)
        return replace(
            self,
            phase_seconds={**self.phase_seconds, "preparation": before + seconds},
            total_seconds=self.total_seconds + seconds,
        )
