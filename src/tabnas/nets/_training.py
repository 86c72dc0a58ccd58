"""The training of one network: epochs over shuffled rows, then the weights of the best epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import repeat
from math import inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.errors import TabNASError, check_int
from tabnas.nets._errors import NonFiniteLossError
from tabnas.nets._examples import Examples, TrainingRows
from tabnas.nets._schedules import Constant, Cosine, Schedule
from tabnas.nets._stretches import collect_stretch, count_steps
from tabnas.nets._supernet import ChildLike, SuperNet
from tabnas.nets._weight_average import WeightAverage
from tabnas.states import check_keys, read_counts, read_floats, subtree
from tabnas.types import Float32Array

MAX_AVERAGING = 1_000_000
"""Epochs that an average of weights can reach back; far more than a training has."""


@dataclass(frozen=True, kw_only=True)
class EarlyStopping:
    """Stop after `patience` epochs in a row without a new best validation loss."""

    patience: int = 10

    def __post_init__(self) -> None:
        check_int("patience", self.patience, minimum=1)


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """The settings of a training; `seed` determines the order of the rows in every epoch.

    `stop_after` ends the training after this many epochs, while the schedule stays that of all
    `epochs`. So a training on all rows can stop at the best epoch of one with validation rows.

    `averaging` is the number of epochs that a moving average of the weights reaches back; 0 turns
    it off. The average is what is validated and kept, while the training continues from the
    weights themselves: those of t epochs ago count exp(-t / `averaging`).
    """

    epochs: int
    batch_size: int
    schedule: Schedule
    seed: int = 0
    early_stopping: EarlyStopping | None = None
    stop_after: int | None = None
    averaging: float = 0.0

    def __post_init__(self) -> None:
        check_int("epochs", self.epochs, minimum=1)
        check_int("batch_size", self.batch_size, minimum=1)
        check_int("seed", self.seed, minimum=0)
        if self.stop_after is not None:
            check_int("stop_after", self.stop_after, minimum=1)
        if isinstance(self.averaging, bool) or not 0.0 <= self.averaging <= MAX_AVERAGING:
            raise TabNASError(
                f"averaging must be a number of epochs from 0 to {MAX_AVERAGING:,}, "
                f"got {self.averaging!r}; 0 turns it off"
            )
        if not isinstance(self.schedule, Constant | Cosine):
            raise TabNASError(
                "schedule must be Constant(learning_rate) or Cosine(learning_rate), "
                f"got {self.schedule!r}"
            )


@dataclass
class TrainingResult:
    """Losses by epoch. With validation, the network ends with the weights of `best_epoch`.

    With averaging, validation losses and final weights are those of the average.
    """

    training_losses: list[float] = field(default_factory=list)
    validation_losses: list[float] = field(default_factory=list)

    @property
    def epochs(self) -> int:
        """The number of epochs trained."""
        return len(self.training_losses)

    @property
    def best_loss(self) -> float:
        """The lowest loss on the validation rows; infinite if there are none."""
        return min(self.validation_losses, default=inf)

    @property
    def best_epoch(self) -> int:
        """The epoch of the lowest validation loss, from 1; the last one without validation."""
        if not self.validation_losses:
            return self.epochs
        return 1 + self.validation_losses.index(self.best_loss)


class Trainer:
    """A training that can be stopped at any step and continued from its state, also elsewhere."""

    def __init__(
        self,
        net: SuperNet,
        child: ChildLike,
        rows: TrainingRows,
        settings: TrainingSettings,
        validation: Examples | None = None,
    ) -> None:
        if settings.early_stopping is not None and validation is None:
            raise TabNASError("early stopping requires validation examples, got none")
        if not rows.total_weight > 0:
            raise TabNASError("training requires rows with a weight above 0, got none")
        self.net = net
        self.child = child
        self.rows = rows
        self.settings = settings
        self.validation = validation
        self.result = TrainingResult()
        self.step = 0
        self._batches = rows.batches(settings.batch_size, seed=settings.seed)
        self._total = 0.0  # loss times weight, summed over the current epoch
        self._best_weights: dict[str, Float32Array] = {}
        self._average: WeightAverage | None = None
        if settings.averaging:
            self._average = WeightAverage(
                net,
                epochs=settings.averaging,
                steps_per_epoch=self._batches.steps_per_epoch,
            )

    @property
    def steps(self) -> int:
        """The steps of all epochs, which the schedule counts."""
        return self.settings.epochs * self._batches.steps_per_epoch

    @property
    def progress(self) -> float:
        """The fraction of the epochs that is done; early stopping may end them sooner."""
        return self.step / (self._last_epoch * self._batches.steps_per_epoch)

    @property
    def _last_epoch(self) -> int:
        return min(self.settings.epochs, self.settings.stop_after or self.settings.epochs)

    @property
    def is_finished(self) -> bool:
        """Whether all epochs are done, or early stopping has ended them."""
        settings, result = self.settings, self.result
        if result.epochs >= self._last_epoch:
            return True
        waited = result.epochs - result.best_epoch
        return settings.early_stopping is not None and waited >= settings.early_stopping.patience

    def run(
        self,
        on_epoch: Callable[[TrainingResult], None] | None = None,
        on_step: Callable[[], None] | None = None,
    ) -> TrainingResult:
        """Train to the end, from the current step, and load the best weights.

        `on_epoch` is called after every epoch, while the network has the weights that were
        validated, `on_step` every some milliseconds, between two steps; they may raise.
        """
        while not self.is_finished:
            if on_step is not None:
                on_step()
            self._train_stretch()
            if self.step % self._batches.steps_per_epoch == 0:
                with self._evaluated_weights():
                    self._end_epoch()
                    if on_epoch is not None:
                        on_epoch(self.result)
        if self._best_weights:
            self.net.load_weights(self._best_weights)
        elif self._average is not None:
            self.net.load_weights(self._average.weights())
        return self.result

    def _train_stretch(self) -> None:
        """Take the next steps, up to where anything else is due."""
        work = self.settings.batch_size * self.net.multiply_adds(self.child)
        count = min(count_steps(repeat(work)), self._batches.steps_ahead(self.step))
        if self._average is not None:
            count = min(count, self._average.steps_ahead(self.step))
        end, steps = self.step + count, self.steps
        stretch = collect_stretch(self._batches, self.step, count)
        rates = [self.settings.schedule(step=step, steps=steps) for step in stretch.steps]
        losses: list[float] = []
        if rates:
            children = [self.child] * len(rates)
            losses = self.net.train_steps(children, stretch.examples, stretch.rows, rates)
        for step, weight, loss in zip(stretch.steps, stretch.weights, losses, strict=False):
            self.step = step
            if not isfinite(loss):
                learning_rate = self.settings.schedule(step=step, steps=steps)
                raise NonFiniteLossError(self.net.steps + 1, loss, learning_rate)
            self._total += weight * loss
            self.step += 1
        if len(losses) == len(rates):
            self.step = end  # also past steps without weight
        if self._average is not None:
            self._average.update(self.step)

    def _evaluated_weights(self) -> AbstractContextManager[None]:
        """Give the network the average, if there is one, until the end of the context."""
        return nullcontext() if self._average is None else self._average.swap_in()

    def _end_epoch(self) -> None:
        result = self.result
        result.training_losses.append(self._total / self.rows.total_weight)
        self._total = 0.0
        if self.validation is None:
            return
        # `losses` and not `loss`, so that all processes of a group get the same number
        (loss,) = self.net.losses([self.child], self.validation)
        if not isfinite(loss):
            learning_rate = self.settings.schedule(step=self.step - 1, steps=self.steps)
            raise NonFiniteLossError(self.net.steps, loss, learning_rate, is_validation=True)
        if loss < result.best_loss:
            self._best_weights = self.net.weights()
        result.validation_losses.append(loss)

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return all that the training needs to continue, as plain arrays."""
        average: dict[str, Float32Array] = {}
        if self._average is None:
            current = self.net.state_dict()
        else:
            average = self._average.weights()
            with self._average.swap_out():
                current = self.net.state_dict()
        net = {f"net/{name}": value for name, value in current.items()}
        best = {f"best/{name}": value for name, value in self._best_weights.items()}
        return (
            net
            | best
            | {f"average/{name}": value for name, value in average.items()}
            | {
                "step": np.array(self.step, np.int64),
                "total": np.array(self._total),
                "training_losses": np.array(self.result.training_losses),
                "validation_losses": np.array(self.result.validation_losses),
            }
        )

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from the state of a training of the same network, data and settings."""
        step = int(read_counts(state, "step", maximum=self.steps))
        epochs = step // self._batches.steps_per_epoch
        validated_epochs = epochs if self.validation is not None else 0
        training_losses = read_floats(state, "training_losses", (epochs,)).tolist()
        validation_losses = read_floats(state, "validation_losses", (validated_epochs,)).tolist()
        total = float(read_floats(state, "total"))
        best = self._read_weights(subtree(state, "best"), expected=validated_epochs > 0)
        average = self._read_weights(subtree(state, "average"), expected=self._average is not None)
        self.net.load_state_dict(subtree(state, "net"))
        self._best_weights = best
        if self._average is not None:
            self._average.load_weights(average)
        self.step = step
        self._total = total
        self.result = TrainingResult(training_losses, validation_losses)

    def _read_weights(
        self, state: Mapping[str, NDArray[Any]], *, expected: bool
    ) -> dict[str, Float32Array]:
        """Return the weights of a state; raise an error if it has some and none are expected."""
        shapes = {name: array.shape for name, array in self.net.weights().items()}
        if not expected:
            shapes = {}
        check_keys(state, shapes)
        return {
            name: read_floats(state, name, shape, dtype=np.float32)
            for name, shape in shapes.items()
        }


def train(
    net: SuperNet,
    child: ChildLike,
    rows: TrainingRows,
    settings: TrainingSettings,
    validation: Examples | None = None,
    on_epoch: Callable[[TrainingResult], None] | None = None,
) -> TrainingResult:
    """Train one child (of a stand-alone network: its only one).

    With `validation` examples the network ends with the weights of the best epoch on them.
    `on_epoch` is called after every epoch.
    """
    return Trainer(net, child, rows, settings, validation).run(on_epoch)
