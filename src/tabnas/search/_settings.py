"""The settings of a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tabnas.errors import TabNASError, check_int, did_you_mean
from tabnas.nets import SGD, Constant, Cosine, Optimizer, Schedule
from tabnas.policy import REWARDS, Baseline, PolicyOptimizer
from tabnas.policy import Adam as PolicyAdam
from tabnas.search._child_samplers import CHILD_SAMPLERS


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """How to train the SuperNet and the policy.

    The defaults are ours; `SearchSettings.paper(...)` returns those of the paper.
    """

    epochs: int
    batch_size: int
    optimizer: Optimizer = field(default_factory=lambda: SGD(momentum=0.9))
    schedule: Schedule = field(default_factory=lambda: Cosine(0.02))
    seed: int = 0

    child_sampler: str = "tightening"
    """How the children for the weight updates are sampled; one of the `CHILD_SAMPLERS`."""
    child_sampler_options: Mapping[str, Any] = field(default_factory=dict)
    workers: int = 1
    """Children trained per step, each on its own rows; their gradients are averaged."""

    warmup: float = 0.25
    """Share of the search in which the policy is not trained and stays uniform. Meanwhile the child
    sampler `"paper"` trains the full SuperNet, less and less often."""
    policy_start: float | None = None
    """Share of the search before the first policy step, at least `warmup`; None: `warmup`, 1: the
    policy is never trained."""
    reward: str = "rejection"
    reward_options: Mapping[str, Any] = field(default_factory=dict)
    policy_optimizer: PolicyOptimizer = field(
        default_factory=lambda: PolicyAdam(learning_rate=0.005)
    )
    evaluations_per_step: int = 1
    """Architectures evaluated per policy step, all on the same validation rows."""
    validation_batch_size: int = 0
    """Validation rows of a policy step; 0: `batch_size`."""
    policy_every: int = 1
    """Weight steps from one policy step to the next."""
    baseline: Baseline = "average"
    """What a reward is compared with: the moving average, or the other rewards of the step."""
    update_baseline_first: bool = True
    """Whether a reward is added to the moving average before it is compared with it."""

    def __post_init__(self) -> None:
        for name, minimum in (
            ("epochs", 1),
            ("batch_size", 1),
            ("seed", 0),
            ("workers", 1),
            ("evaluations_per_step", 1),
            ("validation_batch_size", 0),
            ("policy_every", 1),
        ):
            check_int(name, getattr(self, name), minimum=minimum)
        if not 0 <= self.warmup < 1:
            raise TabNASError(f"`warmup` must be in [0, 1), got {self.warmup}")
        if self.policy_start is not None and not self.warmup <= self.policy_start <= 1:
            raise TabNASError(
                f"`policy_start` must be in [{self.warmup}, 1], from the end of the warm-up on, "
                f"got {self.policy_start}"
            )
        for what, name, registry in (
            ("reward", self.reward, REWARDS),
            ("child sampler", self.child_sampler, CHILD_SAMPLERS),
        ):
            if name not in registry:
                raise TabNASError(f"there is no {what} {name!r}; {did_you_mean(name, registry)}")

    @property
    def frozen_share(self) -> float:
        """Share of the search in which the policy is not trained."""
        return self.warmup if self.policy_start is None else self.policy_start

    @classmethod
    def paper(
        cls,
        *,
        epochs: int,
        batch_size: int,
        optimizer: Optimizer,
        learning_rate: float,
        cosine: bool,
        samples: int,
        rl_learning_rate: float = 0.005,
        seed: int = 0,
    ) -> SearchSettings:
        """Return the settings of Algorithms 1 and 2 in the paper; `samples` is its N."""
        return cls(
            epochs=epochs,
            batch_size=batch_size,
            optimizer=optimizer,
            schedule=Cosine(learning_rate) if cosine else Constant(learning_rate),
            seed=seed,
            child_sampler="paper",
            reward="rejection_monte_carlo",
            reward_options={"samples": samples},
            policy_optimizer=PolicyAdam(learning_rate=rl_learning_rate),
        )
