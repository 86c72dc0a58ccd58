"""Models as C files for devices without any runtime."""

from __future__ import annotations

from tabnas.export.c._export import CExportResult, export_c
from tabnas.export.c._prediction_loop import (
    PredictionLoop,
    compile_model_loop,
    compile_network_loop,
    describe_compiler,
)
from tabnas.export.c._size import measure_c_size

__all__ = [
    "CExportResult",
    "PredictionLoop",
    "compile_model_loop",
    "compile_network_loop",
    "describe_compiler",
    "export_c",
    "measure_c_size",
]
