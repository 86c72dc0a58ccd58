"""Stores: tables larger than memory, encoded once to arrays on disk, and read by row number."""

from __future__ import annotations

from tabnas.stores._pipeline import encode_store
from tabnas.stores._plan import find_encode_command
from tabnas.stores._progress import EncodingProgress, ProgressCallback
from tabnas.stores._settings import MIN_MEMORY, StoreSettings, parse_bytes
from tabnas.stores._split import PartName
from tabnas.stores._store import Store, open_store

__all__ = [
    "MIN_MEMORY",
    "EncodingProgress",
    "PartName",
    "ProgressCallback",
    "Store",
    "StoreSettings",
    "encode_store",
    "find_encode_command",
    "open_store",
    "parse_bytes",
]
