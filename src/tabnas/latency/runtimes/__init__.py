"""Runtimes: what exported models are measured in, by name."""

from __future__ import annotations

from tabnas.latency.runtimes._c import CRuntime
from tabnas.latency.runtimes._onnxruntime import OnnxRuntime
from tabnas.latency.runtimes._runtime import DEFAULT_RESOLUTION, Runtime, SurveySize
from tabnas.registries import by_name

RUNTIMES: dict[str, Runtime] = by_name(OnnxRuntime(), CRuntime())
"""Every runtime, by name."""

__all__ = ["DEFAULT_RESOLUTION", "RUNTIMES", "CRuntime", "OnnxRuntime", "Runtime", "SurveySize"]
