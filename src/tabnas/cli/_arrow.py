"""Arrow, set up by being imported: a Ctrl-C must not be lost while a table is read.

Arrow's own handlers miss one that comes as it ends, and Arrow imports pandas in the midst of
reading, swallowing what is raised there.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module

import pyarrow as pa

pa.enable_signal_handlers(False)
with suppress(ImportError):
    import_module("pandas")
