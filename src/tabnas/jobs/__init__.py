"""Independent jobs, made here or on a cluster: a laptop's cores, Ray and Dask are one setting."""

from __future__ import annotations

from tabnas.jobs._crew import BACKENDS, Crew
from tabnas.jobs._made import made, refuse_unreachable

__all__ = ["BACKENDS", "Crew", "made", "refuse_unreachable"]
