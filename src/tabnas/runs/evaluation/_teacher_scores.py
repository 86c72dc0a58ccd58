"""Scores of the teacher on the test rows, and of the network that learned without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tabnas.data import NumberTarget
from tabnas.model import Scores, round_network
from tabnas.nets import Loss, NonFiniteLossError
from tabnas.results import TEACHER, WITHOUT_TEACHER, TeacherSummary
from tabnas.runs._answers import LABELS_ONLY
from tabnas.runs._context import RunContext
from tabnas.runs._final_training import calibrate, get_final_rows, make_final_trainer
from tabnas.runs.candidates._candidate import Candidate, Weights
from tabnas.runs.evaluation._scores import load_network, score_predictions
from tabnas.types import FloatArray


def score_teacher(
    run: RunContext, chosen: Candidate, candidates: Sequence[Candidate]
) -> tuple[dict[str, Scores], TeacherSummary | None, list[str]]:
    """Return scores on the test rows, a summary, and notes on what could not be scored."""
    if run.answers is None:
        return {}, None, []
    wanted = (chosen.architecture, LABELS_ONLY, chosen.is_longer)
    without_teacher = next(
        (
            one
            for one in candidates
            if (one.architecture, one.distillation, one.is_longer) == wanted
        ),
        None,
    )
    summary = TeacherSummary(
        models=run.teachers,
        share=chosen.distillation.teacher_share,
        uses_unlabelled=chosen.distillation.uses_unlabelled,
        score=run.metric.loss(chosen.loss),
        score_without=None
        if without_teacher is None or not np.isfinite(without_teacher.loss)
        else run.metric.loss(without_teacher.loss),
    )
    test = run.data.test
    if test is None:
        return {}, summary, []
    scores: dict[str, Scores] = {}
    if run.answers.answers_test:
        scores, notes = score_predictions(run, test, TEACHER, lambda: _decode_answers(run))
    else:
        notes = ["the teacher was not scored, since the test rows lack the teacher columns"]
    if (
        without_teacher is not None
        and without_teacher is not chosen
        and summary.score_without is not None
    ):
        weights = without_teacher.weights or _train(run, without_teacher)
        if weights is not None:
            net = load_network(run, calibrate(weights, without_teacher), without_teacher)

            def predict() -> FloatArray:
                return run.data.target_prediction(
                    net.logits(without_teacher.architecture, test.examples)
                )

            more, failed = score_predictions(run, test, WITHOUT_TEACHER, predict)
            scores, notes = scores | more, notes + failed
    return scores, summary, notes


def _decode_answers(run: RunContext) -> FloatArray:
    """Return the answers to the test rows as probabilities, or in the units of the target."""
    assert run.answers is not None
    answers, target = run.answers.test.astype(np.float64), run.data.target
    if isinstance(target, NumberTarget):
        return target.unscale_values(answers[:, 0])
    if run.data.spec.loss is Loss.LOGISTIC:
        return np.concatenate([1.0 - answers, answers], axis=1)
    return np.asarray(answers / answers.sum(axis=1, keepdims=True))


def _train(run: RunContext, candidate: Candidate) -> Weights | None:
    """Return the weights of a cross-validated candidate, trained on the rows of all folds."""
    # of several processes, only the first evaluates
    plan = run.plan if run.process_group.size == 1 else replace(run.plan, engine="torch")
    trainer = make_final_trainer(candidate, get_final_rows(run, candidate), plan)
    try:
        trainer.run()
    except NonFiniteLossError:
        return None
    return round_network(trainer.net.weights(), candidate.precision)
