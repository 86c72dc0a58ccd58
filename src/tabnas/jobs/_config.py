"""Where jobs run: in this process, in several processes of this machine, or on a cluster."""

from __future__ import annotations

from dataclasses import dataclass

from tabnas.errors import TabNASError, check_int, did_you_mean

BACKENDS = ("local", "ray", "dask")
"""Where jobs can run."""


@dataclass(frozen=True, kw_only=True)
class JobConfig:
    """Where jobs run, and how many at a time.

    By default they run in this process, one after the other.

    >>> JobConfig().in_process, JobConfig(processes=4).in_process
    (True, False)
    >>> JobConfig(backend="ray").in_process
    False
    """

    processes: int | None = None
    """The maximal number of jobs at a time; None: one here, as many as a cluster has cores."""
    backend: str = "local"
    address: str | None = None
    """The address of a cluster; None: that of the cluster's own environment variable."""
    max_attempts: int = 3
    """Give up once this many processes have died while running the same job."""

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise TabNASError(
                f"backend must be one of {', '.join(BACKENDS)}, got {self.backend!r}; "
                f"{did_you_mean(self.backend, BACKENDS)}"
            )
        if self.processes is not None:
            check_int("processes", self.processes, minimum=1)
        check_int("max_attempts", self.max_attempts, minimum=1)
        if self.backend == "local" and self.address is not None:
            raise TabNASError(
                f"address must be that of a cluster, got {self.address!r} and the local backend; "
                "set the backend to ray or dask, or leave the address out"
            )

    @property
    def in_process(self) -> bool:
        """Whether this process runs all jobs itself."""
        return self.backend == "local" and self.processes in (None, 1)
