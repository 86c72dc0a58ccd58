"""Settings of the policy, replayed on recorded looks: what the defaults and tunings rest on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.paper._experiment import Experiment, Job, Row
from tabnas.paper._figures import OTHERS, OURS, figure, save
from tabnas.paper._markdown import markdown_table
from tabnas.paper.experiments._judged import JudgedTable
from tabnas.paper.experiments._paired import described
from tabnas.paper.experiments._recorded import Recording
from tabnas.paper.experiments._there import tables_with_ground_truth
from tabnas.policy import Policy
from tabnas.streams import stream

DRAWS = 500  # m of Algorithm 3


class ReplayExperiment(Experiment):
    """Hundreds of settings for the price of a few trainings."""

    name = "replay"

    def __init__(self, definition: Mapping[str, Any], data: Path | None = None) -> None:
        super().__init__(definition, data)
        self.tables = tables_with_ground_truth(definition)
        self.table = cache(lambda name: JudgedTable(name, self.data))

    def jobs(self) -> list[Job]:
        return [
            {"table": table, "share": share, "recording": recording}
            for recording in range(self.definition["recordings"])
            for table in self.tables
            for share in self.definition["shares"]
        ]

    def run(self, job: Job) -> list[Row]:
        said = self.definition
        recording = Recording.make(
            self.table(job["table"]).limited(job["share"]),
            job["recording"],
            moments=said["moments"],
            batches=said["batches"],
        )
        rows = []
        for reward, settings in _settings(said["grids"]):
            policy = recording.replay(reward, settings, policies=said["policies"])
            judged = list(self._judged(recording, policy))
            rows.append({"reward": reward, "settings": settings} | _together(judged))
        return rows

    def _judged(self, recording: Recording, policies: Policy) -> Iterator[Row]:
        """What would have come of each policy: Algorithm 3, and what it likes best."""
        judged = recording.judged
        truth, regrets = judged.truth, judged.regrets
        costs = truth.costs["parameters"]
        inside = np.isfinite(regrets)
        layers = np.arange(truth.space.depth)
        joint = policies.log_p[:, layers, truth.choices].sum(axis=-1)  # [policies, all]
        rng = stream(recording.seed, "selection")
        drawn = truth.places(policies.conditional.sample(DRAWS, rng))  # [policies, draws]
        for k, (log_p, places) in enumerate(zip(joint, drawn, strict=True)):
            unique = np.unique(places)
            largest = unique[np.argsort(-costs[unique], kind="stable")]
            candidates = [truth.architectures[k] for k in largest[: self.definition["candidates"]]]
            yield {
                "regret": judged.verdict(candidates, k)["regret_of_three"],
                "regret_of_likeliest": float(regrets[np.where(inside, log_p, -np.inf).argmax()]),
                "over": not bool(inside[log_p.argmax()]),
            }

    def summarise(self, rows: list[Row]) -> dict[str, Any]:
        return {
            "tables": self.tables,
            "recordings": self.definition["recordings"],
            "policies": self.definition["policies"],
            "settings": _by_setting(rows),
            "best": {
                table: _best_of_each(_by_setting([row for row in rows if row["table"] == table]))
                for table in self.tables
            },
        }

    def report(self, rows: list[Row], summary: Mapping[str, Any]) -> str:
        settings = markdown_table(
            ["reward", "settings", "regret", "of the likeliest", "over the limit"],
            [
                [
                    one["reward"],
                    _said(one["settings"]),
                    f"{one['regret']:.2f} [{one['interval'][0]:.2f}, {one['interval'][1]:.2f}]",
                    f"{one['regret_of_likeliest']:.2f}",
                    f"{one['over']:.0%}",
                ]
                for one in summary["settings"]
            ],
        )
        rewards = list(dict.fromkeys(one["reward"] for one in summary["settings"]))
        best = markdown_table(
            ["reward", *summary["best"]],
            [
                [
                    reward,
                    *(
                        f"{own[reward]['regret']:.2f}: {_said(own[reward]['settings'])}"
                        for own in summary["best"].values()
                    ),
                ]
                for reward in rewards
            ],
        )
        return (
            "A SuperNet is trained as a search does by default; at "
            f"{self.definition['moments']} moments the loss of all 585 architectures is written "
            f"down on each of {self.definition['batches']} batches of validation rows. "
            f"{summary['policies']} policies then learn from each of {summary['recordings']} "
            "recordings a limit. Regret in standard deviations from seed to seed: of what a run "
            "would return, the best of Algorithm 3's candidates after one training each, drawn "
            "given V for every reward; of the feasible architecture that the policy likes best; "
            "and how often what it likes best of all is over the limit. Means over tables and "
            f"limits.\n\n{settings}\n\n## The best settings of each reward, by table\n\n{best}\n\n"
            "![regret by RL rate](rates.png)\n"
        )

    def draw(self, rows: list[Row], summary: Mapping[str, Any], out: Path) -> None:
        drawn, axes = figure(1, 1, size=(7, 4.2))
        axis = axes[0, 0]
        rewards = list(dict.fromkeys(one["reward"] for one in summary["settings"]))
        for color, reward in zip((OURS, *OTHERS, *OTHERS), rewards, strict=False):
            own = [one for one in summary["settings"] if one["reward"] == reward]
            rates = sorted({one["settings"]["rl_rate"] for one in own})
            best = [
                min(one["regret"] for one in own if one["settings"]["rl_rate"] == rate)
                for rate in rates
            ]
            axis.plot(rates, best, "o-", color=color, label=reward)
        axis.set(xscale="log", xlabel="RL rate", ylabel="mean regret, best other settings")
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8, frameon=False)
        save(drawn, out / "rates")


def _settings(grids: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every combination of every grid, each once."""
    seen = []
    for grid in grids:
        lists = {key: values for key, values in grid.items() if key != "reward"}
        for values in product(*lists.values()):
            setting = grid["reward"], dict(zip(lists, values, strict=True))
            if setting not in seen:
                seen.append(setting)
                yield setting


def _together(judged: list[Row]) -> Row:
    return {key: [row[key] for row in judged] for key in judged[0]}


def _by_setting(rows: list[Row]) -> list[dict[str, Any]]:
    """Means over everything else, best first within a reward."""
    found = []
    for reward, settings in dict.fromkeys((row["reward"], _said(row["settings"])) for row in rows):
        own = [row for row in rows if (row["reward"], _said(row["settings"])) == (reward, settings)]
        regrets = [
            float(np.mean(row["regret"])) for row in own
        ]  # recordings are the independent ones
        said = described(regrets)
        found.append(
            {
                "reward": reward,
                "settings": own[0]["settings"],
                "regret": said["mean"],
                "interval": [said["mean"] - said["interval"], said["mean"] + said["interval"]],
                "regret_of_likeliest": float(
                    np.mean([np.mean(row["regret_of_likeliest"]) for row in own])
                ),
                "over": float(np.mean([np.mean(row["over"]) for row in own])),
            }
        )
    order = list(dict.fromkeys(one["reward"] for one in found))
    return sorted(found, key=lambda one: (order.index(one["reward"]), one["regret"]))


def _best_of_each(settings: list[dict[str, Any]]) -> dict[str, Any]:
    best: dict[str, Any] = {}
    for one in settings:  # best first
        best.setdefault(one["reward"], one)
    return best


def _said(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in settings.items())


EXPERIMENT = ReplayExperiment
