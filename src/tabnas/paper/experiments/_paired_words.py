"""What `_paired` finds, in words: the same in every report that compares runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tabnas.paper.experiments._paired import LEVEL

HOW = (
    "Runs of a table and limit whose seeds leave the same rest by three share the trainings that "
    "choose and judge, so each such group is one observation; intervals are of 95 % by Student's "
    "t, p is of the same test, and *p, Holm* is corrected for the number of rows of its table. A "
    f"difference is called one if that is below {LEVEL}. The defaults were chosen on these tables."
)
"""What every report that compares runs has to say."""
JUDGED = (
    "*Regret*: how much higher the loss is than that of the best architecture within the limit, in "
    "standard deviations from seed to seed of a single training; 2 is what another seed does. What "
    "is returned was chosen by one training of each candidate on the validation rows, and is "
    "judged by the two trainings of the ground truth that had no part in that, so it may be below "
    "0. *Test*: the same on rows that no search and no choice has seen."
)
"""Likewise, of what is judged."""


def mean(said: Mapping[str, Any]) -> str:
    """`0.31 ± 0.12`: mean and interval, if anything is known of it."""
    known = "" if said["interval"] is None else f" ± {said['interval']:.2f}"
    return f"{said['mean']:.2f}{known}"


def more(said: Mapping[str, Any]) -> str:
    """`+0.31 (+0.12 to +0.50)`."""
    return f"{said['more']:+.2f} ({said['low']:+.2f} to {said['high']:+.2f})"


def by_table(said: Mapping[str, Any], tables: Sequence[str]) -> list[str]:
    """`+0.31`, `-0.10`: the differences by table, in this order."""
    return [f"{said['tables'][table]:+.2f}" for table in tables]


def probability(p: float) -> str:
    """Three digits."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def verdict(compared_ones: Mapping[str, Mapping[str, Any]]) -> str:
    """Which of the named comparisons show a difference, by p after Holm's correction."""
    told = {name: more for name, more in compared_ones.items() if more["p_holm"] < LEVEL}
    worse = [name for name, more in told.items() if more["more"] > 0]
    better = [name for name in told if name not in worse]
    alike = [name for name in compared_ones if name not in told]
    kinds = (("Worse", worse), ("Better", better), ("No difference seen", alike))
    return " ".join(f"{kind}: {'; '.join(names) or 'none'}." for kind, names in kinds)
