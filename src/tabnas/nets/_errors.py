"""What can go wrong with a network that its user can do something about."""

from __future__ import annotations

from tabnas.errors import TabnasError


class NonFiniteLossError(TabnasError):
    """A training step met a loss, or a gradient, that float32 cannot hold; nothing was moved."""

    def __init__(self, step: int, loss: float, learning_rate: float) -> None:
        super().__init__(
            f"the loss or slope of training step {step} is {loss} and the step was not taken: "
            f"training has diverged. A learning rate well below {learning_rate:g} usually helps; "
            "otherwise look for extreme values among the inputs, targets or row weights, and "
            "standardise numeric columns and regression targets."
        )
        self.step = step


class MissingTorchError(TabnasError):
    """The torch engine was asked for and PyTorch is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "engine='torch' needs PyTorch, which is not installed: pip install tabnas[torch]. "
            "The default, engine='compiled', does without it."
        )


class RankError(TabnasError):
    """The processes of one job can no longer work together."""


class LostRankError(RankError):
    """Another process of the job has ended, or is not heard of any more."""

    def __init__(self) -> None:
        super().__init__("another process of this job has ended, or was not heard of for too long")


class DriftedRanksError(RankError):
    """Processes that should do the same were about to do different things."""

    def __init__(self) -> None:
        super().__init__(
            "all processes of a job must do the same at the same time, however they have drifted "
            "apart; use the same versions of everything, and machines of one kind"
        )
