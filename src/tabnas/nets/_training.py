"""The training of one network: epochs over shuffled rows, the best weights kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.errors import TabnasError, whole
from tabnas.nets._batches import TrainingRows
from tabnas.nets._errors import NonFiniteLossError
from tabnas.nets._examples import Examples, Float32Array
from tabnas.nets._schedules import Constant, Cosine, Schedule
from tabnas.nets._supernet import ChildLike, SuperNet
from tabnas.states import counts, floats, part, refuse_other_names


@dataclass(frozen=True, kw_only=True)
class EarlyStopping:
    """Stop after `patience` epochs in a row without a validation loss below the best so far."""

    patience: int = 10

    def __post_init__(self) -> None:
        whole("patience", self.patience, least=1)


@dataclass(frozen=True, kw_only=True)
class Training:
    """How to train: `seed` determines the order of the rows in every epoch.

    `stop_after` ends a training before its last epoch, its schedule as if it went on: so a training
    on more rows can stop where one with validation rows did best.
    """

    epochs: int
    batch_size: int
    schedule: Schedule
    seed: int = 0
    early_stopping: EarlyStopping | None = None
    stop_after: int | None = None

    def __post_init__(self) -> None:
        whole("epochs", self.epochs, least=1)
        whole("batch_size", self.batch_size, least=1)
        whole("seed", self.seed, least=0)
        if self.stop_after is not None:
            whole("stop_after", self.stop_after, least=1)
        if not isinstance(self.schedule, Constant | Cosine):
            raise TabnasError(
                "the schedule must be Constant(rate) or Cosine(rate), "
                f"however {self.schedule!r} was given"
            )


@dataclass
class TrainingResult:
    """Losses by epoch. With validation, the network is left with the weights of `best_epoch`."""

    training_losses: list[float] = field(default_factory=list)
    validation_losses: list[float] = field(default_factory=list)
    best_epoch: int = 0  # from 1; the last one if there is no validation
    best_loss: float = inf  # on the validation rows, if there are any

    @property
    def epochs(self) -> int:
        """The number of epochs trained."""
        return len(self.training_losses)


class Trainer:
    """A training under way: `run()` it, stop it at any step, go on from its state elsewhere."""

    def __init__(
        self,
        net: SuperNet,
        child: ChildLike,
        rows: TrainingRows,
        training: Training,
        validation: Examples | None = None,
    ) -> None:
        if training.early_stopping is not None and validation is None:
            raise TabnasError(
                "early stopping must have validation examples, however none were given"
            )
        if not rows.total_weight > 0:
            raise TabnasError(
                "training must have rows that weigh something, however there are none"
            )
        self.net = net
        self.child = child
        self.rows = rows
        self.training = training
        self.validation = validation
        self.result = TrainingResult()
        self.step = 0
        self._batches = rows.batches(training.batch_size, seed=training.seed)
        self._total = 0.0  # of the epoch under way: loss times weight
        self._best_weights: dict[str, Float32Array] = {}

    @property
    def steps(self) -> int:
        """Steps of the whole schedule."""
        return self.training.epochs * self._batches.steps_per_epoch

    @property
    def progress(self) -> float:
        """How much of the epochs is done, from 0 to 1; patience may end them earlier."""
        return self.step / (self._last_epoch * self._batches.steps_per_epoch)

    @property
    def _last_epoch(self) -> int:
        return min(self.training.epochs, self.training.stop_after or self.training.epochs)

    @property
    def finished(self) -> bool:
        """Whether all epochs are done, or patience is at its end."""
        training, result = self.training, self.result
        if result.epochs >= self._last_epoch:
            return True
        waited = result.epochs - result.best_epoch
        return training.early_stopping is not None and waited >= training.early_stopping.patience

    def run(
        self,
        observe: Callable[[TrainingResult], None] | None = None,
        tick: Callable[[], None] | None = None,
    ) -> TrainingResult:
        """Train to the end, from where it stands; the best weights are loaded then.

        `observe` is told of every epoch; `tick` is called before every step, and may raise.
        """
        while not self.finished:
            if tick is not None:
                tick()
            self._train_step()
            if self.step % self._batches.steps_per_epoch == 0:
                self._end_epoch()
                if observe is not None:
                    observe(self.result)
        if self._best_weights:
            self.net.load_weights(self._best_weights)
        return self.result

    def _train_step(self) -> None:
        batch = self._batches.at(self.step)
        rate = self.training.schedule(step=self.step, steps=self.steps)
        weight = batch.weight
        if weight > 0:  # rows that all weigh nothing have nothing to teach
            (rows,) = batch.rows
            self._total += weight * self.net.train_step(self.child, batch.examples, rows, rate)
        self.step += 1

    def _end_epoch(self) -> None:
        result = self.result
        result.training_losses.append(self._total / self.rows.total_weight)
        self._total = 0.0
        result.best_epoch = result.epochs
        if self.validation is None:
            return
        # asked as several are, so that all processes of a group hear the same number
        (loss,) = self.net.losses([self.child], self.validation)
        if not isfinite(loss):
            rate = self.training.schedule(step=self.step - 1, steps=self.steps)
            raise NonFiniteLossError(self.net.steps, loss, rate)
        result.validation_losses.append(loss)
        if loss < result.best_loss:
            result.best_loss = loss
            self._best_weights = self.net.weights()
        result.best_epoch = 1 + result.validation_losses.index(result.best_loss)

    def state(self) -> dict[str, NDArray[Any]]:
        """All that shapes the future, as plain arrays."""
        net = {f"net/{name}": value for name, value in self.net.state().items()}
        best = {f"best/{name}": value for name, value in self._best_weights.items()}
        return (
            net
            | best
            | {
                "step": np.array(self.step, np.int64),
                "total": np.array(self._total),
                "training_losses": np.array(self.result.training_losses),
                "validation_losses": np.array(self.result.validation_losses),
            }
        )

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on where a training of the same network, data and settings stood."""
        step = int(counts(state, "step", most=self.steps))
        epochs = step // self._batches.steps_per_epoch
        judged = epochs if self.validation is not None else 0
        trained = floats(state, "training_losses", (epochs,)).tolist()
        validated = floats(state, "validation_losses", (judged,)).tolist()
        total = float(floats(state, "total"))
        best = part(state, "best")
        shapes = {name: array.shape for name, array in self.net.weights().items()} if judged else {}
        refuse_other_names(best, shapes)
        self._best_weights = {
            name: floats(best, name, shape, dtype=np.float32) for name, shape in shapes.items()
        }
        self.net.load_state(part(state, "net"))
        self.step = step
        self._total = total
        self.result = TrainingResult(trained, validated)
        self.result.best_epoch = self.result.epochs
        if validated:
            self.result.best_loss = min(validated)
            self.result.best_epoch = 1 + validated.index(self.result.best_loss)


def train(
    net: SuperNet,
    child: ChildLike,
    rows: TrainingRows,
    training: Training,
    validation: Examples | None = None,
    observe: Callable[[TrainingResult], None] | None = None,
) -> TrainingResult:
    """Train one child (of a stand-alone network: its only one).

    With `validation` examples the network ends with the weights of the epoch that did best there.
    `observe` is told of every epoch.
    """
    return Trainer(net, child, rows, training, validation).run(observe)
