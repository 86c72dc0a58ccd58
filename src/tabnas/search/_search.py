"""Algorithm 1: the SuperNet's weights and the policy, trained in turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.errors import TabnasError
from tabnas.feasible import FeasibleSet
from tabnas.nets import Examples, Shuffle, SuperNet
from tabnas.policy import REWARDS, Controller
from tabnas.search._children import CHILDREN
from tabnas.search._history import History, Look
from tabnas.search._settings import SearchSettings
from tabnas.streams import move_to, position, stream
from tabnas.types import IntArray


@dataclass(frozen=True, eq=False)
class Round:
    """What an observer is told: some weight steps, then perhaps one policy step."""

    step: int  # weight steps done so far
    loss: float  # mean training loss of the children of this round
    look: Look | None  # None while the policy is frozen


class Search:
    """One search: `run()` it, then ask its policy, its history and its net.

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
            baseline=settings.baseline,
            average_first=settings.average_first,
        )
        self.history = History()
        self.step = 0
        rows_of_a_step = settings.batch_size * settings.workers
        self._shuffle = Shuffle(len(training), rows_of_a_step, settings.seed)
        self._streams = {name: stream(settings.seed, name) for name in ("children", "validation")}

    @property
    def steps(self) -> int:
        """Weight steps of the whole search."""
        return self.settings.epochs * self._shuffle.steps_per_epoch

    @property
    def progress(self) -> float:
        """How much of the search is done, from 0 to 1."""
        return self.step / self.steps

    def run(self, observe: Callable[[Round], None] | None = None) -> None:
        """Search to the end, from where it stands; `observe` is told of every round."""
        while self.step < self.steps:
            frozen = self.progress < self.settings.warmup
            loss = self._train()
            look = None if frozen else self._learn()
            if look is not None:
                self.history.add(look)
            if observe is not None:
                observe(Round(self.step, loss, look))

    def state(self) -> dict[str, NDArray[Any]]:
        """All that shapes the future, as plain arrays; taken between rounds."""
        parts = {
            "net": self.net.state(),
            "controller": self.controller.state(),
            "history": self.history.state(),
            "stream": {name: position(rng) for name, rng in self._streams.items()},
        }
        named = {
            f"{part}/{key}": value for part, held in parts.items() for key, value in held.items()
        }
        return {"step": np.array(self.step, np.int64)} | named

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on where a search of the same data and settings stood."""

        def part(name: str) -> dict[str, NDArray[Any]]:
            begin = f"{name}/"
            return {k.removeprefix(begin): v for k, v in state.items() if k.startswith(begin)}

        self.net.load_state(part("net"))
        self.controller.load_state(part("controller"))
        self.history.load_state(part("history"))
        for name, place in part("stream").items():
            move_to(self._streams[name], place)
        self.step = int(state["step"])

    def _train(self) -> float:
        """The weight updates of a round: children x, each on its own rows; returns their loss."""
        workers = self.settings.workers
        count = min(self.settings.every, self.steps - self.step)
        # the policy stands still within a round, so all its children can be drawn together
        drawn = self.children.draw(
            self.progress, self.controller.policy, count * workers, self._streams["children"]
        ).reshape(count, workers, -1)
        total = 0.0
        for children in drawn:
            rate = self.settings.schedule(step=self.step, steps=self.steps)
            rows = self._shuffle.rows(self.step)
            weight = self.training.weight
            if len(weight) and not weight[rows].any():
                pass  # rows that all weigh nothing have nothing to teach
            elif workers == 1:
                total += self.net.train_step(children[0], self.training, rows, rate)
            else:
                parts = [part for part in np.array_split(rows, workers) if len(part)]
                some = list(children[: len(parts)])
                losses = self.net.train_step_workers(some, self.training, parts, rate)
                total += sum(losses) / len(losses)
            self.step += 1
        return total / count

    def _learn(self) -> Look:
        """A policy update: architectures y, the quality of each on one validation batch."""
        choices = self.controller.suggest()
        rows = self._validation_rows()
        quality = np.full(len(choices), np.nan)
        for k in np.nonzero(self.controller.counts(choices))[0]:
            quality[k] = 1 - self.net.loss(choices[k], self.validation, rows)
        self.controller.update(choices, quality)
        return Look(self.step, choices, quality)

    def _validation_rows(self) -> IntArray | slice:
        """The rows on which one policy step compares its architectures.

        NOTE[DIFF]: the paper's workers have a validation batch each. Here they share one, so that
        what differs between them is the architecture and not the difficulty of the rows.
        """
        size = self.settings.look_rows or self.settings.batch_size
        if size >= len(self.validation):
            return slice(None)
        return self._streams["validation"].integers(len(self.validation), size=size)
