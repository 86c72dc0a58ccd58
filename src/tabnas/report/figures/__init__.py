"""The figures of the reports, one file each: a drawing, its text and its table."""

from __future__ import annotations

from tabnas.report.figures._c_size import tabulate_c_size
from tabnas.report.figures._candidates import draw_candidates
from tabnas.report.figures._confusion import draw_confusion
from tabnas.report.figures._curve import draw_curve
from tabnas.report.figures._feasible_probability import draw_feasible_probability
from tabnas.report.figures._heat_maps import draw_heat_maps
from tabnas.report.figures._importance import draw_importance
from tabnas.report.figures._limits import draw_limits
from tabnas.report.figures._network import draw_network
from tabnas.report.figures._networks import draw_networks
from tabnas.report.figures._numeric_curves import draw_numeric_curves
from tabnas.report.figures._one_shot_calibration import draw_one_shot_calibration
from tabnas.report.figures._quality import draw_quality
from tabnas.report.figures._reliability import draw_reliability
from tabnas.report.figures._residuals import draw_residuals
from tabnas.report.figures._scores import draw_scores
from tabnas.report.figures._teacher import draw_teacher

__all__ = [
    "draw_candidates",
    "draw_confusion",
    "draw_curve",
    "draw_feasible_probability",
    "draw_heat_maps",
    "draw_importance",
    "draw_limits",
    "draw_network",
    "draw_networks",
    "draw_numeric_curves",
    "draw_one_shot_calibration",
    "draw_quality",
    "draw_reliability",
    "draw_residuals",
    "draw_scores",
    "draw_teacher",
    "tabulate_c_size",
]
