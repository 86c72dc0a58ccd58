"""What a network is worth: scores on test rows beside others, and a closer look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from tabnas.errors import TabNASError
from tabnas.model import (
    Boosted,
    Scores,
    boosted_prediction,
    score,
    trivial_prediction,
)
from tabnas.nets import SuperNet
from tabnas.runs._progress import Observer, Progress
from tabnas.runs.candidates._training import Candidate, Weights, predicted
from tabnas.runs.evaluation._diagnostics import diagnose
from tabnas.runs.prepare._encoded_rows import Part

if TYPE_CHECKING:
    from tabnas.runs._pipeline import PlannedRun


@dataclass(frozen=True, eq=False)
class References:
    """What a network is compared with on the test rows; nothing where there are none."""

    scores: dict[str, Scores] = field(default_factory=dict)
    boosted: Boosted | None = None
    notes: tuple[str, ...] = ()  # what could not be judged, and why


def references(run: PlannedRun, tell: Observer) -> References:
    """Scores of knowing nothing, and of boosted trees, which know neither limit nor scaling.

    What cannot be judged is a note, not an end: the model is there, and is kept.
    """
    parts, target, seed, test = run.parts, run.parts.target, run.settings.seed, run.parts.test
    if test is None:
        return References()
    known = parts.development if run.plan.folds else parts.known
    scores: dict[str, Scores] = {}
    notes: list[str] = []
    tell(Progress("comparison", 0.0, note="trivial predictor"))
    guess = trivial_prediction(target, known.truth, known.weight, len(test))
    _judge(run, test, "trivial", lambda: guess, scores, notes)
    boosted: Boosted | None = None
    trees = parts.tree_parts() if run.settings.baselines else None
    if trees is not None:
        tell(Progress("comparison", 0.5, note="boosted trees"))
        try:
            boosted = boosted_prediction(
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
            _judge(run, test, "boosted trees", lambda: predictions, scores, notes)
    tell(Progress("comparison", 1.0))
    return References(scores, boosted, tuple(notes))


def compared(
    run: PlannedRun, weights: Weights, chosen: Candidate, beside: References
) -> tuple[dict[str, Scores], list[str]]:
    """Scores on the test part: of the network, and of what it is compared with."""
    scores: dict[str, Scores] = {}
    notes: list[str] = []
    test = run.parts.test
    if test is not None:
        net = _network(run, weights, chosen)
        predict = partial(predicted, net, chosen.architecture, run.parts, test)
        _judge(run, test, "network", predict, scores, notes)
    return scores | beside.scores, [*notes, *beside.notes]


def _judge(
    run: PlannedRun,
    test: Part,
    name: str,
    predict: Callable[[], Any],
    scores: dict[str, Scores],
    notes: list[str],
) -> None:
    try:
        scores[name] = score(
            run.parts.target, test.truth, predict(), test.weight, seed=run.settings.seed
        )
    except (TabNASError, MemoryError) as error:
        notes.append(f"the {name} could not be judged on the test rows: {error}")


def _network(run: PlannedRun, weights: Weights, chosen: Candidate) -> SuperNet:
    net = SuperNet.standalone(chosen.architecture, run.parts.task, engine=run.plan.engine)
    net.load_weights(weights)
    return net


def diagnosed(
    run: PlannedRun, weights: Weights, chosen: Candidate
) -> tuple[dict[str, Any] | None, list[str]]:
    """What the network is like on rows it has not learned from; a note where that fails."""
    net = _network(run, weights, chosen)
    try:
        seed = run.settings.seed
        return diagnose(net, chosen.architecture, run.parts, run.plan, run.metric, seed), []
    except (TabNASError, MemoryError) as error:
        return None, [f"the network could not be looked at more closely: {error}"]
