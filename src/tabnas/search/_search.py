"""Algorithm 1: the SuperNet's weights and the policy, trained in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tabnas.errors import TabnasError
from tabnas.feasible import FeasibleSet
from tabnas.nets import Examples, SuperNet, batches, stream
from tabnas.policy import REWARDS, Controller
from tabnas.search._children import CHILDREN
from tabnas.search._settings import SearchSettings
from tabnas.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Look:
    """One glance at architectures during a search: what they were and how good they seemed."""

    step: int
    choices: IntArray  # [looks, layers]
    quality: FloatArray  # [looks]; NaN where an architecture did not count and was not evaluated


class Search:
    """One search: `run()` it, then ask its policy.

    >>> from tabnas import Budget, SearchSpace
    >>> from tabnas.nets import Inputs, Task
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(400, 5)).astype(np.float32)
    >>> task = Task(inputs=Inputs(numeric=5), loss="logistic")
    >>> examples = Examples(task, numeric=x, target=x[:, 0] * x[:, 1] > 0)
    >>> space = SearchSpace.uniform(layers=2, widths=[2, 4, 8], inputs=5, outputs=1)
    >>> feasible = FeasibleSet(space, Budget(parameters=100))
    >>> search = Search(feasible, examples, examples, SearchSettings(epochs=4, batch_size=32))
    >>> search.run()
    >>> search.controller.policy.most_likely()[0] in feasible
    True
    """

    def __init__(
        self,
        feasible: FeasibleSet,
        training: Examples,
        validation: Examples,
        settings: SearchSettings,
        *,
        engine: str = "compiled",
    ) -> None:
        if not (len(training) and len(validation)):
            raise TabnasError("a search must have training and validation rows")
        self.feasible = feasible
        self.training = training
        self.validation = validation
        self.settings = settings
        self.net = SuperNet(
            feasible.space,
            training.task,
            optimizer=settings.optimizer,
            seed=settings.seed,
            engine=engine,
            workers=settings.workers,
        )
        self.children = CHILDREN[settings.children](feasible, **settings.children_options)
        self.controller = Controller(
            REWARDS[settings.reward](feasible, **settings.reward_options),
            settings.ascent,
            rng=stream(settings.seed, "policy"),
            workers=settings.looks,
            average_first=settings.average_first,
        )
        self.step = 0
        self._child_stream = stream(settings.seed, "children")
        self._validation_stream = stream(settings.seed, "validation")

    @property
    def steps(self) -> int:
        """Weight steps of the whole search."""
        rows = self.settings.batch_size * self.settings.workers
        return self.settings.epochs * -(-len(self.training) // rows)

    @property
    def progress(self) -> float:
        """How much of the search is done, from 0 to 1."""
        return self.step / self.steps

    def run(self, observe: Callable[[Look], None] | None = None) -> None:
        """Search to the end; `observe` is told of every policy step."""
        for epoch in range(1, self.settings.epochs + 1):
            for rows in self._batches(epoch):
                self._train(rows)
                if self.progress >= self.settings.warmup and self.step % self.settings.every == 0:
                    look = self._learn()
                    if observe is not None:
                        observe(look)
                self.step += 1

    def _batches(self, epoch: int) -> Iterator[list[IntArray]]:
        """The rows of every step of an epoch, split among the workers."""
        settings = self.settings
        together = settings.batch_size * settings.workers
        for rows in batches(len(self.training), together, settings.seed, epoch):
            yield [part for part in np.array_split(rows, settings.workers) if len(part)]

    def _train(self, rows: list[IntArray]) -> None:
        """A weight update: children x, each on its own rows."""
        rate = self.settings.schedule(step=self.step, steps=self.steps)
        drawn = self.children.draw(
            self.progress, self.controller.policy, len(rows), self._child_stream
        )
        if len(rows) == 1:
            self.net.train_step(drawn[0], self.training, rows[0], rate)
        else:
            self.net.train_step_workers(list(drawn), self.training, rows, rate)

    def _learn(self) -> Look:
        """A policy update: architectures y, the quality of each on one validation batch."""
        choices = self.controller.suggest()
        quality = np.full(len(choices), np.nan)
        for k in np.nonzero(self.controller.counts(choices))[0]:
            rows = self._validation_stream.integers(
                len(self.validation), size=self.settings.batch_size
            )
            quality[k] = 1 - self.net.loss(choices[k], self.validation, rows)
        self.controller.update(choices, quality)
        return Look(self.step, choices, quality)
