"""Independent jobs, run in this process, in several processes, or on a Ray or Dask cluster."""

from __future__ import annotations

from tabnas.jobs._config import BACKENDS, JobConfig
from tabnas.jobs._run_jobs import check_cluster, run_jobs

__all__ = ["BACKENDS", "JobConfig", "check_cluster", "run_jobs"]
