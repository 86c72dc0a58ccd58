"""The compiled engine: Numba kernels, one call for a stretch of training steps. Imports Numba."""

from __future__ import annotations

from tabnas.nets.compiled._engine import CompiledEngine

__all__ = ["CompiledEngine"]
