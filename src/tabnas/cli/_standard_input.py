"""Tables from standard input, which commands take by the name `-`."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tabnas.errors import TabNASError

DASH = "-"
"""Stands for standard input, or standard output where something is written."""
COPY = "standard input.csv"


@contextmanager
def input_file(path: Path) -> Iterator[Path]:
    """Yield the path, or that of a temporary copy of standard input if the path is `-`.

    Readers look at a table more than once, which a pipe does not allow.
    """
    if str(path) != DASH:
        yield path
        return
    if sys.stdin is None:
        raise TabNASError("standard input must be open to be read as a table; name a file instead")
    with tempfile.TemporaryDirectory(prefix="tabnas-") as folder:
        try:
            with (Path(folder) / COPY).open("wb") as copy:
                shutil.copyfileobj(sys.stdin.buffer, copy)
        except OSError as error:
            raise TabNASError(
                f"standard input must fit into the folder {tempfile.gettempdir()!r} "
                f"({error.strerror or error}); set TMPDIR to another, or name a file"
            ) from None
        yield Path(folder) / COPY
