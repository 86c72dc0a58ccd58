"""Optuna's TPE, a common strategy that does not know the limit."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

from tabnas.errors import TabNASError
from tabnas.feasible import FeasibleSet
from tabnas.strategies._batch_strategy import to_tuples
from tabnas.strategies._optimize import StuckError
from tabnas.strategies._strategy import Strategy
from tabnas.types import BoolArray, FloatArray, IntArray

MAX_INFEASIBLE = 1_000
"""Consecutive infeasible trials before a `StuckError`. Each takes Optuna longer than the last one,
since it reads all of them every time."""


class TPE(Strategy):
    """Optuna's tree-structured Parzen estimator with one categorical parameter per layer.

    Optuna has no hard limits. As its maintainers advise, an infeasible trial is pruned before its
    evaluation: the sampler treats it as a bad one, and no evaluation is spent. `sampler_options`
    are passed to `optuna.samplers.TPESampler`. With `ordered`, the parameter of a layer is an
    integer, the index into its candidates, instead of a category.
    """

    name = "tpe"

    def __init__(
        self,
        feasible: FeasibleSet,
        *,
        rng: np.random.Generator | int,
        ordered: bool = False,
        sampler_options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(feasible, rng=rng)
        optuna = _import_optuna()
        seed = int(self.rng.integers(2**32))
        sampler = optuna.samplers.TPESampler(seed=seed, **(sampler_options or {}))
        self.ordered = ordered
        self._study = _create_study(optuna, sampler)
        self._pruned = optuna.trial.TrialState.PRUNED
        self._trials: dict[tuple[int, ...], deque[Any]] = {}  # trials without a quality
        self._infeasible = 0  # in a row

    def suggest(self) -> IntArray:
        if self._infeasible >= MAX_INFEASIBLE:
            raise StuckError(
                f"TPE suggested {self._infeasible:,} infeasible architectures in a row after "
                f"{self.n_evaluations:,} evaluations; use a strategy that samples from the "
                "feasible set"
            )
        trial = self._study.ask()
        choices = tuple(
            trial.suggest_int(f"layer {i}", 0, len(layer) - 1)
            if self.ordered
            else layer.index(trial.suggest_categorical(f"layer {i}", layer))
            for i, layer in enumerate(self.feasible.space.layers, start=1)
        )
        self._trials.setdefault(choices, deque()).append(trial)
        return np.array([choices])

    def needs_evaluation(self, choices: IntArray) -> BoolArray:
        return self.feasible.contains(choices)

    def update(self, choices: IntArray, quality: FloatArray) -> None:
        super().update(choices, quality)
        inside = self.feasible.contains(np.asarray(choices))
        for row, value, is_feasible in zip(
            to_tuples(np.asarray(choices)), quality, inside, strict=True
        ):
            waiting = self._trials.get(row)
            if not is_feasible:
                self._infeasible += 1
                if waiting:
                    self._study.tell(waiting.popleft(), state=self._pruned)
            elif np.isfinite(value):
                self._infeasible = 0
                if waiting:
                    self._study.tell(waiting.popleft(), float(value))


def _import_optuna() -> ModuleType:
    try:
        import optuna
    except ImportError:
        raise TabNASError(
            "the strategy 'tpe' needs Optuna, which is not installed: pip install 'tabnas[paper]'"
        ) from None
    return optuna


def _create_study(optuna: ModuleType, sampler: Any) -> Any:
    """Create a study that maximizes, without the line that Optuna logs for each new one."""
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        return optuna.create_study(direction="maximize", sampler=sampler)
    finally:
        optuna.logging.set_verbosity(verbosity)
