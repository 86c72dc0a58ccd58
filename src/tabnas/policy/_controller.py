"""The controller: REINFORCE on the logits, with one `suggest` and one `update` per step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tabnas.errors import TabNASError, check_int, did_you_mean
from tabnas.policy._moving_average import MovingAverage
from tabnas.policy._optimizer import Adam, PolicyOptimizer
from tabnas.policy._policy import Policy
from tabnas.policy.rewards import Reward
from tabnas.states import check_keys, read_floats, subtree
from tabnas.streams import get_rng_state, set_rng_state
from tabnas.types import BoolArray, FloatArray, IntArray

Baseline = Literal["average", "others"]
"""What a reward is compared with: the moving average, or the other rewards of its step."""

MAX_REWARD = 1e150
"""The optimizer squares differences of rewards. Beyond this size the squares overflow, and a logit
whose average is infinite never moves again."""


@dataclass(frozen=True, eq=False)
class PolicyUpdate:
    """The outcome of one update, for each policy of the batch, [...]."""

    applied: BoolArray  # False where the step was skipped
    reward: FloatArray  # mean reward of the evaluated architectures; 0 where there are none
    baseline: FloatArray  # the moving average that the rewards were compared with


class Controller:
    """Learns a policy from the qualities of the architectures it suggests.

    A step evaluates `workers` architectures and averages their gradients over those that need
    evaluation. This is the paper's average over all workers, times workers / feasible workers. If
    none needs evaluation, the step is skipped: logits, moments and moving average do not change.

    A reward is compared with the moving average (the paper) or, with `baseline="others"`, with the
    mean of the other rewards of the step; where there are no others, with the moving average.

    `batch` trains that many independent policies at once, which share only the random stream.

    >>> from tabnas import Budget, FeasibleSet, SearchSpace
    >>> from tabnas.policy import Rejection
    >>> space = SearchSpace([[2, 3, 4], [2, 3, 4]], inputs=2, outputs=1)
    >>> feasible = FeasibleSet(space, Budget(dense_parameters=25))
    >>> controller = Controller(Rejection(feasible), Adam(learning_rate=0.05), rng=0)
    >>> for _ in range(200):
    ...     choices = controller.suggest()  # [workers, layers]
    ...     update = controller.update(choices, quality=choices[:, 0] - 0.5 * choices[:, 1])
    >>> controller.policy.most_likely()
    [Architecture('4-2')]
    """

    def __init__(
        self,
        reward: Reward,
        optimizer: PolicyOptimizer | None = None,
        *,
        rng: np.random.Generator | int,
        workers: int = 1,
        decay: float = 0.9,
        baseline: Baseline = "average",
        update_baseline_first: bool = True,
        batch: tuple[int, ...] = (),
    ) -> None:
        if not 0 <= decay < 1:
            raise TabNASError(f"`decay` must be in [0, 1), got {decay}")
        if baseline not in get_args(Baseline):
            raise TabNASError(
                f"there is no baseline {baseline!r}; {did_you_mean(baseline, get_args(Baseline))}"
            )
        self.reward = reward
        self.baseline = baseline
        self.workers = check_int("workers", workers, minimum=1)
        # NOTE[DIFF]: Algorithm 1 adds the current reward to the average after the update. The
        # authors' notebooks add it before, which succeeds more often (results/toy); so do we.
        self.update_baseline_first = update_baseline_first
        self.average = MovingAverage(decay=decay, batch=batch)
        space = reward.feasible.space
        start = np.zeros((*batch, len(space.layers), space.max_choices))  # uniform, as Algorithm 1
        self._optimizer = (optimizer or Adam()).init(start)
        self._rng = np.random.default_rng(rng)
        self.policy = Policy(reward.feasible, start)

    def suggest(self) -> IntArray:
        """Draw the architectures to evaluate next, as choices, [..., workers, layers]."""
        return self.reward.sample(self.policy, self.workers, self._rng)

    def needs_evaluation(self, choices: IntArray) -> BoolArray:
        """Return which of the choices affect the update, [..., workers]."""
        return self.reward.needs_evaluation(choices)

    def update(self, choices: IntArray, quality: FloatArray) -> PolicyUpdate:
        """Train the policy on the `quality`, [..., workers], of suggested choices.

        The quality of choices that need no evaluation is ignored and may be NaN.
        """
        from tabnas.policy import _kernels

        choices, quality = self._check(choices, quality)
        evaluated = self.reward.needs_evaluation(choices)
        quality = np.where(evaluated, quality, 0.0)
        if not np.isfinite(quality).all():
            raise TabNASError("the quality of an architecture must be finite")
        number = evaluated.sum(axis=-1)
        if not number.any():
            none = np.zeros(number.shape)
            return PolicyUpdate(applied=none > 0, reward=none, baseline=self.average.value)
        expectation, known = self.reward.expectation(self.policy, self._rng)
        active = (number > 0) & known

        rewards = np.where(evaluated, self.reward.value(quality, choices), 0.0)
        if not (np.abs(rewards) <= MAX_REWARD).all():
            raise TabNASError(
                f"the reward {self.reward.name!r} must be finite and at most {MAX_REWARD:g} for "
                "every architecture; does one have a cost of 0?"
            )
        reward = rewards.sum(axis=-1) / np.maximum(number, 1)
        if self.update_baseline_first:
            self.average.add(reward, active)
        baseline = self.average.value
        reference = baseline[..., None]
        if self.baseline == "others":  # leave-one-out: the mean of the step's other rewards
            others = np.maximum(number - 1, 1)[..., None]
            several = (number > 1)[..., None]
            reference = np.where(
                several, (rewards.sum(-1)[..., None] - rewards) / others, reference
            )
        advantage = np.where(evaluated, rewards - reference, 0.0)

        # grad J = mean over the evaluated y of (r - rbar) * (1[y_i = j] - E[1[Y_i = j]])
        gradient = _kernels.policy_gradient(
            choices.reshape(-1, *choices.shape[-2:]),
            (advantage / np.maximum(number, 1)[..., None]).reshape(-1, choices.shape[-2]),
            expectation.reshape(-1, *expectation.shape[-2:]),
        )
        self._optimizer.step(gradient.reshape(expectation.shape), active)

        if not self.update_baseline_first:
            self.average.add(reward, active)
        self.policy = Policy(self.reward.feasible, self._optimizer.logits)
        return PolicyUpdate(applied=active, reward=reward, baseline=baseline)

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return everything that later steps depend on, as arrays."""
        optimizer = {
            f"optimizer/{name}": value for name, value in self._optimizer.state_dict().items()
        }
        average = {"average/total": self.average.total, "average/weight": self.average.weight}
        return optimizer | average | {"random": get_rng_state(self._rng)}

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore the state of a controller with the same settings."""
        check_keys(state, self.state_dict())
        self._optimizer.load_state_dict(subtree(state, "optimizer"))
        shape = self.average.total.shape
        self.average.total = read_floats(state, "average/total", shape)
        self.average.weight = read_floats(state, "average/weight", shape)
        set_rng_state(self._rng, state["random"])
        self.policy = Policy(self.reward.feasible, self._optimizer.logits)

    def _check(self, choices: IntArray, quality: FloatArray) -> tuple[IntArray, FloatArray]:
        choices, quality = np.asarray(choices), np.asarray(quality, dtype=np.float64)
        space = self.reward.feasible.space
        batch = self.policy.logits.shape[:-2]
        expected = (*batch, *choices.shape[-2:-1], len(space.layers))
        if choices.ndim != len(expected) or choices.shape != expected or choices.ndim < 2:
            axes = ", ".join(map(str, (*batch, "workers", len(space.layers))))
            raise TabNASError(f"`choices` must have the shape ({axes}), got {choices.shape}")
        if quality.shape != choices.shape[:-1]:
            raise TabNASError(
                f"`quality` must have one value per architecture and the shape "
                f"{choices.shape[:-1]}, got {quality.shape}"
            )
        return space.check_choices(choices), quality
