"""The result of a run (`result.json`) and the course of its search (`history.jsonl`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from tabnas.decoding import Count, MaxLength, decode
from tabnas.formatting import greater_is_better
from tabnas.results._c_size import CSize
from tabnas.results._diagnostics import Diagnostics
from tabnas.results._fields import (
    MAX_LAYERS,
    Amount,
    Label,
    LargeCount,
    Name,
    Real,
    Task,
    Width,
    check_format,
)
from tabnas.results._numeric_curves import MAX_CURVES, NumericCurve
from tabnas.results._scores import CostUse, Scores
from tabnas.results._teacher import (
    TEACHER,
    WITHOUT_TEACHER,
    TeacherDistance,
    TeacherSummary,
    describe_distillation,
)
from tabnas.results._timings import MEASURED_PREFIX, TimedResult
from tabnas.space import Architecture, Precision

RESULT_FORMAT = 2
"""The version of the format of `result.json`."""
MAX_CANDIDATES = 10_000
NETWORK = "network"
"""The name of the network's score."""


@dataclass(frozen=True)
class Snapshot:
    """The state of a search at one step: a line of `history.jsonl`."""

    step: int
    progress: Real
    training_loss: Real | None  # None: no step could be taken
    quality: Real | None  # mean of the last evaluations; None while the policy is frozen
    feasible_probability: Real  # P(V) of the policy
    entropy: Real
    most_likely: str  # of the feasible architectures
    most_likely_cost: Real  # by the first limit
    probabilities: tuple[tuple[Real, ...], ...]  # of every candidate, by layer, the input first


@dataclass(frozen=True)
class TargetSummary:
    """The target column, and its classes if it has any."""

    name: str
    task: Task
    classes: tuple[Label, ...] | None = None


@dataclass(frozen=True)
class BoostedTreesSummary:
    """The size of the boosted trees that a network is compared with."""

    trees: Count
    nodes: Count | None  # None if scikit-learn does not tell
    rows: Count  # that they were trained on


@dataclass(frozen=True, kw_only=True)
class CandidateResult:
    """An architecture that was trained stand-alone."""

    architecture: Architecture
    teacher_share: Real = 0.0  # of the teacher's answers in what it learned from
    uses_unlabelled: bool = False  # whether it learned from rows without a label, too
    is_longer: bool = False  # whether it had the longer training, of `longer_epochs`
    precision: Precision = Precision.FLOAT32  # of its weights
    costs: Mapping[str, Amount]
    score: Real  # by the metric of the run, on validation rows or over folds
    score_before_rounding: Real | None = None  # None for float32
    epochs: Count  # up to the best one
    temperature: Real
    one_shot_loss: Real | None  # with the SuperNet's weights; None if it was not finite

    @property
    def learned_from(self) -> str:
        """What it has learned from: labels alone, or some share of a teacher's answers, too."""
        return describe_distillation(self.teacher_share, uses_unlabelled=self.uses_unlabelled)


@dataclass(frozen=True)
class LimitEffect:
    """The best architecture at a multiple of the limits, by its one-shot loss."""

    factor: Real
    architecture: Architecture
    one_shot_loss: Real


@dataclass(frozen=True)
class WiderNeighbour:
    """An architecture with one layer a step wider, and the costs whose limits it violates."""

    architecture: Architecture
    violates: tuple[str, ...]


@dataclass(frozen=True)
class RowCounts:
    """The number of rows of each split."""

    training: Count
    validation: Count
    test: Count

    @property
    def total(self) -> int:
        """The number of all rows."""
        return self.training + self.validation + self.test

    def __str__(self) -> str:
        return f"{self.training:,} training, {self.validation:,} validation, {self.test:,} test"


@dataclass(frozen=True, kw_only=True)
class PlanSummary:
    """The search space, and the amount of training."""

    inputs: Width
    outputs: Width
    embedding_parameters: Count
    widths: Annotated[tuple[tuple[Width, ...], ...], MaxLength(MAX_LAYERS)]
    dimensions: Annotated[tuple[Width, ...], MaxLength(MAX_LAYERS)] = ()  # of numeric embeddings
    embedded_columns: Count = 0
    knots: Count = 0  # of all embedded columns
    architectures: LargeCount
    feasible: LargeCount | None  # None if they could not be counted
    search_epochs: Count
    epochs: Count
    longer_epochs: Count | None = None  # of the best candidate, once more; None if it had no more
    batch_size: Count
    learning_rate: Real
    candidates: Count
    folds: Count  # 0: one split
    latency_machine: str = ""  # the machine and the runtime of limits on latency, if there are any

    @property
    def layers(self) -> tuple[tuple[int, ...], ...]:
        """The candidates of every layer: dimensions of the input layer, if any, then widths."""
        return (self.dimensions, *self.widths) if self.dimensions else self.widths

    def input_width(self, architecture: Architecture) -> int:
        """Return the number of inputs of a network, with its numeric embeddings."""
        return self.inputs + architecture.dimension * self.embedded_columns

    def numeric_embedding_parameters(self, architecture: Architecture) -> int:
        """Return the number of parameters of a network's numeric embeddings."""
        return architecture.dimension * self.knots


@dataclass(frozen=True, kw_only=True)
class RunResult(TimedResult):
    """The result of a run: everything in `result.json`.

    Only `timings` differs between two runs of the same settings and plan. With a limit on latency
    more may differ, since measurements influence which network is chosen.
    """

    format: int = RESULT_FORMAT
    architecture: Architecture
    costs: Mapping[str, CostUse]
    c_size: CSize | None = None  # None without a limit of a device, or if C cannot hold the model
    target: TargetSummary
    metric: Name
    scores: Mapping[str, Scores]
    """On test rows: "network", "trivial", "boosted trees", "teacher", "network without teacher"."""
    teacher: TeacherSummary | None = None
    boosted_trees: BoostedTreesSummary | None
    diagnostics: Diagnostics | None
    numeric_curves: Annotated[tuple[NumericCurve, ...], MaxLength(MAX_CURVES)] = ()
    notes: tuple[str, ...]
    candidates: Annotated[tuple[CandidateResult, ...], MaxLength(MAX_CANDIDATES)]  # best first
    chosen_by: str  # what candidates were compared by
    trained_on_all_rows: bool
    limit_effects: tuple[LimitEffect, ...]
    wider_steps: tuple[WiderNeighbour, ...]
    rows: RowCounts
    columns: Mapping[str, str]  # how each was encoded
    table: str  # digest of the table's rows
    plan: PlanSummary
    seed: LargeCount
    versions: Mapping[str, str]
    timings: Mapping[str, Real]  # seconds by phase, and measured latencies

    def __post_init__(self) -> None:
        if not self.costs:
            raise ValueError("costs must hold at least one cost")

    @property
    def precision(self) -> Precision:
        """The precision in which the weights of the network are stored."""
        return self.candidates[0].precision if self.candidates else Precision.FLOAT32

    @property
    def has_rounded_candidates(self) -> bool:
        """Whether the weights of a candidate are stored in less than float32."""
        return any(candidate.precision != Precision.FLOAT32 for candidate in self.candidates)

    @property
    def limited_costs(self) -> dict[str, CostUse]:
        """The costs that have a limit."""
        return {name: cost for name, cost in self.costs.items() if cost.limit is not None}

    @property
    def main_cost(self) -> str:
        """The first cost that has a limit; the first of all if none has."""
        return next(iter(self.limited_costs or self.costs))

    @property
    def is_within_limits(self) -> bool:
        """Whether every limit holds."""
        return all(cost.is_within_limit for cost in self.costs.values())

    @property
    def binding_limits(self) -> set[str]:
        """The limits that forbid a network one step wider."""
        return {name for neighbour in self.wider_steps for name in neighbour.violates}

    @property
    def teacher_distance(self) -> TeacherDistance | None:
        """How far network and teacher are apart by the metric; None if one has no test score."""
        if self.teacher is None:
            return None
        values = {n: s[self.metric].value for n, s in self.scores.items() if self.metric in s}
        without = NETWORK if self.teacher.share == 0 else WITHOUT_TEACHER
        if not {NETWORK, TEACHER, without} <= values.keys():
            return None
        network, teacher, alone = (
            1 - values[name] if greater_is_better(self.metric) else values[name]
            for name in (NETWORK, TEACHER, without)
        )
        return TeacherDistance(network=network, teacher=teacher, without=alone)

    def candidate_name(self, candidate: CandidateResult) -> str:
        """Return the architecture of a candidate, and how it was trained, if that differs."""
        name = str(candidate.architecture)
        if self.teacher is not None:
            name += f", {candidate.learned_from}"
        return f"{name}, longer" if candidate.is_longer else name

    def format_epochs(self, candidate: CandidateResult) -> str:
        """Return the best epoch of a candidate, and how many its training had."""
        longer = self.plan.longer_epochs if candidate.is_longer else None
        return f"{candidate.epochs:,} of {longer or self.plan.epochs:,}"

    @property
    def is_cross_validated(self) -> bool:
        """Whether candidates were compared by cross-validation."""
        return self.plan.folds > 0

    @property
    def scored_fit_rows(self) -> int:
        """The number of rows that the scored weights were trained on."""
        rows = self.rows
        return rows.training + (rows.validation if self.is_cross_validated else 0)

    @property
    def final_fit_rows(self) -> int:
        """The number of rows that the final weights were trained on."""
        return self.rows.total if self.trained_on_all_rows else self.scored_fit_rows

    @property
    def is_refitted(self) -> bool:
        """Whether the final weights were trained on more rows than the scored weights."""
        return self.final_fit_rows > self.scored_fit_rows

    @property
    def measured_latencies(self) -> dict[str, float]:
        """The measured latencies of the model in microseconds, by the name of the cost."""
        return {
            name.removeprefix(MEASURED_PREFIX): value
            for name, value in self.timings.items()
            if name.startswith(MEASURED_PREFIX)
        }


def decode_result(value: Any, *, source: str = "result.json") -> RunResult:
    """Return the contents of `result.json` as a `RunResult`, or raise `DecodeError`."""
    check_format(value, RESULT_FORMAT, source=source, contents="the result of a run")
    return decode(RunResult, value, source=source, ignore_unknown=True)


def decode_history(lines: Any, *, source: str = "history.jsonl") -> tuple[Snapshot, ...]:
    """Return the lines of `history.jsonl` as snapshots, or raise `DecodeError`."""
    return tuple(
        decode(Snapshot, line, source=f"{source}: line {k}", ignore_unknown=True)
        for k, line in enumerate(decode(list[Any], lines, source=source), start=1)
    )
