"""Networks: a SuperNet whose architectures share weights, and the stand-alone network."""

from __future__ import annotations

from tabnas.nets._engine import MAX_GRADIENT_NORM, Engine, RowIndex, State
from tabnas.nets._engines import ENGINES, EngineFactory, warm_up_engine
from tabnas.nets._errors import (
    LostRankError,
    MissingTorchError,
    NonFiniteLossError,
    RankError,
    RanksOutOfSyncError,
)
from tabnas.nets._examples import Batch, Batches, Examples, TrainingRows
from tabnas.nets._network_spec import Embedding, Inputs, Loss, NetworkSpec
from tabnas.nets._optimizers import SGD, Adam, Optimizer
from tabnas.nets._plain import PlainLayer, plain_forward, read_between_knots
from tabnas.nets._schedules import Constant, Cosine, Schedule
from tabnas.nets._shape import (
    NORM_EPSILON,
    NUMERIC_EMBEDDING,
    Child,
    DenseLayer,
    SuperNetShape,
)
from tabnas.nets._soft_targets import (
    ExampleTarget,
    TopClasses,
    concatenate_targets,
    mix_targets,
    top_classes,
)
from tabnas.nets._stretches import Stretch, collect_stretch, count_steps
from tabnas.nets._supernet import SuperNet
from tabnas.nets._training import EarlyStopping, Trainer, TrainingResult, TrainingSettings, train
from tabnas.nets._windows import WindowedBatches

__all__ = [
    "ENGINES",
    "MAX_GRADIENT_NORM",
    "NORM_EPSILON",
    "NUMERIC_EMBEDDING",
    "SGD",
    "Adam",
    "Batch",
    "Batches",
    "Child",
    "Constant",
    "Cosine",
    "DenseLayer",
    "EarlyStopping",
    "Embedding",
    "Engine",
    "EngineFactory",
    "ExampleTarget",
    "Examples",
    "Inputs",
    "Loss",
    "LostRankError",
    "MissingTorchError",
    "NetworkSpec",
    "NonFiniteLossError",
    "Optimizer",
    "PlainLayer",
    "RankError",
    "RanksOutOfSyncError",
    "RowIndex",
    "Schedule",
    "State",
    "Stretch",
    "SuperNet",
    "SuperNetShape",
    "TopClasses",
    "Trainer",
    "TrainingResult",
    "TrainingRows",
    "TrainingSettings",
    "WindowedBatches",
    "collect_stretch",
    "concatenate_targets",
    "count_steps",
    "mix_targets",
    "plain_forward",
    "read_between_knots",
    "top_classes",
    "train",
    "warm_up_engine",
]
