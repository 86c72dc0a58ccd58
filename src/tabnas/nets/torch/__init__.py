"""The torch engine: the same networks in PyTorch, for GPUs and for several processes."""

from __future__ import annotations

from tabnas.nets._errors import MissingTorchError

try:
    import torch  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise MissingTorchError from None

from tabnas.nets.torch._engine import DistributedTorchEngine, TorchEngine
from tabnas.nets.torch._group import Group

__all__ = ["DistributedTorchEngine", "Group", "TorchEngine"]
