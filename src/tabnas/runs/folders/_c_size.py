"""The size of a run's model as C, for those who have a device."""

from __future__ import annotations

from tabnas.errors import TabNASError
from tabnas.results import CSize
from tabnas.runs._finished_run import FinishedRun

DEVICE_COSTS = frozenset({"bytes", "ram_bytes"})
"""Costs that people limit who have a device."""


def measure_for_device(finished: FinishedRun) -> CSize | None:
    """Return the size of the model as C files if the limits are those of a device.

    Such are limits on bytes and RAM, and on latency in C. The size is None for other limits, and
    if the model cannot be exported to C.
    """
    if not DEVICE_COSTS & finished.model.limits.keys() and finished.settings.runtime != "c":
        return None
    from tabnas.export import measure_c_size  # loads ONNX, which few runs need

    try:
        return measure_c_size(finished.model)
    except TabNASError:  # C holds no float16, and not every number of parameters
        return None
