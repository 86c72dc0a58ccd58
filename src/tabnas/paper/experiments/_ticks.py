"""Logarithmic axes that are read without powers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def log_ticks(axis: Axes, form: str) -> None:
    """A logarithmic x-axis with ticks at 1, 2 and 5 times powers of ten, written out."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.set_xscale("log")
    axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.xaxis.set_major_formatter(StrMethodFormatter(form))
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.tick_params(axis="x", labelrotation=45)
