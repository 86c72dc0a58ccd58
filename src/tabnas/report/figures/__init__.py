"""One matter of the report a file: what is drawn, and the words beside it."""

from __future__ import annotations

from tabnas.report.figures._calibration import one_shot_calibration
from tabnas.report.figures._candidates import candidates
from tabnas.report.figures._confusion import confusion
from tabnas.report.figures._curve import curve
from tabnas.report.figures._feasible_probability import feasible_probability
from tabnas.report.figures._heat_maps import heat_maps
from tabnas.report.figures._importance import importance
from tabnas.report.figures._limits import limits
from tabnas.report.figures._network import network
from tabnas.report.figures._quality import quality
from tabnas.report.figures._reliability import reliability
from tabnas.report.figures._residuals import residuals
from tabnas.report.figures._scores import scores
from tabnas.report.figures._side_by_side import side_by_side

__all__ = [
    "candidates",
    "confusion",
    "curve",
    "feasible_probability",
    "heat_maps",
    "importance",
    "limits",
    "network",
    "one_shot_calibration",
    "quality",
    "reliability",
    "residuals",
    "scores",
    "side_by_side",
]
