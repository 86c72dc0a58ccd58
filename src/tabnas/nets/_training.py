"""The training of one network: epochs over shuffled rows, the best weights kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, isfinite

from tabnas.errors import TabnasError, whole
from tabnas.nets._errors import NonFiniteLossError
from tabnas.nets._examples import Examples, Float32Array
from tabnas.nets._schedules import Constant, Cosine, Schedule
from tabnas.nets._supernet import ChildLike, SuperNet
from tabnas.streams import stream
from tabnas.types import IntArray


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


class Shuffle:
    """The batches of every epoch: all rows in a random order, the last batch as small as it comes.

    The order depends on seed and epoch alone, so a resumed training sees the same batches.

    >>> shuffle = Shuffle(10, 4, seed=0)
    >>> [len(shuffle.rows(step)) for step in range(4)]
    [4, 4, 2, 4]
    """

    def __init__(self, rows: int, batch_size: int, seed: int) -> None:
        self._rows = rows
        self._batch_size = batch_size
        self._seed = seed
        self._epoch = 0
        self._order: IntArray
        self.steps_per_epoch = -(-rows // batch_size)

    def rows(self, step: int) -> IntArray:
        """The rows of a step, counted from 0 over all epochs."""
        epoch, index = divmod(step, self.steps_per_epoch)
        if self._epoch != epoch + 1:
            self._epoch = epoch + 1
            self._order = stream(self._seed, f"shuffle/{self._epoch}").permutation(self._rows)
        return self._order[index * self._batch_size : (index + 1) * self._batch_size]


def train(
    net: SuperNet,
    child: ChildLike,
    examples: Examples,
    training: Training,
    validation: Examples | None = None,
    observe: Callable[[TrainingResult], None] | None = None,
) -> TrainingResult:
    """Train one child (of a stand-alone network: its only one).

    With `validation` examples the network ends with the weights of the epoch that did best there.
    `observe` is told of every epoch.
    """
    if training.early_stopping is not None and validation is None:
        raise TabnasError("early stopping must have validation examples, however none were given")
    if not examples.total_weight > 0:
        raise TabnasError("training must have rows that weigh something, however there are none")
    shuffle = Shuffle(len(examples), training.batch_size, training.seed)
    steps = training.epochs * shuffle.steps_per_epoch
    result = TrainingResult()
    best_weights: dict[str, Float32Array] = {}
    step = 0
    last = min(training.epochs, training.stop_after or training.epochs)
    for epoch in range(1, last + 1):
        total = 0.0
        for _ in range(shuffle.steps_per_epoch):
            rows = shuffle.rows(step)
            rate = training.schedule(step=step, steps=steps)
            step += 1
            weight = float(examples.weight[rows].sum()) if len(examples.weight) else len(rows)
            if weight > 0:  # rows that all weigh nothing have nothing to teach
                total += weight * net.train_step(child, examples, rows, rate)
        result.training_losses.append(total / examples.total_weight)
        result.best_epoch = epoch
        if validation is not None:
            loss = net.loss(child, validation)
            if not isfinite(loss):
                raise NonFiniteLossError(net.steps, loss, rate)
            result.validation_losses.append(loss)
            if loss < result.best_loss:
                result.best_loss = loss
                best_weights = net.weights()
            result.best_epoch = 1 + result.validation_losses.index(result.best_loss)
        if observe is not None:
            observe(result)
        patience = training.early_stopping.patience if training.early_stopping else steps
        if epoch - result.best_epoch >= patience:
            break
    if best_weights:
        net.load_weights(best_weights)
    return result
