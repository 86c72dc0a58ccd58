"""Candidates trained side by side: the same bits, and nothing twice."""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tabnas.data import Table
from tabnas.jobs import JobConfig, run_jobs
from tabnas.runs import (
    LabelledTable,
    Outcome,
    PlannedTradeoff,
    Progress,
    RunCheckpoint,
    RunSettings,
    RunStopped,
    plan_tradeoff,
)
from tabnas.runs.candidates import _parallel
from tests.runs.helpers import columns, facts, shop_curve

BRIEF = {"search_epochs": 2, "epochs": 3, "candidates": 2}
TWO = JobConfig(processes=2)
FOLDS, VALIDATION = 300, 4_200  # rows of a table whose candidates are chosen so


def planned(rows: int) -> PlannedTradeoff:
    data = LabelledTable.from_table(Table.from_data(columns(rows)), "kind")
    settings = RunSettings(limits={"flops": 10_000}, baselines=False, candidates=2)
    return plan_tradeoff(data, settings, (60, 150, 400), resolved=BRIEF)


def bits(curve: PlannedTradeoff, outcomes: tuple[Outcome, ...]) -> str:
    kept = [[one.weights is not None for one in outcome.candidates] for outcome in outcomes]
    return facts(curve, outcomes) + str(kept)


@cache
def alone(rows: int) -> str:
    """What comes of a table of so many rows in one process."""
    curve = planned(rows)
    return bits(curve, curve.execute())


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[Any]]:
    """The jobs of every time that some were to be made."""
    seen: list[list[Any]] = []

    def spied(
        work: Callable[[Any], Any], jobs: list[Any], *job_config: JobConfig, **others: Any
    ) -> Any:
        seen.append(jobs)
        return run_jobs(work, jobs, *job_config, **others)

    monkeypatch.setattr(_parallel, "run_jobs", spied)
    return seen


@pytest.mark.slow
def test_processes_change_no_bit(asked: list[list[Any]]) -> None:
    """With folds the same is seen below, after a stop."""
    curve = planned(VALIDATION)
    assert bits(curve, curve.execute(job_config=TWO)) == alone(VALIDATION)
    assert len(asked[0]) >= 3  # of every limit at least one


@pytest.mark.slow
def test_processes_change_no_bit_where_limits_have_embeddings_of_their_own() -> None:
    curve, again = shop_curve(), shop_curve()
    assert len(curve.groups) == 3
    assert bits(curve, curve.execute(job_config=TWO)) == bits(again, again.execute())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "others"), [(FOLDS, TWO), (VALIDATION, JobConfig())], ids=["together", "alone"]
)
def test_what_is_done_is_not_done_again(
    rows: int, others: JobConfig, asked: list[list[Any]], tmp_path: Path
) -> None:
    curve = planned(rows)
    checkpoint = RunCheckpoint(tmp_path, identity=curve.identity())
    came: list[str] = []

    def stop(told: Progress) -> None:
        if told.phase == "candidates" and told.done > 0:
            came.append(told.note)
            checkpoint._signal = signal.SIGTERM  # as if the process had been told to end

    with pytest.raises(RunStopped):
        curve.execute(stop, checkpoint, job_config=TWO)
    assert came
    again = planned(rows)
    checkpoint = RunCheckpoint(tmp_path, identity=again.identity())
    assert bits(again, again.execute(checkpoint=checkpoint, job_config=others)) == alone(rows)
    first, *later = asked
    for left in later:
        assert {str(one) for *_, one in first} == {str(one) for *_, one in left} | set(came)
        assert len(first) == len(left) + len(came)


def test_one_that_was_done_before_a_better_one_keeps_no_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Side by side the last may be done first; whoever goes on alone then has others better."""
    curve = planned(VALIDATION)
    checkpoint = RunCheckpoint(tmp_path, identity=curve.identity())

    def stop(told: Progress) -> None:
        if told.phase == "candidates" and told.done > 0:
            checkpoint._signal = signal.SIGTERM

    def last_first(work: Callable[[Any], Any], jobs: list[Any], *_: Any, on_poll: Any) -> Any:
        for job in reversed(jobs):
            yield job, work(job)
            on_poll()

    monkeypatch.setattr(_parallel, "run_jobs", last_first)
    with pytest.raises(RunStopped):
        curve.execute(stop, checkpoint, job_config=TWO)
    again = planned(VALIDATION)
    checkpoint = RunCheckpoint(tmp_path, identity=again.identity())
    assert bits(again, again.execute(checkpoint=checkpoint)) == alone(VALIDATION)


@pytest.mark.slow
def test_who_dies_before_a_checkpoint_is_due_loses_nothing(tmp_path: Path) -> None:
    curve = planned(FOLDS)
    came: list[str] = []

    def die(told: Progress) -> None:
        if told.phase == "candidates" and told.done > 0:
            came.append(told.note)
            raise RuntimeError("as good as killed")

    checkpoint = RunCheckpoint(tmp_path, identity=curve.identity(), every=1e9)
    with pytest.raises(RuntimeError):
        curve.execute(die, checkpoint, job_config=TWO)
    found = RunCheckpoint(tmp_path, identity=curve.identity())
    entered = [
        k
        for k in range(2)
        for limit in (60, 150, 400)
        if f"limit {limit}/candidate {k + 1}" in found
    ]
    assert len(entered) == len(came) == 1
