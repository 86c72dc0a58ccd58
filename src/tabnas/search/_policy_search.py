"""The half of a search that learns: a policy, on a SuperNet whose weights it does not touch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tabnas.errors import TabnasError, whole
from tabnas.feasible import FeasibleSet
from tabnas.nets import Examples, SuperNet
from tabnas.policy import REWARDS, Controller
from tabnas.search._history import History, Look
from tabnas.search._settings import SearchSettings
from tabnas.streams import stream
from tabnas.types import IntArray


@dataclass(frozen=True, eq=False)
class Round:
    """What an observer is told: some weight steps, then perhaps one policy step."""

    step: int  # steps done so far
    loss: float | None  # mean training loss of this round's children; None: no step was taken
    look: Look | None  # None while the policy is frozen


class PolicySearch(ABC):
    """A policy over one feasible set that looks at a SuperNet's children on validation rows."""

    def __init__(
        self,
        feasible: FeasibleSet,
        net: SuperNet,
        validation: Examples,
        settings: SearchSettings,
    ) -> None:
        if not len(validation):
            raise TabnasError("a search must have validation rows, however there are none")
        self.feasible = feasible
        self.net = net
        self.validation = validation
        self.settings = settings
        self.controller = Controller(
            REWARDS[settings.reward](feasible, **settings.reward_options),
            settings.ascent,
            rng=stream(settings.seed, "policy"),
            workers=settings.looks,
            baseline=settings.baseline,
            average_first=settings.average_first,
        )
        self.history = History()
        self._streams = {"validation": stream(settings.seed, "validation")}

    @property
    @abstractmethod
    def progress(self) -> float:
        """How much of the search is done, from 0 to 1."""

    def learn(self, step: int) -> Look:
        """A policy update: architectures y, the quality of each on one validation batch.

        One whose loss is not finite counts as the worst seen so far: bad news, but no NaN in the
        average, and no step so long that nothing is learned after it. Without one to compare with,
        there is nothing to learn, and the policy stays.
        """
        choices = self.controller.suggest()
        rows = self._validation_rows()
        quality = np.full(len(choices), np.nan)
        counts = self.controller.counts(choices)
        losses = self.net.losses(list(choices[counts]), self.validation, rows)
        quality[counts] = 1 - np.array(losses)
        bad = counts & ~np.isfinite(quality)
        if bad.any():
            seen = np.append(quality[np.isfinite(quality)], self.history.worst())
            quality[bad] = np.nanmin(seen) if np.isfinite(seen).any() else np.nan
        if np.isfinite(quality[counts]).all():
            self.controller.update(choices, quality)
        look = Look(step, choices, quality)
        self.history.add(look)
        return look

    def _validation_rows(self) -> IntArray | slice:
        """The rows on which one policy step compares its architectures.

        NOTE[DIFF]: the paper's workers have a validation batch each. Here they share one, so that
        what differs between them is the architecture and not the difficulty of the rows.
        """
        size = self.settings.look_rows or self.settings.batch_size
        if size >= len(self.validation):
            return slice(None)
        return self._streams["validation"].integers(len(self.validation), size=size)


class FrozenSearch(PolicySearch):
    """A policy of its own for another limit, on the SuperNet of a search that is over.

    Nothing is trained but the policy, so it takes a small share of the search's time.
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
        self.steps = whole("steps", steps, least=1)
        self.step = 0

    @property
    def progress(self) -> float:
        return self.step / self.steps

    def run(self, observe: Callable[[Round], None] = lambda now: None) -> None:
        """Learn to the end; `observe` is told of every policy step."""
        while self.step < self.steps:
            self.step += 1
            observe(Round(self.step, None, self.learn(self.step)))
