"""Networks: a SuperNet whose architectures share weights, and the stand-alone network."""

from __future__ import annotations

from tabnas.nets._batches import Batch, Batches, TrainingRows
from tabnas.nets._engine import LARGEST_NORM, Engine, Rows, State
from tabnas.nets._engines import ENGINES, MakeEngine, load_engine
from tabnas.nets._errors import (
    DriftedRanksError,
    LostRankError,
    MissingTorchError,
    NonFiniteLossError,
    RankError,
)
from tabnas.nets._examples import Examples, Float32Array
from tabnas.nets._optimizers import SGD, Adam, Optimizer
from tabnas.nets._plain import PlainLayer, plain_forward
from tabnas.nets._schedules import Constant, Cosine, Schedule
from tabnas.nets._shape import NORM_EPSILON, Child, Matrix, SuperNetShape
from tabnas.nets._supernet import SuperNet
from tabnas.nets._task import Embedding, Inputs, Loss, Task
from tabnas.nets._training import EarlyStopping, Trainer, Training, TrainingResult, train
from tabnas.nets._windows import Windows

__all__ = [
    "ENGINES",
    "LARGEST_NORM",
    "NORM_EPSILON",
    "SGD",
    "Adam",
    "Batch",
    "Batches",
    "Child",
    "Constant",
    "Cosine",
    "DriftedRanksError",
    "EarlyStopping",
    "Embedding",
    "Engine",
    "Examples",
    "Float32Array",
    "Inputs",
    "Loss",
    "LostRankError",
    "MakeEngine",
    "Matrix",
    "MissingTorchError",
    "NonFiniteLossError",
    "Optimizer",
    "PlainLayer",
    "RankError",
    "Rows",
    "Schedule",
    "State",
    "SuperNet",
    "SuperNetShape",
    "Task",
    "Trainer",
    "Training",
    "TrainingResult",
    "TrainingRows",
    "Windows",
    "load_engine",
    "plain_forward",
    "train",
]
