"""Stores: tables larger than memory, encoded once to arrays on disk, and read by row number.

Words of this package, each with one meaning:

- *source*: a file that the store is made from;
- *first rows*: those of all sources from which kinds of columns are inferred;
- *copy*: a text file in Arrow's format, which can be read from any batch on, unlike CSV;
- *chunk*: the rows of a source that are in memory at a time while it is encoded;
- *piece*: many chunks of a source, after which progress is saved; in the store, the folder of
  their arrays;
- *part*: what rows are used for, training, validation or test;
- *block*: some hundred consecutive rows of a part, which training reads together.
"""

from __future__ import annotations

from tabnas.stores._pipeline import encode_store
from tabnas.stores._plan import describe_continuation
from tabnas.stores._progress import EncodingProgress, ProgressCallback
from tabnas.stores._settings import MIN_MEMORY, StoreSettings
from tabnas.stores._split import PartName
from tabnas.stores._store import Store, open_store

__all__ = [
    "MIN_MEMORY",
    "EncodingProgress",
    "PartName",
    "ProgressCallback",
    "Store",
    "StoreSettings",
    "describe_continuation",
    "encode_store",
    "open_store",
]
