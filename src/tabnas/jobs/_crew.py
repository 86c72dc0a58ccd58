"""Who makes the jobs: this process, several on this machine, or a cluster."""

from __future__ import annotations

from dataclasses import dataclass

from tabnas.errors import TabnasError, did_you_mean, whole

BACKENDS = ("local", "ray", "dask")
"""Where jobs can be made."""


@dataclass(frozen=True, kw_only=True)
class Crew:
    """Where jobs are made, and how many side by side.

    Alone, the default, they are made in this process, one after the other.

    >>> Crew().alone, Crew(processes=4).alone, Crew(backend="ray").alone
    (True, False, False)
    """

    processes: int | None = (
        None  # the most jobs at once; None: one here, all a cluster has room for
    )
    backend: str = "local"
    address: str | None = None  # of a cluster; None: where its own environment variable says
    attempts: int = 3  # the most workers that may die of one job

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise TabnasError(
                f"the backend must be one of {', '.join(BACKENDS)}, however {self.backend!r} was "
                f"given; {did_you_mean(self.backend, BACKENDS)}"
            )
        if self.processes is not None:
            whole("processes", self.processes, least=1)
        whole("attempts", self.attempts, least=1)
        if self.backend == "local" and self.address is not None:
            raise TabnasError(
                f"an address must be that of a cluster, however {self.address!r} was given for "
                "jobs on this machine; name the backend ray or dask, or leave the address out"
            )

    @property
    def alone(self) -> bool:
        """Whether this process makes all jobs itself."""
        return self.backend == "local" and self.processes in (None, 1)
