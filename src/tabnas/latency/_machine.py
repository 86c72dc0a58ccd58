"""The machine on which a latency was measured: what it depends on, and nothing private."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated

from tabnas.decoding import Bounds
from tabnas.errors import TabNASError, did_you_mean
from tabnas.latency.runtimes import RUNTIMES, Runtime

THREADS = 1
DEFAULT_RUNTIME = next(iter(RUNTIMES.values()))


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A processor and a version of the runtime; both determine latencies."""

    processor: str
    system: str
    runtime: str  # its name in `RUNTIMES`
    version: str  # of the runtime, or of the compiler with its flags
    threads: Annotated[int, Bounds(ge=1)]

    def __post_init__(self) -> None:
        if self.runtime not in RUNTIMES:
            hint = did_you_mean(self.runtime, RUNTIMES)
            raise TabNASError(f"there is no runtime {self.runtime!r}; {hint}")

    @classmethod
    def here(cls, runtime: Runtime = DEFAULT_RUNTIME) -> Machine:
        """Return the machine that this process runs on; raise an error without the runtime."""
        return cls(
            processor=processor_name(),
            system=f"{platform.system()} {platform.machine()}".strip(),
            runtime=runtime.name,
            version=runtime.version(),
            threads=THREADS,
        )

    @property
    def key(self) -> str:
        """A short name, different for every machine."""
        identity = (self.processor, self.system, self.runtime, self.version, self.threads)
        return sha256(repr(identity).encode()).hexdigest()[:16]

    @property
    def runtime_version(self) -> str:
        """The runtime and its version, as reports have it."""
        return RUNTIMES[self.runtime].describe(self.version)

    def __str__(self) -> str:
        threads = "one thread" if self.threads == 1 else f"{self.threads} threads"
        return f"{self.processor}, {self.system}, {self.runtime_version}, {threads}"


def processor_name() -> str:
    """Return the processor's name, which Linux provides in a file only."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine() or "unknown"
