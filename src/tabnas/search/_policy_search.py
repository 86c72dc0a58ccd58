"""The policy half of a search: trains a policy on a SuperNet without changing its weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tabnas.errors import TabNASError, check_int
from tabnas.feasible import FeasibleSet
from tabnas.nets import Examples, SuperNet
from tabnas.policy import REWARDS, Controller
from tabnas.search._history import Evaluation, History
from tabnas.search._settings import SearchSettings
from tabnas.streams import stream
from tabnas.types import IntArray


@dataclass(frozen=True, eq=False)
class StepRecord:
    """What a callback receives: the outcome of some weight steps and at most one policy step."""

    step: int  # weight steps so far
    loss: float | None  # mean training loss since the last record; None: no step was taken
    evaluation: Evaluation | None  # None while the policy is frozen


class PolicySearch(ABC):
    """Trains a policy over a feasible set by evaluating children of a SuperNet."""

    def __init__(
        self,
        feasible: FeasibleSet,
        net: SuperNet,
        validation: Examples,
        settings: SearchSettings,
    ) -> None:
        if not len(validation):
            raise TabNASError("a search must have validation rows, got none")
        self.feasible = feasible
        self.net = net
        self.validation = validation
        self.settings = settings
        self.controller = Controller(
            REWARDS[settings.reward](feasible, **settings.reward_options),
            settings.policy_optimizer,
            rng=stream(settings.seed, "policy"),
            workers=settings.evaluations_per_step,
            baseline=settings.baseline,
            update_baseline_first=settings.update_baseline_first,
        )
        self.history = History()
        self._streams = {"validation": stream(settings.seed, "validation")}

    @property
    @abstractmethod
    def progress(self) -> float:
        """The share of the search that is done, from 0 to 1."""

    def policy_step(self, step: int) -> Evaluation:
        """Sample architectures y, evaluate them on a validation batch, and update the policy.

        A child whose loss is not finite gets the lowest quality so far. This avoids NaN in the
        average, and steps so large that nothing is learned after them. Without a finite quality so
        far, the policy is not updated.
        """
        choices = self.controller.suggest()
        rows = self._validation_rows()
        quality = np.full(len(choices), np.nan)
        evaluated = self.controller.needs_evaluation(choices)
        losses = self.net.losses(list(choices[evaluated]), self.validation, rows)
        quality[evaluated] = 1 - np.array(losses)
        bad = evaluated & ~np.isfinite(quality)
        if bad.any():
            known = np.append(quality[np.isfinite(quality)], self.history.min_quality())
            quality[bad] = np.nanmin(known) if np.isfinite(known).any() else np.nan
        if np.isfinite(quality[evaluated]).all():
            self.controller.update(choices, quality)
        evaluation = Evaluation(step, choices, quality)
        self.history.add(evaluation)
        return evaluation

    def _validation_rows(self) -> IntArray | slice:
        """Return the rows on which one policy step compares its architectures.

        NOTE[DIFF]: the paper's workers each have their own validation batch. Here they share one,
        so that qualities differ by the architecture and not by the difficulty of the rows.
        """
        size = self.settings.validation_batch_size or self.settings.batch_size
        if size >= len(self.validation):
            return slice(None)
        return self._streams["validation"].integers(len(self.validation), size=size)


class FixedWeightsSearch(PolicySearch):
    """Trains a policy for another limit on the SuperNet of a finished search.

    The weights do not change, so this takes a small share of the search's time.
    """

    def __init__(
        self,
        feasible: FeasibleSet,
        net: SuperNet,
        validation: Examples,
        settings: SearchSettings,
        *,
        steps: int,
    ) -> None:
        super().__init__(feasible, net, validation, settings)
        self.steps = check_int("steps", steps, minimum=1)
        self.step = 0

    @property
    def progress(self) -> float:
        return self.step / self.steps

    def run(self, callback: Callable[[StepRecord], None] = lambda record: None) -> None:
        """Train the policy to the end; call `callback` after every policy step."""
        while self.step < self.steps:
            self.step += 1
            callback(StepRecord(self.step, None, self.policy_step(self.step)))
