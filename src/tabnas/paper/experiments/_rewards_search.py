"""Searches of one table with any reward: its settings tuned, and what is found trained alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from tabnas.paper._experiment import Row
from tabnas.paper._tables import PreparedTable, paper_table
from tabnas.paper.experiments._judged import NEVER
from tabnas.paper.experiments._rewards_summary import NEAR
from tabnas.policy import Adam
from tabnas.search import (
    FrozenSearch,
    PolicySearch,
    Search,
    SearchSettings,
    compute_one_shot_losses,
    select,
)
from tabnas.space import Architecture, find_bottlenecks


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A reward with the two numbers that are tuned."""

    reward: str
    strength: str | None  # what its second number is called, if it has one
    rate: float
    value: float | None = None

    def of(self, settings: SearchSettings) -> SearchSettings:
        """The same search with this reward."""
        options: Mapping[str, Any] = {}
        if self.strength is not None:
            options = {self.strength: self.value}
        elif self.reward == settings.reward:
            options = settings.reward_options  # N of the Monte Carlo estimate
        ascent = Adam(learning_rate=self.rate)
        return replace(
            settings, reward=self.reward, reward_options=options, policy_optimizer=ascent
        )


class SearchedTable:
    """A table on which rewards are compared."""

    def __init__(self, name: str, data: Path | None, said: Mapping[str, Any]) -> None:
        self.said = said
        table = paper_table(name)
        epochs = said["epochs"].get(name, {})
        self.prepared: PreparedTable = table.prepare(data, epochs=epochs.get("training", 0))
        self.epochs = epochs.get("search", table.epochs)
        self._tuned: dict[str, Setting] = {}

    def reference(self) -> Row:
        """The paper's architecture, trained alone."""
        return self._trained(Architecture.parse(self.prepared.said.reference))

    def search(self, reward: Mapping[str, Any], repeat: int) -> Row:
        """One search with a tuned reward, and what is found trained alone."""
        setting = self._tune(reward)
        prepared = self.prepared
        began = process_time()
        search = Search(
            prepared.feasible,
            prepared.training,
            prepared.validation,
            setting.of(self._settings(seed=repeat)),
        )
        search.run()
        found = chosen(search)
        seconds = process_time() - began
        tuned = {"rate": setting.rate, "strength": setting.value, "search_seconds": seconds}
        return tuned | self._trained(found)

    def _trained(self, architecture: Architecture) -> Row:
        prepared = self.prepared
        made = [prepared.train(architecture, seed=seed) for seed in range(self.said["trainings"])]
        choices = np.array(prepared.space.choices(architecture))
        load = float(prepared.feasible.cost_ratio(choices))
        return {
            "architecture": str(architecture),
            "parameters": round(load * prepared.limit),
            "load": load,
            "bottleneck": bool(find_bottlenecks(architecture, prepared.space.inputs)),
            "losses": [one.loss for one in made],
            "errors": [one.balanced_error for one in made],
        }

    def _settings(self, *, seed: int) -> SearchSettings:
        return replace(self.prepared.search_settings(seed=seed), epochs=self.epochs)

    # --- tuning -----------------------------------------------------------------------------------

    @cached_property
    def _supernet(self) -> Search:
        """A SuperNet trained as a search does, but with a policy that stays uniform."""
        prepared = self.prepared
        settings = replace(self._settings(seed=1_000), policy_start=NEVER)
        search = Search(prepared.feasible, prepared.training, prepared.validation, settings)
        search.run()
        return search

    def _tune(self, reward: Mapping[str, Any]) -> Setting:
        """The setting that ends best on a SuperNet which is trained already.

        Ended within 5 % of the limit: the lower the one-shot loss, the better. None did: the nearer
        to the limit. Rewards that know of no limit, and those that keep it, go by the loss alone.
        """
        name = reward["reward"]
        if name not in self._tuned:
            grid = self._grid(reward)
            self._tuned[name] = grid[0] if len(grid) == 1 else min(grid, key=self._ends)
        return self._tuned[name]

    def _grid(self, reward: Mapping[str, Any]) -> list[Setting]:
        strength = reward.get("strength")
        tuning = self.said["tuning"]
        values = tuning[strength] if strength else [None]
        return [
            Setting(reward=reward["reward"], strength=strength, rate=rate, value=value)
            for rate in tuning["rates"]
            for value in values
        ]

    def _ends(self, setting: Setting) -> tuple[float, float]:
        supernet, prepared = self._supernet, self.prepared
        steps = round(supernet.steps * (1 - self._settings(seed=0).frozen_share))
        search = FrozenSearch(
            prepared.feasible,
            supernet.net,
            prepared.validation,
            setting.of(self._settings(seed=1_000)),
            steps=min(steps, self.said["tuning"]["most_steps"]),
        )
        search.run()
        found = chosen(search)
        off = abs(float(prepared.feasible.cost_ratio(np.array(prepared.space.choices(found)))) - 1)
        if setting.strength is None or off <= NEAR:
            off = 0.0
        return off, float(compute_one_shot_losses(search, [found])[0])


def chosen(search: PolicySearch) -> Architecture:
    """Rejection: Algorithm 3. Others: the most likely of all, be it over the limit."""
    if search.controller.reward.rejects_infeasible:
        return select(search, 1, by="largest")[0]
    return search.feasible.space.architecture(search.controller.policy.log_p.argmax(axis=-1))
