"""Figures of the experiments, drawn with matplotlib and saved as PNG and SVG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tabnas.errors import TabNASError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OURS_COLOR, THEIRS_COLOR, GRAY = "#1b6ca8", "#c8553d", "#9a9a9a"
OTHER_COLORS = ("#c8553d", "#6a994e", "#8e6c8a", "#e09f3e", "#4a7c8c", "#7f5539", "#b56576")
"""Colors of what is compared with ours, in the order of appearance."""


def require_matplotlib() -> None:
    """Raise an error with the command that installs matplotlib, unless it is installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise TabNASError("figures need matplotlib: pip install 'tabnas[paper]'") from None


def make_figure(rows: int, columns: int, *, size: tuple[float, float]) -> tuple[Figure, np.ndarray]:
    """Return a figure and its array of `rows` x `columns` axes."""
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False)


def make_panels(
    count: int, *, width: float, height: float, hidden: int = 0
) -> tuple[Figure, list[Axes]]:
    """Return a figure of `count` axes, at most three in a row; the last `hidden` have no frame."""
    columns = min(3, count)
    rows = -(-count // columns)
    figure, grid = make_figure(rows, columns, size=(width * columns, height * rows))
    axes: list[Axes] = grid.ravel().tolist()
    for axis in axes[count - hidden :]:
        axis.set_axis_off()
    return figure, axes


def save_figure(figure: Figure, path: Path) -> None:
    """Save a figure as `path`.png and `path`.svg, without dates, so that files are reproducible."""
    from matplotlib import rc_context

    figure.savefig(path.with_suffix(".png"), dpi=150)
    with rc_context({"svg.hashsalt": "tabnas"}):  # otherwise ids inside are random
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})


def set_log_ticks(axis: Axes, form: str) -> None:
    """Make the x-axis logarithmic, with ticks at 1, 2 and 5 times powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.set_xscale("log")
    axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.xaxis.set_major_formatter(StrMethodFormatter(form))
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.tick_params(axis="x", labelrotation=45)
