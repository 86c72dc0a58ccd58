"""What `tradeoff.json` says, checked and typed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from tabnas.errors import TabNASError
from tabnas.report._facts import MOST_WIDTH, Cost, Score, parse_widths, read_cost, read_score
from tabnas.report._given import Given

MOST_MODELS = 200
FOLDER = re.compile(r"limit-[0-9]{1,30}(\.[0-9]{1,30})?(e[+-]?[0-9]{1,3})?", re.ASCII)
"""What the runs of a trade-off are called; a page links to nothing else."""


@dataclass(frozen=True)
class Member:
    """The network of one limit."""

    limit: float
    folder: str
    architecture: str
    widths: tuple[int, ...]
    costs: Mapping[str, Cost]
    used: float  # of the cost whose limit varies
    held_out: float
    score: Score  # that it is shown with: on test rows, or the held-out value without an interval
    bottlenecks: tuple[int, ...]  # layers, from 1
    optimal: bool

    @property
    def holds(self) -> bool:
        """Whether every limit does."""
        return self.used <= self.limit and all(cost.holds for cost in self.costs.values())


@dataclass(frozen=True)
class TradeoffFacts:
    """A finished trade-off."""

    target: str
    target_name: str  # exactly as in the table, for code
    task: str
    metric: str
    greater: bool  # is better
    cost: str
    members: tuple[Member, ...]  # the tightest limit first
    tested: bool  # scores are those of test rows
    beside: Mapping[str, Score]
    inputs: int | None
    outputs: int | None
    chosen_by: str
    rows: Mapping[str, int]
    seed: int
    versions: Mapping[str, str]
    timings: Mapping[str, float]

    @property
    def networks(self) -> list[list[Member]]:
        """Members that are the same network together, in the order of their first limit."""
        groups: dict[tuple[str, float], list[Member]] = {}
        for member in self.members:
            groups.setdefault((member.architecture, member.used), []).append(member)
        return list(groups.values())

    def gain(self, before: Member, after: Member) -> float:
        """By how much one is better than another; negative if it is worse."""
        change = after.score.value - before.score.value
        return change if self.greater else -change

    def as_good(self, score: Score, other: Score) -> bool:
        """Whether a score is better than another, or within its interval."""
        return score.value >= other.low if self.greater else score.value <= other.high

    def apart(self, one: Member, other: Member) -> bool:
        """Whether their intervals do not touch, so that their difference is hardly chance."""
        a, b = one.score, other.score
        return self.tested and (a.high < b.low or b.high < a.low)


def read_tradeoff(tradeoff: Mapping[str, Any]) -> TradeoffFacts:
    """Check and type what the file says; an error names what is wrong there."""
    said = Given("tradeoff.json", tradeoff)
    metric, cost = said["metric"].text(), said["cost"].text()
    models = said["models"].each()
    if not 1 <= len(models) <= MOST_MODELS:
        raise TabNASError(
            f"tradeoff.json: models must be 1 to {MOST_MODELS}, but {len(models)} are there"
        )
    tested = all(_test_score(model, metric) is not None for model in models)
    members = [_member(model, metric, cost, tested=tested) for model in models]
    target = said["target"]
    inputs, outputs = said.get("inputs"), said.get("outputs")
    chosen_by, versions = said.get("chosen_by"), said.get("versions")
    beside = {
        name: scores["metrics"].get(metric) for name, scores in said["beside"].items() if tested
    }
    return TradeoffFacts(
        target=target["name"].label(),
        target_name=target["name"].exact(),
        task=target["task"].text(),
        metric=metric,
        greater=said["greater_is_better"].flag(),
        cost=cost,
        members=tuple(sorted(members, key=lambda member: member.limit)),
        tested=tested,
        beside={name: read_score(score) for name, score in beside.items() if score is not None},
        inputs=None if inputs is None else inputs.count(MOST_WIDTH),
        outputs=None if outputs is None else outputs.count(MOST_WIDTH),
        chosen_by="held-out rows" if chosen_by is None else chosen_by.text(),
        rows={name: rows.count() for name, rows in said["rows"].items()},
        seed=said["seed"].count(),
        versions={}
        if versions is None
        else {name: version.text() for name, version in versions.items()},
        timings={name: time.number() for name, time in said["timings"].items()},
    )


def _member(given: Given, metric: str, cost: str, *, tested: bool) -> Member:
    costs = {name: read_cost(name, one) for name, one in given["costs"].items()}
    if cost not in costs:
        raise TabNASError(f"{given.where}.costs must have {cost!r}, but it has not")
    limit, held_out = given["limit"].number(), given["held_out"].number()
    for name, value in (("limit", limit), (f"costs.{cost}.value", costs[cost].value)):
        if not (isfinite(value) and value >= 0):
            raise TabNASError(f"{given.where}.{name} must be a number of at least 0")
    widths = parse_widths(given["architecture"])
    judged = _test_score(given, metric) if tested else None
    return Member(
        limit=limit,
        folder=_folder(given["folder"]),
        architecture=given["architecture"].text(),
        widths=widths,
        costs=costs,
        used=costs[cost].value,
        held_out=held_out,
        score=Score(held_out, held_out, held_out) if judged is None else read_score(judged),
        bottlenecks=tuple(layer.count(len(widths)) for layer in given["bottlenecks"].each()),
        optimal=given["pareto_optimal"].flag(),
    )


def _test_score(given: Given, metric: str) -> Given | None:
    scores = given.get("scores")
    return None if scores is None else scores["metrics"].get(metric)


def _folder(given: Given) -> str:
    name = given.text()
    if not FOLDER.fullmatch(name):
        raise TabNASError(f"{given.where} must be like limit-2000, but {name!r} is there")
    return name
