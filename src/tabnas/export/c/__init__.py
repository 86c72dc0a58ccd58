"""Models as C files for devices without any runtime."""

from __future__ import annotations

from tabnas.export.c._compiler import ObjectSize
from tabnas.export.c._export import CExportResult, export_c
from tabnas.export.c._prediction_loop import (
    PredictionLoop,
    compile_model_loop,
    compile_network_loop,
    describe_compiler,
)

__all__ = [
    "CExportResult",
    "ObjectSize",
    "PredictionLoop",
    "compile_model_loop",
    "compile_network_loop",
    "describe_compiler",
    "export_c",
]
