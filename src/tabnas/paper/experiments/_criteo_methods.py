"""The methods of the paper's table on Bayesian optimisation and evolution, on Criteo."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.paper._experiment import Row
from tabnas.paper._tables import PreparedTable, paper_table
from tabnas.paper.experiments._equal_cost import explored
from tabnas.paper.experiments._judged import NEVER
from tabnas.paper.experiments._one_shot import OneShot
from tabnas.policy import Adam
from tabnas.search import (
    FrozenSearch,
    PolicySearch,
    Search,
    SearchSettings,
    build_candidate_pool,
    select,
)
from tabnas.space import COSTS, Architecture
from tabnas.strategies import STRATEGIES
from tabnas.streams import stream
from tabnas.types import FloatArray


class CriteoMethods:
    """Criteo's sample in the 5-layer space: one architecture a method, trained alone."""

    def __init__(self, said: Mapping[str, Any], data: Path | None) -> None:
        self.said = said
        self._folder = data
        self._trained: dict[int, Search] = {}

    @cached_property
    def table(self) -> PreparedTable:
        """The table, read when it is needed."""
        return replace(paper_table("criteo"), **self.said["changes"]).prepare(self._folder)

    def row(self, method: Mapping[str, Any], repeat: int) -> Row:
        """What the method finds, what it took, and what it is worth trained alone."""
        kind = method["kind"]
        looks = 0.0
        if kind == "reference":
            found = Architecture.parse(self.table.said.reference)
        elif kind == "search":
            search = self._search(self._settings(repeat, method["changes"]))
            search.run()
            found, looks = self._selected(search, method)
        elif kind == "frozen":
            found, looks = self._selected(self._frozen(method, repeat), method)
        else:
            found, looks = self._explored(method, repeat)
        table = self.table
        losses = [table.train(found, seed=seed).loss for seed in range(self.said["trainings"])]
        return {
            "recommended": str(found),
            "parameters": int(COSTS["dense_parameters"](table.space, found)),
            "children": looks,
            "losses": losses,
        }

    def _settings(self, repeat: int, changes: Mapping[str, Any]) -> SearchSettings:
        changes = dict(changes)
        ascent = Adam(learning_rate=changes.pop("rl_rate", 0.005))
        base = self.table.search_settings(seed=repeat)
        return replace(base, **self.said["search"], policy_optimizer=ascent, **changes)

    def _search(self, settings: SearchSettings) -> Search:
        table = self.table
        return Search(table.feasible, table.training, table.validation, settings)

    def _supernet(self, repeat: int) -> Search:
        """Trained as the paper's searches do, with a policy that stays uniform."""
        if repeat not in self._trained:
            search = self._search(replace(self._settings(repeat, {}), policy_start=NEVER))
            search.run()
            self._trained = {repeat: search}
        return self._trained[repeat]

    def _frozen(self, method: Mapping[str, Any], repeat: int) -> FrozenSearch:
        """As many policy steps as the interleaved search makes."""
        supernet = self._supernet(repeat)
        settings = self._settings(repeat, method["changes"])
        steps = round(supernet.steps * (1 - settings.frozen_share))
        table = self.table
        search = FrozenSearch(table.feasible, supernet.net, table.validation, settings, steps=steps)
        search.run()
        return search

    def _explored(self, method: Mapping[str, Any], repeat: int) -> tuple[Architecture, float]:
        """Looks on all validation rows, as many in all as the exact policy spends."""
        supernet = self._supernet(repeat)
        table = self.table
        rows = len(table.validation)
        quality = OneShot(
            supernet.net, table.validation, rows=rows, rng=stream(repeat, "looks"), steady=True
        )
        strategy = STRATEGIES[method["strategy"]](
            table.feasible, rng=stream(repeat, "strategy"), **method["options"]
        )
        settings = self._settings(repeat, {})
        steps = round(supernet.steps * (1 - settings.frozen_share))
        passes = steps * settings.evaluations_per_step * settings.batch_size
        explored(strategy, quality, max(1, passes // rows))
        return strategy.recommend()[0], float(quality.looks)

    def _selected(
        self, search: PolicySearch, method: Mapping[str, Any]
    ) -> tuple[Architecture, float]:
        """What a search finds, and what it cost in children looked at with all validation rows."""
        _, _, quality = search.history.flatten()
        children = len(quality) * search.settings.batch_size / len(search.validation)
        if method["selection"] == "one_shot":
            children += len(build_candidate_pool(search))
        return select(search, 1, by=method["selection"])[0], children


def described_methods(rows: list[Row]) -> list[dict[str, Any]]:
    """The repeats of each method together.

    Networks of one seed begin alike and see rows in the same order, so losses are compared with the
    reference's seed by seed: `more`.
    """
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["method"], []).append(row)
    if not groups:  # Criteo's file was not there
        return []
    reference = np.array(next(iter(groups.values()))[0]["losses"])
    return [_described(title, own, reference) for title, own in groups.items()]


def _described(title: str, rows: list[Row], reference: FloatArray) -> dict[str, Any]:
    losses = np.array([row["losses"] for row in rows])  # [repeats, trainings]
    more = losses - reference
    deviation = losses.std(axis=1, ddof=1) if losses.shape[1] > 1 else np.zeros(len(rows))
    return {
        "title": title,
        "found": [row["recommended"] for row in rows],
        "parameters": [row["parameters"] for row in rows],
        "children": float(np.mean([row["children"] for row in rows])),
        "losses": losses.mean(axis=1).tolist(),
        "deviations": deviation.tolist(),
        "more": more.mean(axis=1).tolist(),
        "more_mean": float(more.mean()),
        "more_between": float(more.mean(axis=1).std()),
    }
