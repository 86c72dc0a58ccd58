"""The provenance of results: command, date, machine and versions."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import version
from os import cpu_count

from tabnas.latency import processor_name


def collect_provenance(command: str) -> dict[str, object]:
    """Return what is written beside measured numbers, so that they can be assessed and repeated."""
    return {
        "command": command,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": {
            "processor": processor_name(),
            "cores": cpu_count(),
            "system": platform.system(),
        },
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("tabnas", "numpy", "numba")},
        },
    }
