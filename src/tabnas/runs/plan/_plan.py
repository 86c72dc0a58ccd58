"""The plan of a run: its search space, how long it trains, and how many candidates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from math import ceil
from typing import Annotated, Any

from tabnas.decoding import Bounds, DecodeError, decode
from tabnas.errors import TabNASError
from tabnas.feasible import FeasibleSet
from tabnas.nets import EarlyStopping, Optimizer, TrainingSettings
from tabnas.runs.plan._latency import LatencyPlan
from tabnas.runs.plan._saved_latency import SavedLatency
from tabnas.runs.plan._teacher_plan import TeacherName, TeacherPlan
from tabnas.search import SearchSettings
from tabnas.space import COSTS, Architecture, Cost, Precision

MAX_EPOCHS = 500
LONGER_FACTOR = 4
"""How many times as long the best candidate is trained once more: short trainings suffice to
compare networks, but many tables need longer ones (results/equal_bytes.md)."""
LONGER_PATIENCE = 1 / 3
"""The share of its epochs after which the longer training ends, if none of them was better."""
MAX_CANDIDATES = 24
ROWS_PER_CANDIDATE = 100
"""Rows to choose by for each candidate that more time adds: of many candidates, scored on few rows,
the luckiest is chosen and not the best (results/small_tables.md)."""
SIMPLER_CANDIDATES = 3
"""Maximum number of simpler networks that are tried on small tables: see
`search/_selection.py`."""
TEACHER_TRAININGS = 2
"""Trainings, besides those of the candidates, that find out how much a teacher helps; there are a
few more if another share of its answers is better than the first."""

# How much longer a phase takes than only its training steps; measured on five tables.
SEARCH_OVERHEAD = 2.5  # children above the limit, and evaluations on validation rows
VALIDATION_OVERHEAD = 1.25  # the validation loss after each epoch


@dataclass(frozen=True, kw_only=True)
class SavedPlan:
    """The numbers of a plan that depend on the time and on the speed of the machine.

    `config.toml` holds them, so that a resumed run does not measure again and decide otherwise.
    """

    search_epochs: Annotated[int, Bounds(ge=1, le=MAX_EPOCHS)]
    epochs: Annotated[int, Bounds(ge=1, le=MAX_EPOCHS)]
    candidates: Annotated[int, Bounds(ge=1)]
    limit_share: Annotated[float, Bounds(gt=0, le=1)] = 1.0
    left_out_teachers: tuple[TeacherName, ...] = ()  # for lack of time
    latency: SavedLatency | None = None
    latencies: tuple[SavedLatency, ...] = ()  # of a trade-off, by embeddings

    @classmethod
    def decode(cls, value: Any) -> SavedPlan:
        """Decode the section `plan` of a configuration."""
        try:
            return decode(cls, value, source="the plan of the run")
        except DecodeError as error:
            raise TabNASError(f"{error}; start a new run") from None


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainingPlan:
    """How every candidate is trained and evaluated: what processes that run jobs need of a plan."""

    training: TrainingSettings
    max_longer_epochs: int  # of the longer training of the best candidate
    optimizer: Optimizer
    folds: int  # of cross-validation; 0 if candidates are chosen by the validation rows
    engine: str

    def get_training(self, *, is_longer: bool) -> TrainingSettings:
        """Return the settings of a training: the usual one, or the longer one of the best.

        The average of its weights reaches back for the same share of the training. It stops early
        if the network only overfits, as the usual one is too short to do.
        """
        if not is_longer:
            return self.training
        return replace(
            self.training,
            epochs=self.longer_epochs,
            averaging=self.training.averaging * self.length_ratio,
            early_stopping=EarlyStopping(patience=ceil(LONGER_PATIENCE * self.longer_epochs)),
        )

    @property
    def longer_epochs(self) -> int:
        """The epochs of the longer training; the usual number if there is none.

        Cross-validated candidates have none: it would be one for each fold.
        """
        if self.folds:
            return self.training.epochs
        longer = min(LONGER_FACTOR * self.training.epochs, self.max_longer_epochs, MAX_EPOCHS)
        return max(self.training.epochs, longer)

    @property
    def length_ratio(self) -> float:
        """How many times as long the longer training is."""
        return self.longer_epochs / self.training.epochs

    @property
    def trains_longer(self) -> bool:
        """Whether the best candidate is trained once more, for longer."""
        return self.longer_epochs > self.training.epochs


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan(TrainingPlan):
    """All that a run will do, in numbers."""

    feasible: FeasibleSet
    search: SearchSettings
    candidates: int  # from the search
    precisions: tuple[Precision, ...]  # to choose from; the first is that of the feasible set
    free_widths: bool  # whether candidates may have other widths than those of the space
    equal_dimensions: tuple[int, ...]  # of candidates with equal layers, one for each
    try_simpler: bool  # whether simpler networks than those of the search become candidates
    refit: bool  # whether the final model is trained once more, on all rows
    measure_step_seconds: Callable[[], float]  # measures when first called
    rows: int  # for training
    selection_rows: int  # that candidates are chosen by
    comparison_seconds: float  # an estimate for the boosted trees
    teacher: TeacherPlan  # who teaches the networks
    latency: LatencyPlan | None = None  # if there are limits on latency
    limit_share: float = 1.0  # of the limits that the space is made for; less if time is short
    notes: tuple[str, ...] = ()  # for the user

    @property
    def training_plan(self) -> TrainingPlan:
        """The part of the plan that processes which run jobs need."""
        return TrainingPlan(**{f.name: getattr(self, f.name) for f in fields(TrainingPlan)})

    @property
    def seconds_per_step(self) -> float:
        """The time of a training step of the largest feasible network, measured once."""
        return self.measure_step_seconds()

    @property
    def largest_parameters(self) -> int:
        """The parameters of the most expensive feasible network."""
        return int(COSTS["parameters"](self.feasible.space, self.feasible.most_expensive()))

    @property
    def training_seconds(self) -> float:
        """An estimate of the time of one stand-alone training."""
        return VALIDATION_OVERHEAD * self._steps(self.training.epochs) * self.seconds_per_step

    @property
    def estimated_seconds(self) -> dict[str, float]:
        """An estimate of the time of each phase on one thread, without reading and compilation.

        Rows without a target are counted in the training of every candidate, though only one
        candidate and the final model may learn from them: an upper bound.
        """
        has_teacher = bool(self.teacher.teachers)
        final = bool(self.folds) + self.refit * self.length_ratio
        longest = self.max_trained * max(1, self.folds) + final
        trainings = longest * self.teacher.rows_ratio
        trainings += TEACHER_TRAININGS * has_teacher * max(1, self.folds)
        if self.trains_longer:
            trainings += self.length_ratio * (self.teacher.rows_ratio + has_teacher)
        return {
            "search": SEARCH_OVERHEAD * self._steps(self.search.epochs) * self.seconds_per_step,
            "teacher": self.teacher.seconds,
            "candidates": trainings * self.training_seconds,
            "comparison": self.comparison_seconds,
        }

    @property
    def max_trained(self) -> int:
        """The largest number of networks that become candidates."""
        candidates = self.candidates + len(self.equal_dimensions)
        return candidates + SIMPLER_CANDIDATES * self.try_simpler + len(self.precisions) - 1

    def _steps(self, epochs: int) -> int:
        return epochs * ceil(self.rows / self.training.batch_size)

    @property
    def saved_plan(self) -> dict[str, Any]:
        """The numbers that a resumed run must reuse, for TOML; `SavedPlan` decodes them."""
        numbers: dict[str, Any] = {
            "search_epochs": self.search.epochs,
            "epochs": self.training.epochs,
            "candidates": self.candidates,
        }
        if self.limit_share < 1:
            numbers["limit_share"] = self.limit_share
        if self.teacher.left_out:
            numbers["left_out_teachers"] = list(self.teacher.left_out)
        return (
            numbers if self.latency is None else numbers | {"latency": self.latency.saved_latency}
        )

    @property
    def costs(self) -> dict[str, Cost]:
        """Every cost of an architecture that is known before it is trained."""
        return COSTS | dict(self.latency.costs if self.latency else {})

    def allows(self, architecture: Architecture) -> bool:
        """Return whether an architecture may become a candidate: it meets all limits.

        If there are several precisions to choose from, in one of them.
        """
        space = self.feasible.space
        is_known = space.covers(architecture) if self.free_widths else architecture in space
        return is_known and bool(self.list_precisions(architecture))

    def list_precisions(self, architecture: Architecture) -> tuple[Precision, ...]:
        """Return the precisions in which an architecture meets the limits."""
        space, budget = self.feasible.space, self.feasible.budget
        return tuple(
            precision
            for precision in self.precisions
            if budget.at_precision(precision).admits(space, architecture)
        )

    def with_saved(self, saved: SavedPlan) -> Plan:
        """Return the plan with the numbers of an earlier process."""
        if saved.candidates > max(MAX_CANDIDATES, self.candidates):
            raise TabNASError(
                "the plan of the run: candidates must follow from the settings, got "
                f"{saved.candidates:,}; start a new run"
            )
        return replace(
            self,
            search=replace(self.search, epochs=saved.search_epochs),
            training=replace(self.training, epochs=saved.epochs),
            candidates=saved.candidates,
            teacher=self.teacher.without(saved.left_out_teachers),
        )

    @property
    def max_candidates(self) -> int:
        """The largest number of candidates from the search, which a long time limit leads to."""
        total = min(MAX_CANDIDATES, self.selection_rows // ROWS_PER_CANDIDATE)
        return max(self.candidates, total - len(self.equal_dimensions))
