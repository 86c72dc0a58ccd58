"""Algorithm 1: trains the weights of the SuperNet and the policy in turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabnas.errors import TabNASError
from tabnas.feasible import FeasibleSet
from tabnas.nets import (
    Examples,
    NonFiniteLossError,
    SuperNet,
    TrainingRows,
    collect_stretch,
    count_steps,
)
from tabnas.search._child_samplers import CHILD_SAMPLERS
from tabnas.search._history import History
from tabnas.search._policy_search import PolicySearch, StepRecord
from tabnas.search._settings import SearchSettings
from tabnas.states import check_keys, read_counts, subtree
from tabnas.streams import get_rng_state, set_rng_state, stream
from tabnas.types import IntArray

MAX_SKIPPED_IN_A_ROW = 20
"""More bad batches in a row are no coincidence: the weights or the table are beyond repair."""
MAX_SKIPPED_SHARE = 0.25
"""Share of all weight steps. A SuperNet that misses more has seen too little of the table."""


class SearchDivergedError(TabNASError):
    """Too many weight steps of a search had a loss or gradient that float32 cannot hold."""

    def __init__(self, skipped: str, learning_rate: float) -> None:
        super().__init__(
            f"the search has diverged: {skipped} had a loss or gradient that float32 cannot hold, "
            "and were not taken; scale the columns, look for extreme values among inputs, targets "
            f"and row weights, or take a learning rate well below {learning_rate:g}"
        )


class Search(PolicySearch):
    """A search. Call `run()`, then read its policy, its history and its net.

    >>> from tabnas import Budget, SearchSpace
    >>> from tabnas.nets import Inputs, NetworkSpec
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(400, 5)).astype(np.float32)
    >>> spec = NetworkSpec(inputs=Inputs(numeric=5), loss="logistic")
    >>> examples = Examples(spec, numeric=x, target=x[:, 0] * x[:, 1] > 0)
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
            raise TabNASError("a search must have training rows, got none")
        net = SuperNet(
            feasible.space,
            training.spec,
            optimizer=settings.optimizer,
            seed=settings.seed,
            engine=engine,
            workers=settings.workers,
        )
        super().__init__(feasible, net, validation, settings)
        self.child_sampler = CHILD_SAMPLERS[settings.child_sampler](
            feasible, warmup=settings.warmup, **settings.child_sampler_options
        )
        self.step = 0
        self._batches = training.batches(
            settings.batch_size, seed=settings.seed, workers=settings.workers
        )
        self._streams["children"] = stream(settings.seed, "children")

    @property
    def steps(self) -> int:
        """The number of weight steps of the search."""
        return self.settings.epochs * self._batches.steps_per_epoch

    @property
    def policy_steps(self) -> int:
        """The approximate number of policy steps of the search."""
        return ceil(self.steps * (1 - self.settings.frozen_share) / self.settings.policy_every)

    @property
    def progress(self) -> float:
        return self.step / self.steps

    def run(self, callback: Callable[[StepRecord], None] | None = None) -> None:
        """Run the search to its end, from its current step; call `callback` after every record.

        A weight step whose loss or gradient is not finite changes nothing and is counted in the
        history; too many of them raise a `SearchDivergedError`.
        """
        while self.step < self.steps:
            frozen = self.progress < self.settings.frozen_share
            loss = self._train()
            evaluation = None if frozen else self.policy_step(self.step)
            if callback is not None:
                callback(StepRecord(self.step, loss, evaluation))

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return everything that later steps depend on, as arrays."""
        parts = {
            "net": self.net.state_dict(),
            "controller": self.controller.state_dict(),
            "history": self.history.state_dict(),
            "stream": {name: get_rng_state(rng) for name, rng in self._streams.items()},
        }
        named = {
            f"{part}/{key}": value for part, held in parts.items() for key, value in held.items()
        }
        return {"step": np.array(self.step, np.int64)} | named

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore the state of a search with the same data and settings."""
        step = int(read_counts(state, "step", maximum=self.steps))
        rng_states = subtree(state, "stream")
        check_keys(rng_states, self._streams)
        self.net.load_state_dict(subtree(state, "net"))
        self.controller.load_state_dict(subtree(state, "controller"))
        self.history.load_state_dict(subtree(state, "history"), self.feasible.space)
        for name, rng_state in rng_states.items():
            set_rng_state(self._streams[name], rng_state)
        self.step = step

    def _train(self) -> float | None:
        """Make the weight steps up to the next policy step; return the mean loss of those taken."""
        workers = self.settings.workers
        count = min(self.settings.policy_every, self.steps - self.step)
        # the policy does not change meanwhile, so all children can be sampled together
        sampled = self.child_sampler.sample(
            self.progress, self.controller.policy, count * workers, self._streams["children"]
        ).reshape(count, workers, -1)
        losses: list[float] = []
        end = self.step + count
        while self.step < end:
            children = sampled[self.step - end :]
            if workers == 1:
                losses += self._train_stretch(children[:, 0].tolist())
            else:
                losses += self._train_workers(children[0])
        return sum(losses) / len(losses) if losses else None

    def _train_stretch(self, children: list[list[int]]) -> list[float]:
        """Take a weight step with each of the first children; stop at a loss that is not finite.

        Return the losses of the steps taken.
        """
        work = (self.settings.batch_size * self.net.multiply_adds(child) for child in children)
        count = min(count_steps(work), self._batches.steps_ahead(self.step))
        begin, end = self.step, self.step + count
        stretch = collect_stretch(self._batches, begin, count)
        rates = [self.settings.schedule(step=step, steps=self.steps) for step in stretch.steps]
        losses: list[float] = []
        if rates:
            chosen = [children[step - begin] for step in stretch.steps]
            losses = self.net.train_steps(chosen, stretch.examples, stretch.rows, rates)
        for step, loss, learning_rate in zip(stretch.steps, losses, rates, strict=False):
            self.step = step + 1
            self._count_step(isfinite(loss), learning_rate)
        if len(losses) == len(rates):
            self.step = end  # also past rows without weight, which have no gradient
        return [loss for loss in losses if isfinite(loss)]

    def _train_workers(self, children: IntArray) -> list[float]:
        """Make one weight step with several children, each on its own rows.

        Return their mean loss, or nothing if the step was not taken.
        """
        learning_rate = self.settings.schedule(step=self.step, steps=self.steps)
        batch = self._batches.at(self.step)
        self.step += 1
        if not batch.weight > 0:
            return []  # rows without weight have no gradient
        some, rows = list(children[: len(batch.rows)]), list(batch.rows)
        try:
            losses = self.net.train_step_workers(some, batch.examples, rows, learning_rate)
        except NonFiniteLossError:  # the weights did not change
            self._count_step(False, learning_rate)
            return []
        self._count_step(True, learning_rate)
        return [sum(losses) / len(losses)]

    def _count_step(self, is_taken: bool, learning_rate: float) -> None:
        """Count a step that was skipped; raise an error if there are too many."""
        if is_taken:
            self.history.skipped_in_a_row = 0
        else:
            self.history.count_skipped_step()
            _check_divergence(self.history, self.steps, learning_rate)


def _check_divergence(history: History, steps: int, learning_rate: float) -> None:
    """Raise an error if too many weight steps of a search of `steps` were skipped."""
    if history.skipped_in_a_row >= MAX_SKIPPED_IN_A_ROW:
        raise SearchDivergedError(
            f"{history.skipped_in_a_row} weight steps in a row", learning_rate
        )
    if history.skipped > MAX_SKIPPED_SHARE * steps:
        raise SearchDivergedError(f"{history.skipped} of {steps} weight steps", learning_rate)
