"""Searches of one table with any reward: tuned settings, and stand-alone training of results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from tabnas.paper._experiment import Row
from tabnas.paper._tables import PreparedTable, get_paper_table, prepare_table
from tabnas.paper.experiments.common import NEVER
from tabnas.paper.experiments.rewards._summary import NEAR
from tabnas.policy import Adam
from tabnas.search import (
    FixedWeightsSearch,
    PolicySearch,
    Search,
    SearchSettings,
    compute_one_shot_losses,
    select,
)
from tabnas.space import Architecture, find_bottlenecks

TUNING_SEED = 1_000


@dataclass(frozen=True, kw_only=True)
class RewardSetting:
    """A reward with its two tuned values: the RL learning rate, and an option if it has one."""

    reward: str
    option: str | None
    rl_learning_rate: float
    value: float | None = None

    def apply(self, settings: SearchSettings) -> SearchSettings:
        """Return the settings with this reward."""
        options: Mapping[str, Any] = {}
        if self.option is not None:
            options = {self.option: self.value}
        elif self.reward == settings.reward:
            options = settings.reward_options  # N of the Monte Carlo estimate
        optimizer = Adam(learning_rate=self.rl_learning_rate)
        return replace(
            settings, reward=self.reward, reward_options=options, policy_optimizer=optimizer
        )


class RewardSearches:
    """Searches and trainings of a table, to compare rewards."""

    def __init__(self, name: str, data: Path | None, definition: Mapping[str, Any]) -> None:
        self.definition = definition
        default = get_paper_table(name).epochs
        epochs = definition["epochs"].get(name, {})
        changes = {"epochs": epochs.get("training", default)}
        self.table: PreparedTable = prepare_table(name, data, changes)
        self.epochs = epochs.get("search", default)
        self._tuned: dict[str, RewardSetting] = {}

    def train_reference(self) -> Row:
        """Return the row of the paper's architecture."""
        return self._train(Architecture.parse(self.table.config.reference))

    def run(self, reward: Mapping[str, Any], repeat: int) -> Row:
        """Run one search with a tuned reward, and train what it finds stand-alone."""
        setting = self._tune(reward)
        start = process_time()
        search = self.table.search(setting.apply(self._settings(seed=repeat)))
        search.run()
        network = select_architecture(search)
        row = {
            "rl_learning_rate": setting.rl_learning_rate,
            "option_value": setting.value,
            "search_seconds": process_time() - start,
        }
        return row | self._train(network)

    def _train(self, architecture: Architecture) -> Row:
        table = self.table
        trainings = range(self.definition["trainings"])
        results = [table.train(architecture, seed=seed) for seed in trainings]
        cost_ratio = self._cost_ratio(architecture)
        return {
            "architecture": str(architecture),
            "parameters": round(cost_ratio * table.limit),
            "cost_ratio": cost_ratio,
            "bottleneck": bool(find_bottlenecks(architecture, table.space.inputs)),
            "losses": [result.loss for result in results],
            "errors": [result.balanced_error for result in results],
        }

    def _cost_ratio(self, architecture: Architecture) -> float:
        choices = np.array(self.table.space.choices(architecture))
        return float(self.table.feasible.cost_ratio(choices))

    def _settings(self, *, seed: int) -> SearchSettings:
        return replace(self.table.search_settings(seed=seed), epochs=self.epochs)

    # --- tuning -----------------------------------------------------------------------------------

    @cached_property
    def _supernet(self) -> Search:
        """A SuperNet trained as a search does, but with a policy that stays uniform."""
        search = self.table.search(replace(self._settings(seed=TUNING_SEED), policy_start=NEVER))
        search.run()
        return search

    def _tune(self, reward: Mapping[str, Any]) -> RewardSetting:
        """Return the setting of a reward that is best on the trained SuperNet."""
        name = reward["reward"]
        if name not in self._tuned:
            grid = self._grid(reward)
            self._tuned[name] = grid[0] if len(grid) == 1 else min(grid, key=self._evaluate)
        return self._tuned[name]

    def _grid(self, reward: Mapping[str, Any]) -> list[RewardSetting]:
        option = reward.get("option")
        tuning = self.definition["tuning"]
        return [
            RewardSetting(
                reward=reward["reward"], option=option, rl_learning_rate=rate, value=value
            )
            for rate in tuning["rl_learning_rates"]
            for value in (tuning[option] if option else [None])
        ]

    def _evaluate(self, setting: RewardSetting) -> tuple[float, float]:
        """Return the distance to the limit beyond 5 %, and the one-shot loss; less is better.

        The distance does not count for rewards without an option: they ignore the limit, or never
        exceed it.
        """
        supernet, table = self._supernet, self.table
        settings = self._settings(seed=TUNING_SEED)
        steps = round(supernet.steps * (1 - settings.frozen_share))
        search = FixedWeightsSearch(
            table.feasible,
            supernet.net,
            table.validation,
            setting.apply(settings),
            steps=min(steps, self.definition["tuning"]["max_steps"]),
        )
        search.run()
        network = select_architecture(search)
        distance = abs(self._cost_ratio(network) - 1)
        if setting.option is None or distance <= NEAR:
            distance = 0.0
        return distance, float(compute_one_shot_losses(search, [network])[0])


def select_architecture(search: PolicySearch) -> Architecture:
    """Select by Algorithm 3 for rejection; for others the most likely of all, as in the paper."""
    if search.controller.reward.rejects_infeasible:
        return select(search, 1, by="largest")[0]
    return search.feasible.space.architecture(search.controller.policy.log_p.argmax(axis=-1))
