"""Everything that shapes a search besides the data, the space and the limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tabnas.errors import TabnasError, did_you_mean, whole
from tabnas.nets import SGD, Constant, Cosine, Optimizer, Schedule
from tabnas.policy import REWARDS, Ascent, Baseline
from tabnas.policy import Adam as PolicyAdam
from tabnas.search._children import CHILDREN


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """How to train the SuperNet and the policy.

    The defaults are not the paper's: `SearchSettings.paper(...)` is.
    """

    epochs: int
    batch_size: int
    optimizer: Optimizer = field(default_factory=lambda: SGD(momentum=0.9))
    schedule: Schedule = field(default_factory=lambda: Cosine(0.02))
    seed: int = 0

    children: str = "tightening"
    """Which children the weight updates train."""
    children_options: Mapping[str, Any] = field(default_factory=dict)
    workers: int = 1
    """Children trained in one step, on their own rows each, their gradients averaged."""

    warmup: float = 0.25
    """Share of the search in which the policy is not trained and stays uniform. The children
    `"paper"` train the whole SuperNet meanwhile, less and less often."""
    policy_start: float | None = None
    """Share of the search before the first policy step, at least the warm-up; None: the warm-up
    itself, 1: the policy is never trained."""
    reward: str = "rejection"
    reward_options: Mapping[str, Any] = field(default_factory=dict)
    ascent: Ascent = field(default_factory=lambda: PolicyAdam(rate=0.005))
    looks: int = 1
    """Architectures looked at in one policy step, all on the same validation rows."""
    look_rows: int = 0
    """Validation rows of a policy step, shared by its architectures; 0: as many as a batch."""
    every: int = 1
    """Weight steps from one policy step to the next."""
    baseline: Baseline = "average"
    """What a reward is compared with: the moving average, or the step's other rewards."""
    average_first: bool = True
    """Whether a reward enters the moving average before it is compared with it."""

    def __post_init__(self) -> None:
        for name, least in (
            ("epochs", 1),
            ("batch_size", 1),
            ("seed", 0),
            ("workers", 1),
            ("looks", 1),
            ("look_rows", 0),
            ("every", 1),
        ):
            whole(name, getattr(self, name), least=least)
        if not 0 <= self.warmup < 1:
            raise TabnasError(f"warmup must be in [0, 1), however {self.warmup} was given")
        if self.policy_start is not None and not self.warmup <= self.policy_start <= 1:
            raise TabnasError(
                f"`policy_start` must be in [{self.warmup}, 1], from the end of the warm-up on, "
                f"got {self.policy_start}"
            )
        for what, name, known in (
            ("reward", self.reward, REWARDS),
            ("rule for children", self.children, CHILDREN),
        ):
            if name not in known:
                raise TabnasError(f"there is no {what} {name!r}; {did_you_mean(name, known)}")

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
        rl_rate: float = 0.005,
        seed: int = 0,
    ) -> SearchSettings:
        """Algorithms 1 and 2 as the paper ran them; `samples` is its N."""
        return cls(
            epochs=epochs,
            batch_size=batch_size,
            optimizer=optimizer,
            schedule=Cosine(learning_rate) if cosine else Constant(learning_rate),
            seed=seed,
            children="paper",
            reward="rejection_monte_carlo",
            reward_options={"samples": samples},
            ascent=PolicyAdam(rate=rl_rate),
        )
