"""The controller: REINFORCE on the logits, one `suggest` and one `update` a step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tabnas.errors import TabnasError, did_you_mean, whole
from tabnas.policy._ascent import Adam, Ascent
from tabnas.policy._moving_average import MovingAverage
from tabnas.policy._policy import Policy
from tabnas.policy.rewards import Reward
from tabnas.states import floats, part, refuse_other_names
from tabnas.streams import move_to, position
from tabnas.types import BoolArray, FloatArray, IntArray

Baseline = Literal["average", "others"]
"""What a reward is compared with: the moving average, or the other rewards of its step."""

LARGEST_REWARD = 1e150
"""The ascent keeps squares of what a reward differs from others by: beyond it they overflow, and a
logit whose average is infinite never moves again."""


@dataclass(frozen=True, eq=False)
class Step:
    """What one update did, for each policy of the batch, [...]."""

    applied: BoolArray  # False where the step was skipped
    reward: FloatArray  # mean reward of the architectures that counted; 0 where none did
    baseline: FloatArray  # the moving average it was compared with


class Controller:
    """Learns a policy from the qualities of the architectures it suggests.

    `workers` architectures are looked at in a step and their gradients averaged over those that
    count, which is the paper's average over all workers times workers / feasible workers. If none
    counts, the step is skipped: logits, moments and moving average stay.

    A reward is compared with the moving average (the paper), or, with `baseline="others"`, with the
    mean of the step's other rewards; where there are none, with the average still.

    `batch` runs that many independent policies side by side, sharing nothing but the random stream.

    >>> from tabnas import Budget, FeasibleSet, SearchSpace
    >>> from tabnas.policy import Rejection
    >>> space = SearchSpace([[2, 3, 4], [2, 3, 4]], inputs=2, outputs=1)
    >>> feasible = FeasibleSet(space, Budget(dense_parameters=25))
    >>> controller = Controller(Rejection(feasible), Adam(rate=0.05), rng=0)
    >>> for _ in range(200):
    ...     choices = controller.suggest()  # [workers, layers]
    ...     step = controller.update(choices, quality=choices[:, 0] - 0.5 * choices[:, 1])
    >>> controller.policy.most_likely()
    [Architecture('4-2')]
    """

    def __init__(
        self,
        reward: Reward,
        ascent: Ascent | None = None,
        *,
        rng: np.random.Generator | int,
        workers: int = 1,
        decay: float = 0.9,
        baseline: Baseline = "average",
        average_first: bool = True,
        batch: tuple[int, ...] = (),
    ) -> None:
        if not 0 <= decay < 1:
            raise TabnasError(f"decay must be in [0, 1), however {decay} was given")
        if baseline not in get_args(Baseline):
            raise TabnasError(
                f"there is no baseline {baseline!r}; {did_you_mean(baseline, get_args(Baseline))}"
            )
        self.reward = reward
        self.baseline = baseline
        self.workers = whole("workers", workers, least=1)
        # NOTE[DIFF]: Algorithm 1 takes the current reward into the average after the update. The
        # authors' notebooks do it before, which succeeds more often (results/toy); so do we.
        self.average_first = average_first
        self.average = MovingAverage(decay=decay, batch=batch)
        space = reward.feasible.space
        start = np.zeros((*batch, space.depth, space.max_choices))  # uniform, as Algorithm 1
        self._climber = (ascent or Adam()).start(start)
        self._rng = np.random.default_rng(rng)
        self.policy = Policy(reward.feasible, start)

    def suggest(self) -> IntArray:
        """The architectures to look at next, as choices, [..., workers, layers]."""
        return self.reward.draw(self.policy, self.workers, self._rng)

    def counts(self, choices: IntArray) -> BoolArray:
        """Which of them matter to the update, [..., workers]: others need no evaluation."""
        return self.reward.counts(choices)

    def update(self, choices: IntArray, quality: FloatArray) -> Step:
        """Learn from the `quality`, [..., workers], of suggested choices.

        The quality of choices that do not count is ignored, and may be NaN.
        """
        from tabnas.policy import _kernels

        choices, quality = self._checked(choices, quality)
        counts = self.reward.counts(choices)
        quality = np.where(counts, quality, 0.0)
        if not np.isfinite(quality).all():
            raise TabnasError("the quality of an architecture must be finite")
        number = counts.sum(axis=-1)
        if not number.any():
            none = np.zeros(number.shape)
            return Step(applied=none > 0, reward=none, baseline=self.average.value)
        expectation, known = self.reward.expectation(self.policy, self._rng)
        active = (number > 0) & known

        rewards = np.where(counts, self.reward.value(quality, choices), 0.0)
        if not (np.abs(rewards) <= LARGEST_REWARD).all():
            raise TabnasError(
                f"the reward {self.reward.name!r} must be finite and at most {LARGEST_REWARD:g}, "
                "however it is not for every architecture; does one cost nothing?"
            )
        reward = rewards.sum(axis=-1) / np.maximum(number, 1)
        if self.average_first:
            self.average.add(reward, active)
        baseline = self.average.value
        compared = baseline[..., None]
        if self.baseline == "others":  # leave-one-out: the mean of the step's other rewards
            others = np.maximum(number - 1, 1)[..., None]
            several = (number > 1)[..., None]
            compared = np.where(several, (rewards.sum(-1)[..., None] - rewards) / others, compared)
        advantage = np.where(counts, rewards - compared, 0.0)

        # grad J = mean over what counts of (r - rbar) * (1[y_i = j] - E[1[Y_i = j]])
        gradient = _kernels.policy_gradient(
            choices.reshape(-1, *choices.shape[-2:]),
            (advantage / np.maximum(number, 1)[..., None]).reshape(-1, choices.shape[-2]),
            expectation.reshape(-1, *expectation.shape[-2:]),
        )
        self._climber.step(gradient.reshape(expectation.shape), active)

        if not self.average_first:
            self.average.add(reward, active)
        self.policy = Policy(self.reward.feasible, self._climber.logits)
        return Step(applied=active, reward=reward, baseline=baseline)

    def state(self) -> dict[str, NDArray[Any]]:
        """All that shapes the future, as plain arrays."""
        climber = {f"ascent/{name}": value for name, value in self._climber.state().items()}
        average = {"average/total": self.average.total, "average/weight": self.average.weight}
        return climber | average | {"random": position(self._rng)}

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from the state of a controller with the same settings."""
        refuse_other_names(state, self.state())
        self._climber.load_state(part(state, "ascent"))
        shape = self.average.total.shape
        self.average.total = floats(state, "average/total", shape)
        self.average.weight = floats(state, "average/weight", shape)
        move_to(self._rng, state["random"])
        self.policy = Policy(self.reward.feasible, self._climber.logits)

    def _checked(self, choices: IntArray, quality: FloatArray) -> tuple[IntArray, FloatArray]:
        choices, quality = np.asarray(choices), np.asarray(quality, dtype=np.float64)
        space = self.reward.feasible.space
        batch = self.policy.logits.shape[:-2]
        expected = (*batch, *choices.shape[-2:-1], space.depth)
        if choices.ndim != len(expected) or choices.shape != expected or choices.ndim < 2:
            axes = ", ".join(map(str, (*batch, "workers", space.depth)))
            raise TabnasError(
                f"choices must have the shape ({axes}), however {choices.shape} was given"
            )
        if quality.shape != choices.shape[:-1]:
            raise TabnasError(
                f"there must be one quality for each architecture, {choices.shape[:-1]}, "
                f"however {quality.shape} was given"
            )
        if (choices < 0).any() or (choices >= [len(layer) for layer in space.candidates]).any():
            raise TabnasError("choices must be indices of candidate widths, however some are not")
        return choices, quality
