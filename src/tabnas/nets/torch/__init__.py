"""The torch engine: the same networks on PyTorch, for GPUs and as a check. Imports PyTorch."""

from __future__ import annotations

from tabnas.nets.torch._engine import TorchEngine

__all__ = ["TorchEngine"]
