"""Algorithm 1: the SuperNet's weights and the policy, trained in turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.errors import TabnasError
from tabnas.feasible import FeasibleSet
from tabnas.nets import Batch, Examples, NonFiniteLossError, SuperNet, TrainingRows
from tabnas.search._children import CHILDREN
from tabnas.search._divergence import refuse_divergence
from tabnas.search._policy_search import PolicySearch, Round
from tabnas.search._settings import SearchSettings
from tabnas.states import counts, part, refuse_other_names
from tabnas.streams import move_to, position, stream
from tabnas.types import IntArray


class Search(PolicySearch):
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
        training: TrainingRows,
        validation: Examples,
        settings: SearchSettings,
        *,
        engine: str = "compiled",
    ) -> None:
        if not len(training):
            raise TabnasError("a search must have training rows, however there are none")
        net = SuperNet(
            feasible.space,
            training.task,
            optimizer=settings.optimizer,
            seed=settings.seed,
            engine=engine,
            workers=settings.workers,
        )
        super().__init__(feasible, net, validation, settings)
        self.children = CHILDREN[settings.children](
            feasible, warmup=settings.warmup, **settings.children_options
        )
        self.step = 0
        self._batches = training.batches(
            settings.batch_size, seed=settings.seed, workers=settings.workers
        )
        self._streams["children"] = stream(settings.seed, "children")

    @property
    def steps(self) -> int:
        """Weight steps of the whole search."""
        return self.settings.epochs * self._batches.steps_per_epoch

    @property
    def policy_steps(self) -> int:
        """About how many policy steps a search of this length makes."""
        return ceil(self.steps * (1 - self.settings.frozen_share) / self.settings.every)

    @property
    def progress(self) -> float:
        return self.step / self.steps

    def run(self, observe: Callable[[Round], None] | None = None) -> None:
        """Search to the end, from where it stands; `observe` is told of every round.

        A weight step whose loss or gradient is not finite moves nothing and is counted in the
        history; too many of them end the search with a `SearchDivergedError`.
        """
        while self.step < self.steps:
            frozen = self.progress < self.settings.frozen_share
            loss = self._train()
            look = None if frozen else self.learn(self.step)
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
        step = int(counts(state, "step", most=self.steps))
        places = part(state, "stream")
        refuse_other_names(places, self._streams)
        self.net.load_state(part(state, "net"))
        self.controller.load_state(part(state, "controller"))
        self.history.load_state(part(state, "history"), self.feasible.space)
        for name, place in places.items():
            move_to(self._streams[name], place)
        self.step = step

    def _train(self) -> float | None:
        """The weight updates of a round; returns the mean loss of those that were made."""
        workers = self.settings.workers
        count = min(self.settings.every, self.steps - self.step)
        # the policy stands still within a round, so all its children can be drawn together
        drawn = self.children.draw(
            self.progress, self.controller.policy, count * workers, self._streams["children"]
        ).reshape(count, workers, -1)
        losses: list[float] = []
        for children in drawn:
            rate = self.settings.schedule(step=self.step, steps=self.steps)
            batch = self._batches.at(self.step)
            self.step += 1
            if not batch.weight > 0:
                continue  # rows that all weigh nothing have nothing to teach
            try:
                losses.append(self._train_step(children, batch, rate))
                self.history.skipped_in_a_row = 0
            except NonFiniteLossError:  # nothing has moved
                self.history.skip()
                refuse_divergence(self.history, self.steps, rate)
        return sum(losses) / len(losses) if losses else None

    def _train_step(self, children: IntArray, batch: Batch, rate: float) -> float:
        """One weight update by the children x, each on its own rows; returns their loss."""
        if len(children) == 1:
            return self.net.train_step(children[0], batch.examples, batch.rows[0], rate)
        some = list(children[: len(batch.rows)])
        losses = self.net.train_step_workers(some, batch.examples, list(batch.rows), rate)
        return sum(losses) / len(losses)
