"""The figures of the toy experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tabnas.errors import TabnasError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tabnas.paper._toy import Toy, ToyRun

OURS, THEIRS, RULED_OUT = "#1b6ca8", "#c8553d", "#9a9a9a"


def figure(rows: int, columns: int, *, size: tuple[float, float]) -> tuple[Figure, np.ndarray]:
    """A figure of `rows` x `columns` axes, or a word on what to install."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise TabnasError("figures need matplotlib: pip install 'tabnas[paper]'") from None
    drawn = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(drawn)
    return drawn, drawn.subplots(rows, columns, squeeze=False)


def heat_maps(toy: Toy, rows: Sequence[tuple[str, ToyRun]], path: Path) -> None:
    """Figure 1: where the probability lies at each step, averaged over the seeds."""
    steps = toy.settings["shown"]
    drawn, axes = figure(len(rows), len(steps) + 1, size=(2.3 * (len(steps) + 1), 2.3 * len(rows)))
    costs = (toy.feasible.load(toy.every) * toy.feasible.budget.limits[0].at_most).round()
    for row, (title, run) in enumerate(rows):
        axis = axes[row, 0]
        cells = [
            f"{int(cost)}\nloss {loss:g}"
            for cost, loss in zip(costs, toy.losses.ravel(), strict=True)
        ]
        _cells(toy, axis, np.zeros(len(toy.every)), cells)
        axis.set_title("parameters, loss" if row == 0 else "", fontsize=9)
        axis.set_ylabel(f"{title}\nfirst layer", fontsize=9)
        for column, step in enumerate(steps, start=1):
            p = run.probabilities[step]  # [seeds, layers, choices]
            joint = p[:, 0, toy.every[:, 0]] * p[:, 1, toy.every[:, 1]]
            if run.rejects:
                joint = np.where(toy.inside, joint, 0)
                joint /= joint.sum(axis=1, keepdims=True)
            mean = joint.mean(axis=0)
            axis = axes[row, column]
            _cells(toy, axis, mean, [f"{100 * value:.0f}%" for value in mean])
            axis.set_title(f"step {step}" if row == 0 else "", fontsize=9)
        for axis in axes[row]:
            axis.set_xlabel("second layer" if row == len(rows) - 1 else "", fontsize=9)
    drawn.suptitle(
        f"Probability of each architecture, mean of {toy.seeds} runs; "
        "hatched: over the limit; bold: the optimum",
        fontsize=10,
    )
    drawn.savefig(path, dpi=150)


def _cells(toy: Toy, axis: Axes, values: np.ndarray, texts: Sequence[str]) -> None:
    from matplotlib.patches import Rectangle

    side = len(toy.losses)
    axis.imshow(values.reshape(side, side), cmap="Blues", vmin=0, vmax=1)
    for k, (i, j) in enumerate(toy.every):
        dark = values[k] > 0.6
        axis.text(j, i, texts[k], ha="center", va="center", fontsize=8, color="w" if dark else "k")
        if not toy.inside[k]:
            corner = (j - 0.5, i - 0.5)
            axis.add_patch(
                Rectangle(corner, 1, 1, fill=False, hatch="//", edgecolor=RULED_OUT, lw=0)
            )
        if k == toy.optimum:
            axis.add_patch(Rectangle((j - 0.48, i - 0.48), 0.96, 0.96, fill=False, lw=2.5))
    widths = toy.space.candidates
    axis.set_xticks(range(side), map(str, widths[1]))
    axis.set_yticks(range(side), map(str, widths[0]))
    axis.tick_params(length=0, labelsize=8)


def tuning(
    toy: Toy,
    by_beta: Mapping[float, ToyRun],
    by_samples: Mapping[int, ToyRun],
    exact: ToyRun,
    exact_rejecting: ToyRun,
    path: Path,
) -> None:
    """Success against beta and against N, with the exact policy beside it."""
    drawn, axes = figure(1, 2, size=(9, 3.6))
    left, right = axes[0]
    _curve(left, [-beta for beta in by_beta], list(by_beta.values()), toy, THEIRS, "Abs")
    left.set(xlabel="|beta|", title="Abs reward", xscale="log")
    infeasible = [(~toy.inside[run.found]).mean() for run in by_beta.values()]
    betas = [-beta for beta in by_beta]
    left.plot(betas, infeasible, ":", color=RULED_OUT, label="ends infeasible")
    _curve(right, list(by_samples), list(by_samples.values()), toy, OURS, "Monte Carlo")
    for run, style, label in (
        (exact, "--", "exact, y drawn from V"),
        (exact_rejecting, ":", "exact, y drawn from the policy"),
    ):
        right.axhline(float((run.found == toy.optimum).mean()), color=OURS, ls=style, label=label)
    right.set(xlabel="Monte Carlo samples N", title="Rejection", xscale="log")
    for axis in (left, right):
        axis.set(ylim=(-0.03, 1.03), ylabel="share of runs")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8, frameon=False, loc="center left" if axis is left else "lower right")
    drawn.savefig(path, dpi=150)


def _curve(
    axis: Axes, x: Sequence[float], runs: Sequence[ToyRun], toy: Toy, color: str, label: str
) -> None:
    """The share of runs that end on the optimum; shaded, the probability it has, mean ± std."""
    success = [(run.found == toy.optimum).mean() for run in runs]
    mean = np.array([run.optimum_probability.mean() for run in runs])
    std = np.array([run.optimum_probability.std() for run in runs])
    axis.plot(x, success, "o-", color=color, label=f"{label}: ends on {toy.name(toy.optimum)}")
    low, high = np.clip(mean - std, 0, 1), np.clip(mean + std, 0, 1)
    axis.fill_between(x, low, high, color=color, alpha=0.15, lw=0, label="its probability, ± std")
