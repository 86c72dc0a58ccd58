"""The torch engine: the same networks on PyTorch, for GPUs, several processes, and as a check."""

from __future__ import annotations

from tabnas.nets.torch._engine import TorchEngine
from tabnas.nets.torch._group import Group

__all__ = ["Group", "TorchEngine"]
