"""The result of a trade-off (`tradeoff.json`): the best network at each of several limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any

from tabnas.decoding import Bounds, Count, MaxLength, Probability, decode
from tabnas.results._fields import MAX_NUMBER, Name, Real, Width, check_format
from tabnas.results._run import RowCounts, TargetSummary
from tabnas.results._scores import CostUse, Score, Scores
from tabnas.results._teacher import TeacherModel
from tabnas.results._timings import TimedResult
from tabnas.space import Architecture, Precision

TRADEOFF_FORMAT = 2
"""The version of the format of `tradeoff.json`."""
MAX_MODELS = 200
FOLDER = re.compile(r"limit-[0-9]{1,30}(\.[0-9]{1,30})?(e[+-]?[0-9]{1,3})?", re.ASCII)
"""The folders of a trade-off's runs; a page links to nothing else."""


@dataclass(frozen=True, kw_only=True)
class TradeoffModel:
    """The network of one limit."""

    limit: Annotated[int | float, Bounds(ge=0, le=MAX_NUMBER)]
    folder: str
    architecture: Architecture
    costs: Mapping[str, CostUse]
    validation_score: Real  # by the metric, on validation rows or over folds
    scores: Scores | None  # on test rows
    bottlenecks: tuple[Count, ...]  # layers, from 1
    pareto_optimal: bool  # by validation score
    teacher_share: Probability = 0.0  # of the teacher's answers in what it learned from
    precision: Precision = Precision.FLOAT32  # of its weights

    def __post_init__(self) -> None:
        if not FOLDER.fullmatch(self.folder):
            raise ValueError(f"folder must be named like limit-2000, got {self.folder!r}")
        if any(not 1 <= layer <= self.architecture.depth for layer in self.bottlenecks):
            raise ValueError(
                f"bottlenecks must be numbers of hidden layers, got {list(self.bottlenecks)}"
            )

    @property
    def is_within_limits(self) -> bool:
        """Whether every limit holds."""
        return all(cost.is_within_limit for cost in self.costs.values())


@dataclass(frozen=True, kw_only=True)
class TradeoffResult(TimedResult):
    """The result of a trade-off: everything in `tradeoff.json`.

    Only `timings` differs between two trade-offs of the same settings and plan, unless latency is
    limited.
    """

    format: int = TRADEOFF_FORMAT
    target: TargetSummary
    metric: Name
    greater_is_better: bool
    cost: Name  # whose limit varies
    models: Annotated[tuple[TradeoffModel, ...], MaxLength(MAX_MODELS)]  # by increasing limit
    references: Mapping[str, Scores]  # on test rows: "trivial", "boosted trees", "teacher"
    teacher: tuple[TeacherModel, ...] = ()  # one for all limits, if any
    rows: RowCounts
    inputs: Width  # without numeric embeddings
    embedded_columns: Count = 0
    outputs: Width
    chosen_by: str
    seed: Annotated[int, Bounds(ge=0, le=MAX_NUMBER)]
    versions: Mapping[str, str]
    timings: Mapping[str, Real]

    def __post_init__(self) -> None:
        if not self.models:
            raise ValueError("models must hold at least one network")
        if any(before.limit > after.limit for before, after in pairwise(self.models)):
            raise ValueError("models must be in the order of their limits")
        for k, model in enumerate(self.models):
            use = model.costs.get(self.cost)
            if use is None:
                raise ValueError(f"models[{k}].costs must have the cost {self.cost!r}")
            if use.value < 0:
                raise ValueError(f"models[{k}].costs.{self.cost}.value must be at least 0")

    @cached_property
    def is_tested(self) -> bool:
        """Whether every network has a score on test rows, by the metric."""
        return all(m.scores is not None and self.metric in m.scores for m in self.models)

    @property
    def is_within_limits(self) -> bool:
        """Whether every network keeps every limit."""
        return all(m.is_within_limits and self.used(m) <= m.limit for m in self.models)

    @property
    def has_rounded_models(self) -> bool:
        """Whether the weights of a network are stored in less than float32."""
        return any(model.precision != Precision.FLOAT32 for model in self.models)

    @property
    def reference_scores(self) -> dict[str, Score]:
        """The scores that networks are compared with; none without test scores."""
        if not self.is_tested:
            return {}
        return {n: s[self.metric] for n, s in self.references.items() if self.metric in s}

    @property
    def networks(self) -> list[list[TradeoffModel]]:
        """The models, those that are the same network together, by their first limit."""
        groups: list[list[TradeoffModel]] = []
        for model in self.models:
            same = (group for group in groups if self.is_same_network(group[0], model))
            group = next(same, None)
            if group is None:
                groups.append([model])
            else:
                group.append(model)
        return groups

    def is_same_network(self, model: TradeoffModel, other: TradeoffModel) -> bool:
        """Return whether two limits have the same network, with the same inputs and precision."""
        return (model.architecture, model.precision, self.used(model)) == (
            other.architecture,
            other.precision,
            self.used(other),
        )

    def input_width(self, architecture: Architecture) -> int:
        """Return the number of inputs of a network, with its numeric embeddings."""
        return self.inputs + architecture.dimension * self.embedded_columns

    def used(self, model: TradeoffModel) -> float:
        """Return how much of the varied cost a network uses."""
        return model.costs[self.cost].value

    def score(self, model: TradeoffModel) -> Score:
        """Return the test score of a network; without one, its validation score as a point."""
        if self.is_tested and model.scores is not None:
            return model.scores[self.metric]
        return Score(*[model.validation_score] * 3)

    def gain(self, before: TradeoffModel, after: TradeoffModel) -> float:
        """Return by how much a network is better than another; negative if it is worse."""
        change = self.score(after).value - self.score(before).value
        return change if self.greater_is_better else -change

    def is_as_good(self, score: Score, other: Score) -> bool:
        """Return whether a score is better than another, or within its interval."""
        return score.value >= other.low if self.greater_is_better else score.value <= other.high

    def differs_clearly(self, model: TradeoffModel, other: TradeoffModel) -> bool:
        """Return whether the intervals of two networks on test rows do not overlap."""
        a, b = self.score(model), self.score(other)
        return self.is_tested and (a.high < b.low or b.high < a.low)


def decode_tradeoff(value: Any, *, source: str = "tradeoff.json") -> TradeoffResult:
    """Return the contents of `tradeoff.json` as a `TradeoffResult`, or raise `DecodeError`."""
    check_format(value, TRADEOFF_FORMAT, source=source, contents="the result of a trade-off")
    return decode(TradeoffResult, value, source=source, ignore_unknown=True)
