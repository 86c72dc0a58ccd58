"""Models as C files for devices without any runtime."""

from __future__ import annotations

from tabnas.export.c._compiler import ObjectSize
from tabnas.export.c._export import CExportResult, export_c

__all__ = ["CExportResult", "ObjectSize", "export_c"]
