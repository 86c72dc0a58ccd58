"""Tables larger than memory: encoded once, piece by piece, and read by number."""

from __future__ import annotations

from tabnas.stores._encode import encode_store
from tabnas.stores._memory import LEAST as LEAST_MEMORY
from tabnas.stores._memory import parse_bytes
from tabnas.stores._opening import open_store
from tabnas.stores._plan import planned_command
from tabnas.stores._progress import EncodingProgress, ProgressObserver
from tabnas.stores._settings import StoreSettings
from tabnas.stores._splitting import PartName
from tabnas.stores._store import Rows, Store

__all__ = [
    "LEAST_MEMORY",
    "EncodingProgress",
    "PartName",
    "ProgressObserver",
    "Rows",
    "Store",
    "StoreSettings",
    "encode_store",
    "open_store",
    "parse_bytes",
    "planned_command",
]
