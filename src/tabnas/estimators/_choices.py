"""An estimator's parameters as the settings of a run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from inspect import signature
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from tabnas.data import Shares
from tabnas.errors import TabNASError, check_int
from tabnas.runs import RunSettings


def limited(kind: type) -> list[str]:
    """The costs that a kind of estimator has a parameter `max_...` for."""
    parameters = signature(kind).parameters
    return [name.removeprefix("max_") for name in parameters if name.startswith("max_")]


def run_settings(estimator: Any, kinds: dict[str, str]) -> RunSettings:
    """What the parameters say; scikit-learn has them checked when fitting, not before."""
    names = limited(type(estimator))
    limits = {name: getattr(estimator, f"max_{name}") for name in names}
    limits = {name: most for name, most in limits.items() if most is not None}
    if not limits:
        raise TabNASError(
            "at least one limit must be set, but all are None; set one of "
            + ", ".join(f"max_{name}" for name in names)
        )
    class_weight = getattr(estimator, "class_weight", None)
    return RunSettings(
        limits=limits,
        latency_table=None if estimator.latency_table is None else str(estimator.latency_table),
        layers=estimator.layers,
        widths=estimator.widths,
        metric=estimator.metric,
        # weights by class become weights of rows
        class_weight=None if isinstance(class_weight, Mapping) else class_weight,
        shares=Shares(validation=estimator.validation_fraction, test=0.0),
        kinds=kinds,
        time=estimator.time,
        candidates=estimator.candidates,
        refit=bool(estimator.refit),
        baselines=False,
        seed=seed_of(estimator.random_state),
        workers=workers_of(estimator.n_jobs),
    )


def seed_of(random_state: Any) -> int:
    """The seed itself, or one drawn.

    >>> seed_of(7)
    7
    """
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return check_int("random_state", int(random_state), minimum=0)
    return int(check_random_state(random_state).randint(2**31 - 1))


def workers_of(n_jobs: int | None) -> int:
    """None is one; -1 is as many as there are cores, -2 one fewer, and so on.

    >>> workers_of(None), workers_of(3)
    (1, 3)
    """
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, int | np.integer) and n_jobs < 0:
        return max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))
    return check_int("n_jobs", n_jobs, minimum=1)
