"""Choose how a candidate is trained and evaluated."""

from __future__ import annotations

from tabnas.model import Metric
from tabnas.runs._answers import Answers
from tabnas.runs.candidates._candidate import Trial
from tabnas.runs.candidates._cross_validation import CrossValidation
from tabnas.runs.candidates._holdout import HoldoutTraining
from tabnas.runs.candidates._training import CandidateTraining
from tabnas.runs.plan._plan import TrainingPlan
from tabnas.runs.prepare._prepared_data import PreparedData


def make_candidate_training(
    trial: Trial,
    data: PreparedData,
    plan: TrainingPlan,
    metric: Metric,
    answers: Answers | None = None,
) -> CandidateTraining:
    """Return a cross-validation if the plan has folds, else a training with validation rows."""
    kind = CrossValidation if plan.folds else HoldoutTraining
    return kind(trial, data, plan, metric, answers)
