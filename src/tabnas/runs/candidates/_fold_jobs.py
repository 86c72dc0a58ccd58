"""The folds of a candidate as jobs: steps of the checkpoint that work side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tabnas.decoding import decode
from tabnas.nets import NonFiniteLossError
from tabnas.runs._job_pool import JobPool
from tabnas.runs.candidates._candidate import Candidate
from tabnas.runs.candidates._cross_validation import CrossValidation
from tabnas.runs.candidates._training import FractionCallback
from tabnas.runs.checkpoints._step_checkpoint import StepCheckpoint, reject_malformed


@dataclass(frozen=True)
class FoldRecord:
    """What a checkpoint holds of a fold, in addition to the outputs for its rows."""

    has_diverged: bool = False


class FoldJobs:
    """Trains the folds of a cross-validation that a checkpoint does not have yet."""

    def __init__(
        self,
        cross_validation: CrossValidation,
        step: str,
        on_fraction: FractionCallback,
        checkpoint: StepCheckpoint,
        pool: JobPool,
    ) -> None:
        self._cross_validation = cross_validation
        self._steps = [f"{step} fold {fold + 1}" for fold in range(len(cross_validation.trainings))]
        self._on_fraction = on_fraction
        self._done = [0.0] * len(self._steps)
        self._checkpoint = checkpoint
        self._jobs = [
            pool.start("candidates", self._make_call(fold))
            for fold, fold_step in enumerate(self._steps)
            if fold_step not in checkpoint
        ]

    def wait(self) -> Candidate:
        """Wait for all folds and return the candidate."""
        for job in self._jobs:
            job.result()
        has_diverged = [self._load(fold) for fold in range(len(self._steps))]
        if any(has_diverged):
            return Candidate.diverged(self._cross_validation.trial)
        return self._cross_validation.evaluate()

    def forget(self) -> None:
        """Remove the outputs from the checkpoint, once the candidate is recorded."""
        for step in self._steps:
            self._checkpoint.forget_arrays(step)

    def _make_call(self, fold: int) -> Callable[[], None]:
        def train() -> None:
            training, step = self._cross_validation.trainings[fold], self._steps[fold]
            self._checkpoint.start_or_restore(step, training)
            try:
                training.run(on_fraction, self._checkpoint.save_if_due)
            except NonFiniteLossError:
                self._checkpoint.record(step, FoldRecord(has_diverged=True))
            else:
                outputs = {"outputs": training.epoch_outputs}
                self._checkpoint.record(step, FoldRecord(), outputs)

        def on_fraction(done: float) -> None:
            self._done[fold] = done
            self._on_fraction(sum(self._done) / len(self._done))

        return train

    def _load(self, fold: int) -> bool:
        """Read the outputs of a fold; return whether it has diverged."""
        training, step = self._cross_validation.trainings[fold], self._steps[fold]
        with reject_malformed():
            record = decode(FoldRecord, self._checkpoint.result(step), source=step)
            if not record.has_diverged:
                training.load_outputs(self._checkpoint.arrays(step))
        return record.has_diverged
