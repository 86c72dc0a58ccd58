"""What is trained stand-alone, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from tabnas.runs._answers import LABELS_ONLY, Distillation
from tabnas.space import Architecture, Precision

Weights = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Trial:
    """An architecture to be trained stand-alone, and what it learns from."""

    architecture: Architecture
    distillation: Distillation = LABELS_ONLY
    precisions: tuple[Precision, ...] = (Precision.FLOAT32,)  # in which it meets the limits
    is_longer: bool = False  # whether it has the longer training, that of the best candidate


@dataclass(frozen=True, eq=False, kw_only=True)
class Candidate:
    """An architecture that was trained stand-alone, once or once a fold."""

    architecture: Architecture
    distillation: Distillation  # what it has learned from
    is_longer: bool  # whether it had the longer training
    precision: Precision  # of the weights
    loss: float  # by the metric, to be minimised; infinite if the training diverged
    float32_loss: float  # before its weights were rounded to their precision
    stop_after: int  # the best epoch, from 1
    temperature: float  # that divides its outputs; 1 for regression
    weights: Weights | None  # None after cross-validation, whose networks saw a part of the rows
    one_shot_loss: float | None = None  # with the SuperNet's weights

    @classmethod
    def diverged(cls, trial: Trial) -> Candidate:
        """Return a candidate without weights whose loss is infinite."""
        return cls(
            architecture=trial.architecture,
            distillation=trial.distillation,
            is_longer=trial.is_longer,
            precision=trial.precisions[0],
            loss=inf,
            float32_loss=inf,
            stop_after=1,
            temperature=1.0,
            weights=None,
        )
