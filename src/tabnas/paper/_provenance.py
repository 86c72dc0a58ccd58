"""Where a result comes from: command, date, machine and versions, for every file of results."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import version
from os import cpu_count
from pathlib import Path


def provenance(command: str) -> dict[str, object]:
    """What to write beside measured numbers, so that they can be judged and made again."""
    return {
        "command": command,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": {"processor": _processor(), "cores": cpu_count(), "system": platform.system()},
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("tabnas", "numpy", "numba")},
        },
    }


def _processor() -> str:
    """The processor's name; Linux tells it in a file only."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"
