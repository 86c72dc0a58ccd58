"""Networks: a SuperNet whose architectures share weights, and the stand-alone network."""

from __future__ import annotations

from tabnas.nets._batches import Batch, Batches, TrainingRows
from tabnas.nets._errors import (
    DriftedRanksError,
    LostRankError,
    MissingTorchError,
    NonFiniteLossError,
    RankError,
)
from tabnas.nets._examples import Examples
from tabnas.nets._optimizers import SGD, Adam, Optimizer
from tabnas.nets._schedules import Constant, Cosine, Schedule
from tabnas.nets._shape import NORM_EPSILON
from tabnas.nets._supernet import SuperNet
from tabnas.nets._task import Embedding, Inputs, Loss, Task
from tabnas.nets._training import EarlyStopping, Trainer, Training, TrainingResult, train
from tabnas.nets._windows import Windows

__all__ = [
    "NORM_EPSILON",
    "SGD",
    "Adam",
    "Batch",
    "Batches",
    "Constant",
    "Cosine",
    "DriftedRanksError",
    "EarlyStopping",
    "Embedding",
    "Examples",
    "Inputs",
    "Loss",
    "LostRankError",
    "MissingTorchError",
    "NonFiniteLossError",
    "Optimizer",
    "RankError",
    "Schedule",
    "SuperNet",
    "Task",
    "Trainer",
    "Training",
    "TrainingResult",
    "TrainingRows",
    "Windows",
    "train",
]
