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
