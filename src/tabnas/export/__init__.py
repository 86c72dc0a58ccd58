"""Models for other runtimes: one ONNX file, from the table's columns to the answers."""

from __future__ import annotations

from tabnas.export._engine import Engine, EngineName
from tabnas.export._export import Exported, export_onnx, onnx_bytes
from tabnas.export._inputs import onnx_inputs
from tabnas.export._int8 import Quantised
from tabnas.export._network import network_model
from tabnas.export._parity import TOLERANCE, Parity

__all__ = [
    "TOLERANCE",
    "Engine",
    "EngineName",
    "Exported",
    "Parity",
    "Quantised",
    "export_onnx",
    "network_model",
    "onnx_bytes",
    "onnx_inputs",
]
