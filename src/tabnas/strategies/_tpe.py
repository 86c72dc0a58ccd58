"""Optuna's TPE: what one would do without a strategy that knows the limit."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

from tabnas.errors import TabnasError
from tabnas.feasible import FeasibleSet
from tabnas.strategies._batches import rows
from tabnas.strategies._exploring import StuckError
from tabnas.strategies._strategy import Strategy
from tabnas.types import BoolArray, FloatArray, IntArray

MOST_INFEASIBLE = 1_000
"""Infeasible trials in a row before it is said that no feasible one is found: each costs Optuna
more time than the one before, as it goes through all of them every time."""


class TPE(Strategy):
    """Tree-structured Parzen estimators of Optuna, with one categorical parameter a layer.

    Optuna knows no hard limit. As its maintainers advise, a trial beyond it is pruned before it is
    looked at: the sampler takes it for a bad one, and no look is spent. `sampler_options` go to
    `optuna.samplers.TPESampler`; all else is as Optuna has it. With `ordered`, a layer's parameter
    is the place in its list of candidates instead, and neighbours are alike.
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
        optuna = _optuna()
        seed = int(self.rng.integers(2**32))
        sampler = optuna.samplers.TPESampler(seed=seed, **(sampler_options or {}))
        self.ordered = ordered
        self._study = _quiet_study(optuna, sampler)
        self._pruned = optuna.trial.TrialState.PRUNED
        self._asked: dict[tuple[int, ...], deque[Any]] = {}  # trials that wait for their quality
        self._infeasible = 0  # in a row

    def suggest(self) -> IntArray:
        if self._infeasible >= MOST_INFEASIBLE:
            raise StuckError(
                f"TPE suggested {self._infeasible:,} infeasible architectures in a row after "
                f"{self.looks:,} looks; a strategy that draws from the feasible set cannot"
            )
        trial = self._study.ask()
        choices = tuple(
            trial.suggest_int(f"layer {i}", 0, len(layer) - 1)
            if self.ordered
            else layer.index(trial.suggest_categorical(f"layer {i}", layer))
            for i, layer in enumerate(self.feasible.space.candidates, start=1)
        )
        self._asked.setdefault(choices, deque()).append(trial)
        return np.array([choices])

    def counts(self, choices: IntArray) -> BoolArray:
        return self.feasible.contains(choices)

    def update(self, choices: IntArray, quality: FloatArray) -> None:
        super().update(choices, quality)
        inside = self.feasible.contains(np.asarray(choices))
        for row, value, counted in zip(rows(np.asarray(choices)), quality, inside, strict=True):
            waiting = self._asked.get(row)
            if not counted:
                self._infeasible += 1
                if waiting:
                    self._study.tell(waiting.popleft(), state=self._pruned)
            elif np.isfinite(value):
                self._infeasible = 0
                if waiting:
                    self._study.tell(waiting.popleft(), float(value))


def _optuna() -> ModuleType:
    try:
        import optuna
    except ImportError:
        raise TabnasError(
            "the strategy 'tpe' needs Optuna, however it is not installed: "
            "pip install 'tabnas[paper]'"
        ) from None
    return optuna


def _quiet_study(optuna: ModuleType, sampler: Any) -> Any:
    """A study to be maximised, without the line that Optuna logs for each new one."""
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        return optuna.create_study(direction="maximize", sampler=sampler)
    finally:
        optuna.logging.set_verbosity(verbosity)
