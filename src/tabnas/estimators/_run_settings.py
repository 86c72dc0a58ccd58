"""An estimator's parameters as the settings of a run."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from tabnas.errors import TabNASError, check_int
from tabnas.settings import RunSettings, Shares, get_settings
from tabnas.threads import available_threads

DEFAULT_LIMITS = {"parameters": 20_000}


def limit_names(kind: type) -> list[str]:
    """Return the costs that have a parameter `max_...` in this class of estimator."""
    parameters = signature(kind).parameters
    return [name.removeprefix("max_") for name in parameters if name.startswith("max_")]


def make_run_settings(
    estimator: Any, kinds: dict[str, str], *, has_groups: bool = False
) -> RunSettings:
    """Return the settings of a run for the parameters of an estimator, which are checked here."""
    names = limit_names(type(estimator))
    limits = {name: getattr(estimator, f"max_{name}") for name in names}
    limits = {name: upper for name, upper in limits.items() if upper is not None}
    parameters = signature(type(estimator)).parameters
    values = {
        setting.name: getattr(estimator, setting.name)
        for setting in get_settings(RunSettings)
        if setting.name in parameters
    }
    if not isinstance(values["teacher"], str):
        values["teacher"] = "own"
    if isinstance(values.get("class_weight"), Mapping):
        values["class_weight"] = None  # weights by class become weights of rows
    if values["latency_table"] is not None:
        values["latency_table"] = str(values["latency_table"])
    return RunSettings(
        **values,
        limits=limits or DEFAULT_LIMITS,
        shares=Shares(validation=estimator.validation_fraction, test=0.0),
        split="group" if has_groups else "random",
        kinds=kinds,
        reference_models=False,
        seed=resolve_seed(estimator.random_state),
    )


def resolve_seed(random_state: Any) -> int:
    """Return an integer as it is, and otherwise sample a seed.

    >>> resolve_seed(7)
    7
    """
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return check_int("random_state", int(random_state), minimum=0)
    return int(check_random_state(random_state).randint(2**31 - 1))


def resolve_n_jobs(n_jobs: int | None) -> int | None:
    """Return the number of threads: None for all that the machine allows, one fewer for -2, ...

    >>> resolve_n_jobs(None), resolve_n_jobs(3)
    (None, 3)
    """
    if n_jobs is None:
        return None
    is_int = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool)
    if not is_int or n_jobs == 0:
        raise TabNASError(
            f"n_jobs must be a number of threads, or None or -1 for all cores, got {n_jobs!r}"
        )
    return int(n_jobs) if n_jobs > 0 else max(1, available_threads() + 1 + int(n_jobs))
