"""Figures of the experiments: matplotlib where it is installed, PNG and SVG of each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tabnas.errors import TabNASError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OURS, THEIRS, RULED_OUT = "#1b6ca8", "#c8553d", "#9a9a9a"
OTHERS = ("#c8553d", "#6a994e", "#8e6c8a", "#e09f3e", "#4a7c8c", "#7f5539", "#b56576")
"""Colours of whatever is compared with ours, in the order of their appearance."""


def refuse_without_matplotlib() -> None:
    """A word on what to install, before anything is computed that could not be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise TabNASError("figures need matplotlib: pip install 'tabnas[paper]'") from None


def figure(rows: int, columns: int, *, size: tuple[float, float]) -> tuple[Figure, np.ndarray]:
    """A figure of `rows` x `columns` axes."""
    refuse_without_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    drawn = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(drawn)
    return drawn, drawn.subplots(rows, columns, squeeze=False)


def save(drawn: Figure, path: Path) -> None:
    """The figure as `path`.png and `path`.svg, without dates, so that the same is the same."""
    from matplotlib import rc_context

    drawn.savefig(path.with_suffix(".png"), dpi=150)
    with rc_context({"svg.hashsalt": "tabnas"}):  # else names inside are random
        drawn.savefig(path.with_suffix(".svg"), metadata={"Date": None})
