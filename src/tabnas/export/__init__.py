"""Models as ONNX files or C files that take the columns of a table and return predictions."""

from __future__ import annotations

from tabnas.export._export import ExportResult, export_onnx, onnx_bytes
from tabnas.export._inputs import onnx_inputs
from tabnas.export._int8 import QuantizationResult
from tabnas.export._network import network_model
from tabnas.export._parity import TOLERANCE, Parity
from tabnas.export._session import OnnxSession, RuntimeName
from tabnas.export.c import CExportResult, export_c, measure_c_size

__all__ = [
    "TOLERANCE",
    "CExportResult",
    "ExportResult",
    "OnnxSession",
    "Parity",
    "QuantizationResult",
    "RuntimeName",
    "export_c",
    "export_onnx",
    "measure_c_size",
    "network_model",
    "onnx_bytes",
    "onnx_inputs",
]
