"""Execute a planned run: search, train, evaluate."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.metadata import version
from typing import Any

from tabnas.nets import warm_up_engine
from tabnas.runs._context import RunContext
from tabnas.runs._final_training import train_final_model
from tabnas.runs._finished_run import FinishedRun
from tabnas.runs._job_pool import JobPool
from tabnas.runs._progress import Progress, ProgressCallback
from tabnas.runs._run_teacher import run_teacher
from tabnas.runs.candidates._candidate import Candidate
from tabnas.runs.candidates._train_candidates import rank_candidates, train_candidates
from tabnas.runs.checkpoints._run_checkpoint import RunCheckpoint
from tabnas.runs.checkpoints._step_checkpoint import StepCheckpoint
from tabnas.runs.evaluation._scores import (
    References,
    diagnose_network,
    score_references,
    score_test_rows,
)
from tabnas.runs.evaluation._teacher_scores import score_teacher
from tabnas.runs.search._find_candidates import SearchResult, find_candidates


@dataclass(frozen=True, eq=False, kw_only=True)
class PlannedRun(RunContext):
    """A run that is prepared and planned, and can be executed."""

    preparation_seconds: float = 0.0  # that preparation took

    @property
    def saved_plan(self) -> Mapping[str, Any]:
        """The numbers that a resumed run must reuse: a `SavedPlan`."""
        return self.plan.saved_plan

    def identity(self) -> dict[str, Any]:
        """Return what two runs must have in common for one to resume the other."""
        groups = self.data.groups_digest()
        return {
            "the version of tabnas": version("tabnas"),
            "the table": self.data.digest(),
            **({} if groups is None else {"the groups": groups}),
            **self.settings.identity(),
            **({} if self.own_teacher is None else {"the teacher": self.own_teacher.identity}),
            **{
                f"the planned {name}": value
                if isinstance(value, int)
                else json.dumps(value, sort_keys=True)
                for name, value in self.saved_plan.items()
            },
        }

    def execute(
        self,
        on_progress: ProgressCallback = lambda progress: None,
        checkpoint: RunCheckpoint | None = None,
    ) -> FinishedRun:
        """Search, train and evaluate; with a checkpoint's folder, stoppable at any moment."""
        checkpoint = checkpoint or RunCheckpoint(process_group=self.process_group)
        with checkpoint.handle_signals(), make_pool(self, checkpoint) as pool:
            on_progress = pool.serialize(on_progress)
            with pool.measure("preparation"):
                warm_up_engine(self.plan.engine)
            # the fits of a teacher fill the cores, and all that follows needs their answers; the
            # search keeps Python's global lock for longer than they do
            search = pool.start(
                "search",
                partial(find_candidates, self, on_progress, checkpoint),
                in_background=pool.threads > 1,
            )
            if self.plan.latency is not None:
                search.result()  # it measures networks, so nothing works beside it
            get_references = start_references(self, on_progress, checkpoint, pool)
            answers, teachers = run_teacher(self, on_progress, checkpoint, pool)
            run = replace(self, answers=answers, teachers=teachers)
            finished = train_and_evaluate(
                run, search.result(), on_progress, checkpoint, pool, get_references
            )
        return finished.add_preparation(self.preparation_seconds)

    def assist(self, checkpoint: RunCheckpoint) -> None:
        """Execute the run up to the model, as a process that is not the first."""

        def ignore(progress: Progress) -> None: ...

        with checkpoint.handle_signals(), make_pool(self, checkpoint) as pool:
            search = find_candidates(self, ignore, checkpoint)
            answers, teachers = run_teacher(self, ignore, checkpoint, pool)
            run = replace(self, answers=answers, teachers=teachers)
            candidates = train_candidates(run, search.architectures, ignore, checkpoint, pool)
            order, _ = rank_candidates(run, candidates)
            train_final_model(run, [candidates[k] for k in order], ignore, checkpoint, pool)


def make_pool(run: RunContext, checkpoint: RunCheckpoint) -> JobPool:
    """Return a pool for the jobs of a run; several processes take the same steps in turn."""
    return JobPool(checkpoint, threads=1 if run.process_group.size > 1 else None)


def start_references(
    run: RunContext, on_progress: ProgressCallback, checkpoint: StepCheckpoint, pool: JobPool
) -> Callable[[], References]:
    """Start the reference models, which need nothing but the table, for threads that are idle.

    Return a function that waits for them. If latency is measured, nothing works beside that:
    then they start when the function is called.
    """

    def score() -> References:
        with checkpoint.interruptible():
            return score_references(run, on_progress)

    if run.plan.latency is None:
        return pool.start("comparison", score, in_background=True).result
    return cache(lambda: pool.start("comparison", score).result())


def train_and_evaluate(
    run: RunContext,
    search: SearchResult,
    on_progress: ProgressCallback,
    checkpoint: StepCheckpoint,
    pool: JobPool,
    get_references: Callable[[], References],
    *,
    earlier: Sequence[Candidate] = (),
) -> FinishedRun:
    """Train the candidates, choose the best, train the final model and evaluate it.

    Parameters
    ----------
    get_references
        Waits for the scores of the reference models and returns them.
    earlier
        Candidates that are trained already.
    """
    trained = train_candidates(run, search.architectures, on_progress, checkpoint, pool)
    one_shot = dict(zip(search.architectures, search.one_shot, strict=True))
    candidates = [replace(one, one_shot_loss=one_shot[one.architecture]) for one in trained]
    candidates += earlier
    order, notes = rank_candidates(run, candidates)
    ranked = [candidates[k] for k in order]
    final = train_final_model(run, ranked, on_progress, checkpoint, pool)
    chosen = ranked.pop(final.index)
    ranked.insert(0, chosen)
    weights = final.evaluated_weights
    references = get_references()
    with checkpoint.interruptible():
        scoring = pool.start("comparison", partial(score_test_rows, run, weights, chosen))
        diagnosis = pool.start("diagnosis", partial(diagnose_network, run, weights, chosen))
        with pool.measure("comparison"):
            teacher_scores, teacher, teacher_notes = score_teacher(run, chosen, candidates)
        scores, score_notes = scoring.result()
        diagnostics, diagnostic_notes = diagnosis.result()
    phase_seconds, total_seconds = pool.take_seconds()
    return FinishedRun(
        model=final.model,
        settings=run.settings,
        data=run.data,
        plan=run.plan,
        metric=run.metric,
        candidates=tuple(ranked),
        limit_effects=search.effects,
        scores=scores | references.scores | teacher_scores,
        teacher=teacher,
        boosted=references.boosted,
        diagnostics=diagnostics,
        notes=(
            *notes,
            *run.data.notes,
            *run.plan.notes,
            *search.notes,
            *final.notes,
            *_list_notes(run, search),
            *score_notes,
            *references.notes,
            *teacher_notes,
            *diagnostic_notes,
        ),
        trained_on_all_rows=final.trained_on_all,
        snapshots=search.snapshots,
        phase_seconds=phase_seconds,
        total_seconds=total_seconds,
        latencies_us=final.latencies_us,
    )


def _list_notes(run: RunContext, search: SearchResult) -> list[str]:
    """Return notes on how the search and the trainings went."""
    notes = []
    if search.skipped:
        notes.append(
            f"the search skipped {search.skipped:,} weight steps, since their loss or gradient "
            f"left the range of float32; {run.data.describe_largest_value()}"
        )
    if run.settings.class_weight is not None:
        notes.append(
            "classes were balanced in training, so probabilities are those of equally frequent "
            "classes, not of the classes of the table"
        )
    return notes
