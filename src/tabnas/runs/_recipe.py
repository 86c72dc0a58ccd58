"""How networks are trained alone: the part of a plan that other processes need, too."""

from __future__ import annotations

from dataclasses import dataclass

from tabnas.nets import Optimizer, TrainingSettings


@dataclass(frozen=True, kw_only=True, eq=False)
class Recipe:
    """How every candidate of a run is trained and judged."""

    training: TrainingSettings
    optimizer: Optimizer
    folds: int  # 0: candidates are chosen on the validation part
    engine: str
