"""Candidates trained in parallel give the same bits, and none is trained twice."""

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
    FinishedRun,
    LabelledTable,
    PlannedTradeoff,
    Progress,
    RunCheckpoint,
    RunSettings,
    RunStopped,
    plan_tradeoff,
)
from tabnas.runs.candidates import _parallel
from tests.runs.helpers import collect_tradeoff_bits, make_columns, make_shop_tradeoff

SHORT = {"search_epochs": 2, "epochs": 3, "candidates": 2}
TWO = JobConfig(processes=2)
FOLDS, VALIDATION = 300, 4_200  # rows of a table, by how its candidates are chosen


def make_tradeoff(rows: int) -> PlannedTradeoff:
    data = LabelledTable.from_table(Table.from_data(make_columns(rows)), "kind")
    settings = RunSettings(limits={"flops": 10_000}, reference_models=False, candidates=2)
    return plan_tradeoff(data, settings, (60, 150, 400), saved_plan=SHORT)


def collect_bits(curve: PlannedTradeoff, outcomes: tuple[FinishedRun, ...]) -> str:
    has_weights = [[one.weights is not None for one in outcome.candidates] for outcome in outcomes]
    return collect_tradeoff_bits(curve, outcomes) + str(has_weights)


@cache
def expected_bits(rows: int) -> str:
    """Return the bits of a run on so many rows in one process."""
    curve = make_tradeoff(rows)
    return collect_bits(curve, curve.execute())


@pytest.fixture
def job_batches(monkeypatch: pytest.MonkeyPatch) -> list[list[Any]]:
    """Record the jobs of every call of `run_jobs`."""
    seen: list[list[Any]] = []

    def record_jobs(
        work: Callable[[Any], Any], jobs: list[Any], *config: JobConfig, **options: Any
    ) -> Any:
        seen.append(jobs)
        return run_jobs(work, jobs, *config, **options)

    monkeypatch.setattr(_parallel, "run_jobs", record_jobs)
    return seen


@pytest.mark.slow
def test_several_processes_give_the_same_bits(job_batches: list[list[Any]]) -> None:
    """The test below shows the same for folds, after a stop."""
    curve = make_tradeoff(VALIDATION)
    assert collect_bits(curve, curve.execute(job_config=TWO)) == expected_bits(VALIDATION)
    assert len(job_batches[0]) >= 3  # at least one for each limit


@pytest.mark.slow
def test_several_processes_give_the_same_bits_where_limits_have_different_embeddings() -> None:
    curve, again = make_shop_tradeoff(), make_shop_tradeoff()
    assert len(curve.groups) == 3
    assert collect_bits(curve, curve.execute(job_config=TWO)) == collect_bits(
        again, again.execute()
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "job_config"), [(FOLDS, TWO), (VALIDATION, JobConfig())], ids=["together", "alone"]
)
def test_finished_candidates_are_not_trained_again(
    rows: int, job_config: JobConfig, job_batches: list[list[Any]], tmp_path: Path
) -> None:
    curve = make_tradeoff(rows)
    checkpoint = RunCheckpoint(tmp_path, identity=curve.identity())
    finished: list[str] = []

    def stop(progress: Progress) -> None:
        if progress.phase == "candidates" and progress.done > 0:
            finished.append(progress.note)
            checkpoint.signals.received = signal.SIGTERM  # as if SIGTERM had arrived

    with pytest.raises(RunStopped):
        curve.execute(stop, checkpoint, job_config=TWO)
    assert finished
    again = make_tradeoff(rows)
    checkpoint = RunCheckpoint(tmp_path, identity=again.identity())
    assert collect_bits(
        again, again.execute(checkpoint=checkpoint, job_config=job_config)
    ) == expected_bits(rows)
    first, *later = job_batches
    for remaining in later:
        names = {str(trial.architecture) for *_, trial in first}
        assert names == {str(trial.architecture) for *_, trial in remaining} | set(finished)
        assert len(first) == len(remaining) + len(finished)


def test_a_candidate_finished_before_a_better_one_keeps_no_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last may finish first; a resumed run in one process then finds better ones."""
    curve = make_tradeoff(VALIDATION)
    checkpoint = RunCheckpoint(tmp_path, identity=curve.identity())

    def stop(progress: Progress) -> None:
        if progress.phase == "candidates" and progress.done > 0:
            checkpoint.signals.received = signal.SIGTERM

    def last_first(work: Callable[[Any], Any], jobs: list[Any], *_: Any, on_poll: Any) -> Any:
        for job in reversed(jobs):
            yield job, work(job)
            on_poll()

    monkeypatch.setattr(_parallel, "run_jobs", last_first)
    with pytest.raises(RunStopped):
        curve.execute(stop, checkpoint, job_config=TWO)
    again = make_tradeoff(VALIDATION)
    checkpoint = RunCheckpoint(tmp_path, identity=again.identity())
    assert collect_bits(again, again.execute(checkpoint=checkpoint)) == expected_bits(VALIDATION)


@pytest.mark.slow
def test_a_candidate_is_saved_even_if_no_checkpoint_is_due(tmp_path: Path) -> None:
    curve = make_tradeoff(FOLDS)
    finished: list[str] = []

    def raise_error(progress: Progress) -> None:
        if progress.phase == "candidates" and progress.done > 0:
            finished.append(progress.note)
            raise RuntimeError("as good as killed")

    checkpoint = RunCheckpoint(tmp_path, identity=curve.identity(), every=1e9)
    with pytest.raises(RuntimeError):
        curve.execute(raise_error, checkpoint, job_config=TWO)
    checkpoint_on_disk = RunCheckpoint(tmp_path, identity=curve.identity())
    recorded = [
        k
        for k in range(2)
        for limit in (60, 150, 400)
        if f"limit {limit}/candidate {k + 1}" in checkpoint_on_disk
    ]
    assert len(recorded) == len(finished) == 1
