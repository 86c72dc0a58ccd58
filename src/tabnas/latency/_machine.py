"""The machine on which a latency was measured: what it depends on, and nothing private."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated

from tabnas.decoding import Bounds
from tabnas.latency._onnx_calls import THREADS, import_onnxruntime


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A processor and a version of the runtime; both determine latencies."""

    processor: str
    system: str
    onnxruntime: str  # its version
    threads: Annotated[int, Bounds(ge=1)]

    @classmethod
    def here(cls) -> Machine:
        """Return the machine that this process runs on."""
        return cls(
            processor=processor_name(),
            system=f"{platform.system()} {platform.machine()}".strip(),
            onnxruntime=str(import_onnxruntime().__version__),
            threads=THREADS,
        )

    @property
    def key(self) -> str:
        """A short name, different for every machine."""
        identity = (self.processor, self.system, self.onnxruntime, self.threads)
        return sha256(repr(identity).encode()).hexdigest()[:16]

    def __str__(self) -> str:
        threads = "one thread" if self.threads == 1 else f"{self.threads} threads"
        return f"{self.processor}, {self.system}, onnxruntime {self.onnxruntime}, {threads}"


def processor_name() -> str:
    """Return the processor's name, which Linux provides in a file only."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine() or "unknown"
