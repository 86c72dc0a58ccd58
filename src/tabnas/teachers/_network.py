"""A wide network as a teacher."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from tabnas.model import decode_outputs
from tabnas.nets import (
    Adam,
    Cosine,
    EarlyStopping,
    Loss,
    NetworkSpec,
    SuperNet,
    Trainer,
    TrainingSettings,
)
from tabnas.space import Architecture
from tabnas.teachers._rows import TeacherRows
from tabnas.teachers._teacher import StepCallback, do_nothing
from tabnas.types import IntArray

# wide enough to predict better than a network within a tight limit, and quick enough to be fitted
# once for each fold
WIDTHS = (128, 128)
DIMENSION = 4  # of numeric embeddings
LEARNING_RATE = 0.005
OPTIMIZER = Adam(weight_decay=0.1)
EPOCHS, MIN_STEPS = 20, 1_000
PATIENCE_SHARE = 0.15  # of the epochs
AVERAGING = 1.0
MIN_BATCH, MAX_BATCH, STEPS_PER_EPOCH = 32, 512, 75
CHUNK_ROWS = 1 << 16  # rows answered at a time


@dataclass(frozen=True)
class NetworkTeacher:
    """A network with numeric embeddings, trained with early stopping and averaged weights."""

    name: str = "wide network"

    def fit_predict(
        self,
        rows: TeacherRows,
        train: IntArray,
        answered: IntArray,
        *,
        seed: int,
        on_step: StepCallback = do_nothing,
    ) -> NDArray[np.float32]:
        """Fit the rows `train` and answer the rows `answered`; see `Teacher`.

        Raises a `NonFiniteLossError` if the training diverges.
        """
        fitted, stopping = rows.split_for_stopping(train, seed)
        examples = rows.examples(fitted, with_target=True)
        architecture = network_architecture(rows.spec)
        net = SuperNet.standalone(architecture, rows.spec, optimizer=OPTIMIZER, seed=seed)
        settings = network_settings(len(fitted), seed)
        validation = rows.examples(stopping, with_target=True)
        Trainer(net, architecture, examples, settings, validation).run(on_step=on_step)
        answers = np.empty((len(answered), rows.spec.outputs), np.float32)
        for start in range(0, len(answered), CHUNK_ROWS):
            part = slice(start, start + CHUNK_ROWS)
            logits = net.logits(architecture, rows.examples(answered[part]))
            if rows.spec.loss is Loss.SQUARED_ERROR:
                answers[part] = logits
            else:  # of two classes, the second
                answers[part] = decode_outputs(rows.target, logits)[:, -rows.spec.outputs :]
        return answers


def network_architecture(spec: NetworkSpec) -> Architecture:
    """Return the architecture of the teacher."""
    return Architecture(WIDTHS, DIMENSION if spec.inputs.embedded_numeric else 0)


def network_settings(rows: int, seed: int) -> TrainingSettings:
    """Return how long the teacher is trained on this many rows."""
    batch_size = MIN_BATCH
    while batch_size < MAX_BATCH and rows / (2 * batch_size) >= STEPS_PER_EPOCH:
        batch_size *= 2
    epochs = max(EPOCHS, ceil(MIN_STEPS / ceil(rows / batch_size)))
    return TrainingSettings(
        epochs=epochs,
        batch_size=batch_size,
        schedule=Cosine(LEARNING_RATE),
        seed=seed,
        early_stopping=EarlyStopping(patience=round(PATIENCE_SHARE * epochs)),
        averaging=AVERAGING,
    )
