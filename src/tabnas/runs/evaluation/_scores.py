"""Scores on the test rows, of the network and of reference models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tabnas.errors import TabNASError
from tabnas.model import (
    BoostedTrees,
    Scores,
    fit_boosted_trees,
    score,
    trivial_prediction,
)
from tabnas.nets import SuperNet
from tabnas.results import Diagnostics
from tabnas.runs._context import RunContext
from tabnas.runs._progress import Progress, ProgressCallback
from tabnas.runs.candidates._candidate import Candidate, Weights
from tabnas.runs.evaluation._diagnostics import diagnose
from tabnas.runs.prepare._encoded_rows import EncodedRows
from tabnas.types import FloatArray


@dataclass(frozen=True, eq=False)
class References:
    """The scores of the reference models on the test rows; empty if there are no test rows."""

    scores: dict[str, Scores] = field(default_factory=dict)
    boosted: BoostedTrees | None = None
    notes: tuple[str, ...] = ()  # on what could not be scored


def score_references(run: RunContext, on_progress: ProgressCallback) -> References:
    """Score the trivial predictor and boosted trees, which know neither limit nor scaling.

    What cannot be scored becomes a note: the run has its model and continues.
    """
    data, target, seed, test = run.data, run.data.target, run.settings.seed, run.data.test
    if test is None:
        return References()
    train = data.train_and_validation if run.plan.folds else data.train_in_memory
    on_progress(Progress("comparison", 0.0, note="trivial predictor"))
    guess = trivial_prediction(target, train.y, train.weight, len(test))
    scores, notes = score_predictions(run, test, "trivial", lambda: guess)
    boosted: BoostedTrees | None = None
    trees = data.tree_data() if run.settings.reference_models else None
    if trees is not None:
        on_progress(Progress("comparison", 0.5, note="boosted trees"))
        try:
            boosted = fit_boosted_trees(
                target,
                trees.inputs.is_category,
                trees.train,
                [trees.test],
                validation=trees.validation,
                seed=seed,
            )
        except (ValueError, MemoryError) as error:
            notes.append(f"the boosted trees could not be fitted: {error}")
        else:
            predictions = boosted.predictions[0]
            more, failed = score_predictions(run, test, "boosted trees", lambda: predictions)
            scores, notes = scores | more, notes + failed
    on_progress(Progress("comparison", 1.0))
    return References(scores, boosted, tuple(notes))


def score_test_rows(
    run: RunContext, weights: Weights, chosen: Candidate
) -> tuple[dict[str, Scores], list[str]]:
    """Return the scores of the network on the test rows, by its name, and notes."""
    test = run.data.test
    if test is None:
        return {}, []
    net = load_network(run, weights, chosen)

    def predict() -> FloatArray:
        return run.data.target_prediction(net.logits(chosen.architecture, test.examples))

    return score_predictions(run, test, "network", predict)


def score_predictions(
    run: RunContext, test: EncodedRows, name: str, predict: Callable[[], Any]
) -> tuple[dict[str, Scores], list[str]]:
    """Return the scores of predictions of the test rows, by the name, or a note on failure."""
    target, seed = run.data.target, run.settings.seed
    try:
        return {name: score(target, test.y, predict(), test.weight, seed=seed)}, []
    except (TabNASError, MemoryError) as error:
        return {}, [f"the {name} could not be scored on the test rows: {error}"]


def load_network(run: RunContext, weights: Weights, chosen: Candidate) -> SuperNet:
    """Return a network with these weights of a candidate."""
    net = SuperNet.standalone(chosen.architecture, run.data.spec, engine=run.plan.engine)
    net.load_weights(weights)
    return net


def diagnose_network(
    run: RunContext, weights: Weights, chosen: Candidate
) -> tuple[Diagnostics | None, list[str]]:
    """Return diagnostics of the network on rows it was not trained on, or a note on failure."""
    net = load_network(run, weights, chosen)
    try:
        seed = run.settings.seed
        return diagnose(net, chosen.architecture, run.data, run.plan, run.metric, seed), []
    except (TabNASError, MemoryError) as error:
        return None, [f"the network could not be diagnosed: {error}"]
