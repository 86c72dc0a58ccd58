"""Errors of networks that users can cause, and remedy."""

from __future__ import annotations

from tabnas.errors import TabNASError


class NonFiniteLossError(TabNASError):
    """A loss or gradient overflowed float32. If a training step caused it, it was not taken."""

    def __init__(
        self, step: int, loss: float, learning_rate: float, *, is_validation: bool = False
    ) -> None:
        what = f"the loss or gradient of training step {step} is {loss} and the step was not taken"
        if is_validation:
            what = f"the validation loss after training step {step} is {loss}"
        super().__init__(
            f"{what}: training has diverged. A learning rate well below {learning_rate:g} usually "
            "helps; otherwise look for extreme values among the inputs, targets or row weights, "
            "and standardise numeric columns and regression targets."
        )
        self.step = step


class MissingTorchError(TabNASError):
    """The torch engine was requested, but PyTorch is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "engine='torch' requires PyTorch, which is not installed: pip install tabnas[torch]. "
            "The default, engine='compiled', does not need it."
        )


class RankError(TabNASError):
    """The processes of one run can no longer work together."""


class LostRankError(RankError):
    """Another process of the run has ended or no longer responds."""

    def __init__(self) -> None:
        super().__init__("another process of this run has ended, or did not respond in time")


class RanksOutOfSyncError(RankError):
    """The processes of one run were about to do different things."""

    def __init__(self) -> None:
        super().__init__(
            "all processes of a run must make the same calls, but they are out of sync; use the "
            "same version of every package, and machines of the same kind"
        )
