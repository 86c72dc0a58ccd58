"""Means with their intervals, and paired comparisons of regrets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import wilcoxon

from tabnas.streams import stream
from tabnas.types import FloatArray

RESAMPLES = 4_000
NEAR = 2.0
"""Standard deviations from seed to seed: nearer cannot be told from the best by one training."""


def described(regrets: Sequence[float] | FloatArray) -> dict[str, Any]:
    """The mean with half of its 95 % interval, and how many are near the best."""
    values = np.asarray(regrets, np.float64)
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return {
        "runs": len(values),
        "mean": float(values.mean()),
        "interval": 1.96 * spread / len(values) ** 0.5,
        "near": float((values <= NEAR).mean()),
    }


def compared(
    regrets: Mapping[tuple[Any, ...], float], base: Mapping[tuple[Any, ...], float]
) -> dict[str, Any]:
    """How much more regret than the base, run by run of the same name.

    A name is a table, a limit and a seed. The interval is a bootstrap over seeds within each table
    and limit, so it speaks of these tables and limits; `p` is Wilcoxon's signed-rank test.
    """
    names = sorted(name for name in regrets if name in base)
    more = np.array([regrets[name] - base[name] for name in names])
    cells = [name[:-1] for name in names]
    rng = stream(0, "paired")
    means = np.zeros(RESAMPLES)
    for cell in dict.fromkeys(cells):
        own = more[[one == cell for one in cells]]
        means += own[rng.integers(len(own), size=(RESAMPLES, len(own)))].sum(axis=1)
    low, high = np.quantile(means / len(more), [0.025, 0.975])
    # without a difference there is nothing to rank
    p = float(wilcoxon(more).pvalue) if more.any() else 1.0
    return {"more": float(more.mean()), "low": float(low), "high": float(high), "p": p}


def mean_text(said: Mapping[str, Any]) -> str:
    """`0.31 ± 0.12, 95%`: mean, interval, how many are near."""
    return f"{said['mean']:.2f} ± {said['interval']:.2f}, {said['near']:.0%}"


def more_text(said: Mapping[str, Any]) -> str:
    """`+0.31 (0.12 to 0.50)`."""
    return f"{said['more']:+.2f} ({said['low']:+.2f} to {said['high']:+.2f})"


def p_text(p: float) -> str:
    """Three digits."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def verdict_text(compared_ones: Mapping[str, Mapping[str, Any]]) -> str:
    """Which of the named comparisons show a difference: those whose interval leaves out 0."""
    worse = [name for name, more in compared_ones.items() if more["low"] > 0]
    better = [name for name, more in compared_ones.items() if more["high"] < 0]
    alike = [name for name in compared_ones if name not in worse and name not in better]
    kinds = (("Worse", worse), ("Better", better), ("No difference seen", alike))
    return " ".join(f"{kind}: {'; '.join(names) or 'none'}." for kind, names in kinds)
