"""The stand-alone training of one candidate: of one network, or of one for each fold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.data import ClassTarget
from tabnas.model import Metric, fit_temperature, primary_loss, round_network
from tabnas.nets import Examples, SuperNet, Trainer, TrainingRows, TrainingSettings
from tabnas.runs._answers import Answers
from tabnas.runs._progress import make_training_callback
from tabnas.runs.candidates._candidate import Candidate, Trial, Weights
from tabnas.runs.plan._plan import TrainingPlan
from tabnas.runs.prepare._encoded_rows import EncodedRows
from tabnas.runs.prepare._prepared_data import PreparedData
from tabnas.space import Architecture, Precision

StepCallback = Callable[[], None]
FractionCallback = Callable[[float], None]
"""Receives how much of the training is done, from 0 to 1."""


@dataclass(frozen=True)
class Evaluation:
    """How good a trained network is in one precision."""

    loss: float
    stop_after: int
    temperature: float


class CandidateTraining(ABC):
    """The training and the evaluation of one candidate.

    It trains one or more networks, which can be trained side by side, stopped and resumed.
    """

    def __init__(
        self,
        trial: Trial,
        data: PreparedData,
        plan: TrainingPlan,
        metric: Metric,
        answers: Answers | None,
    ) -> None:
        self.trial = trial
        self.data = data
        self.plan = plan
        self.metric = metric
        self.answers = answers
        self.trainings = self._make_trainings()

    def run(
        self,
        on_fraction: FractionCallback = lambda done: None,
        on_step: StepCallback = lambda: None,
    ) -> Candidate:
        """Train all networks, one after the other, and evaluate; call `on_step` before every step.

        Raises a `NonFiniteLossError` if the training diverges.
        """
        for number, training in enumerate(self.trainings):
            done = partial(_scale_fraction, on_fraction, number, len(self.trainings))
            training.run(done, on_step)
        return self.evaluate()

    @abstractmethod
    def _make_trainings(self) -> Sequence[NetworkTraining]:
        """Return the training of each network, before its first step."""

    @abstractmethod
    def evaluate(self) -> Candidate:
        """Return the candidate, once all networks are trained."""

    def _make_candidate(
        self, evaluations: Mapping[Precision, Evaluation], weights: Weights | None
    ) -> Candidate:
        """Return the candidate in the best of the precisions in which it meets the limits."""
        precision = min(self.trial.precisions, key=lambda precision: evaluations[precision].loss)
        best = evaluations[precision]
        return Candidate(
            architecture=self.trial.architecture,
            distillation=self.trial.distillation,
            is_longer=self.trial.is_longer,
            precision=precision,
            loss=best.loss,
            float32_loss=evaluations[Precision.FLOAT32].loss,
            stop_after=best.stop_after,
            temperature=best.temperature,
            weights=None if weights is None else round_network(weights, precision),
        )

    @property
    def _precisions(self) -> tuple[Precision, ...]:
        """The precisions to evaluate: float32, and those of the trial."""
        return tuple(dict.fromkeys((Precision.FLOAT32, *self.trial.precisions)))

    def _temperature(self, outputs: NDArray[np.float32], rows: EncodedRows) -> float:
        """Return the temperature that calibrates the outputs; 1 for regression."""
        if not isinstance(self.data.target, ClassTarget):
            return 1.0
        # weighted as in training, classes included: that is what the network has learned
        return fit_temperature(outputs, rows.y, rows.training_weight)

    def _loss(self, outputs: NDArray[np.float32], rows: EncodedRows) -> float:
        """Return the loss of calibrated outputs, by the metric."""
        prediction = self.data.target_prediction(outputs)
        return primary_loss(self.metric, self.data.target, rows.y, prediction, rows.weight)


def _scale_fraction(on_fraction: FractionCallback, number: int, total: int, done: float) -> None:
    on_fraction((number + done) / total)


class NetworkTraining:
    """The training of one network, and its outputs that are evaluated."""

    def __init__(self, make_trainer: Callable[[], Trainer], evaluated: EncodedRows) -> None:
        self._make_trainer = make_trainer
        self._evaluated = evaluated
        self._trainer: Trainer | None = None
        self._rounded_net: SuperNet | None = None  # to evaluate rounded weights

    @property
    def trainer(self) -> Trainer:
        """The training; it is made when it is needed first, since it takes memory."""
        if self._trainer is None:
            self._trainer = self._make_trainer()
        return self._trainer

    def run(self, on_fraction: FractionCallback, on_step: StepCallback) -> None:
        """Train to the end, from the current state."""
        self._train(make_training_callback(self.trainer, on_fraction, on_step))
        on_fraction(1.0)

    def _train(self, on_step: StepCallback) -> None:
        self.trainer.run(on_step=on_step)

    def outputs(self, precision: Precision = Precision.FLOAT32) -> NDArray[np.float32]:
        """Return the outputs of the network for the evaluated rows, with rounded weights."""
        net, child = self.trainer.net, self.trainer.child
        if precision != Precision.FLOAT32:
            weights = round_network(net.weights(), precision)
            if self._rounded_net is None:
                self._rounded_net = net.with_weights(weights)
            else:
                self._rounded_net.load_weights(weights)
            net = self._rounded_net
        return net.logits(child, self._evaluated.examples)

    def state_dict(self) -> Mapping[str, NDArray[Any]]:
        """Return the state as arrays."""
        return self.trainer.state_dict()

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore a state of the same training."""
        self.trainer.load_state_dict(state)


def make_trainer(
    architecture: Architecture,
    rows: TrainingRows,
    plan: TrainingPlan,
    training: TrainingSettings,
    validation: Examples | None = None,
) -> Trainer:
    """Return the stand-alone training of an architecture, before its first step."""
    net = SuperNet.standalone(
        architecture,
        rows.spec,
        optimizer=plan.optimizer,
        seed=training.seed,
        engine=plan.engine,
    )
    return Trainer(net, architecture, rows, training, validation)
