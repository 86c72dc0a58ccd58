"""Settings of the policy, replayed on recorded looks: what the defaults and tunings rest on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.paper._experiment import Experiment, Job, Row
from tabnas.paper._figures import OTHERS, OURS, figure, save
from tabnas.paper._markdown import markdown_table
from tabnas.paper.experiments import _paired_words as words
from tabnas.paper.experiments._judged import JudgedTable
from tabnas.paper.experiments._paired import described
from tabnas.paper.experiments._recorded import Recording
from tabnas.paper.experiments._there import tables_with_ground_truth
from tabnas.paper.experiments._verdicts import PARTS, REGRETS, judge
from tabnas.policy import Policy
from tabnas.space import Architecture
from tabnas.streams import stream

DRAWS = 500  # m of Algorithm 3
PAPER = "the paper's loop"
RETURNED = REGRETS[1]


class ReplayExperiment(Experiment):
    """Hundreds of settings for the price of a few trainings."""

    name = "replay"

    def __init__(self, definition: Mapping[str, Any], data: Path | None = None) -> None:
        super().__init__(definition, data)
        self.tables = tables_with_ground_truth(definition)
        self.table = cache(lambda name: JudgedTable(name, self.data))
        self._recording = lru_cache(maxsize=1)(self._record)  # several grids in a row share one

    def jobs(self) -> list[Job]:
        said = self.definition
        return [
            {"table": table, "share": share, "recording": recording, "grid": grid["title"]}
            for recording in range(said["recordings"])
            for table in self.tables
            for share in said["shares"]
            for grid in said["grids"]
            if recording < grid.get("recordings", said["recordings"])
        ]

    def _record(self, table: str, share: float, seed: int) -> Recording:
        said = self.definition
        judged = self.table(table).limited(share)
        return Recording.make(judged, seed, moments=said["moments"], batches=said["batches"])

    def run(self, job: Job) -> list[Row]:
        recording: Recording = self._recording(job["table"], job["share"], job["recording"])
        (grid,) = (one for one in self.definition["grids"] if one["title"] == job["grid"])
        policies = grid.get("policies", self.definition["policies"])
        rows = []
        for settings in _settings(grid):
            ended = recording.replay(grid["reward"], settings, policies=policies)
            found = list(self._found(recording, ended))
            said = {"limit": recording.judged.limit, "reward": grid["reward"], "settings": settings}
            rows.append(said | {key: [one[key] for one in found] for key in found[0]})
        return rows

    def _found(self, recording: Recording, policies: Policy) -> Iterator[Row]:
        """What would have come of each policy: Algorithm 3, and what it likes best."""
        judge = recording.judged.judge
        truth = judge.truth
        costs = truth.costs["parameters"]
        inside = np.isfinite(judge.regrets)
        layers = np.arange(truth.space.depth)
        joint = policies.log_p[:, layers, truth.choices].sum(axis=-1)  # [policies, all]
        rng = stream(recording.seed, "selection")
        drawn = truth.places(policies.conditional.sample(DRAWS, rng))  # [policies, draws]
        for k, (log_p, places) in enumerate(zip(joint, drawn, strict=True)):
            unique = np.unique(places)
            largest = unique[np.argsort(-costs[unique], kind="stable")]
            candidates = [truth.architectures[k] for k in largest[: self.definition["candidates"]]]
            likeliest = truth.architectures[int(np.where(inside, log_p, -np.inf).argmax())]
            yield {
                "returned": str(judge.returned(candidates, k)),
                "likeliest": str(likeliest),
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
            ["reward", "settings", "regret", "test", "of the likeliest", "over the limit"],
            [
                [
                    one["reward"],
                    _said(one["settings"]),
                    words.mean(one[RETURNED]),
                    f"{one[f'test_{RETURNED}']['mean']:.2f}",
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
                        f"{own[reward][RETURNED]['mean']:.2f}: {_said(own[reward]['settings'])}"
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
            "recordings a limit, or fewer where the definition says so. "
            f"{words.JUDGED} A run returns the best of Algorithm 3's candidates, drawn given V for "
            "every reward. Beside it: the regret of the feasible architecture that the policy "
            "likes best, and how often what it likes best of all is over the limit. Means over "
            "tables and limits; 95 % intervals, with recordings as the independent ones. *The "
            "paper's loop* is replayed with its own reward, looks and steps, but on the default's "
            f"SuperNet.\n\n{settings}\n\n"
            f"## The best settings of each reward, by table\n\n{best}\n\n"
            "![regret by RL rate](rates.png)\n"
        )

    def draw(self, rows: list[Row], summary: Mapping[str, Any], out: Path) -> None:
        drawn, axes = figure(1, 1, size=(7, 4.2))
        axis = axes[0, 0]
        rewards = list(dict.fromkeys(one["reward"] for one in summary["settings"]))
        for k, reward in enumerate(rewards):
            color, line = (OURS, *OTHERS)[k % (1 + len(OTHERS))], ("o-", "s--")[k > len(OTHERS)]
            own = [one for one in summary["settings"] if one["reward"] == reward]
            rates = sorted({one["settings"]["rl_rate"] for one in own})
            best = [
                min(one[RETURNED]["mean"] for one in own if one["settings"]["rl_rate"] == rate)
                for rate in rates
            ]
            axis.plot(rates, best, line, color=color, label=reward)
        axis.set(xscale="log", xlabel="RL rate", ylabel="mean regret, best other settings")
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8, frameon=False)
        save(drawn, out / "rates")


def _settings(grid: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every combination of its lists."""
    lists = {key: values for key, values in grid.items() if isinstance(values, list)}
    for values in product(*lists.values()):
        yield dict(zip(lists, values, strict=True))


def _by_setting(rows: list[Row]) -> list[dict[str, Any]]:
    """Means over everything else, best first within a grid's reward."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((_kind(row), _said(row["settings"])), []).append(row)
    found = [
        {"reward": kind, "settings": own[0]["settings"]} | _judged(own)
        for (kind, _), own in groups.items()
    ]
    order = list(dict.fromkeys(one["reward"] for one in found))
    return sorted(found, key=lambda one: (order.index(one["reward"]), one[RETURNED]["mean"]))


def _kind(row: Row) -> str:
    """The reward; the paper's loop is another kind, since it also looks and steps otherwise."""
    return PAPER if row["grid"] == PAPER else str(row["reward"])


def _judged(rows: list[Row]) -> dict[str, Any]:
    """Recordings are the independent ones: all policies of one have the same looks."""
    regrets: dict[str, dict[tuple[str, int, int], float]] = {
        f"{prefix}{RETURNED}": {} for prefix in PARTS
    }
    likeliest = []
    for row in rows:
        own = judge(row["table"], row["limit"])
        name = row["table"], row["limit"], row["recording"]
        for prefix, part in PARTS.items():
            regrets[f"{prefix}{RETURNED}"][name] = float(
                np.mean(
                    [
                        own.regret(Architecture.parse(one), part, chosen_by=own.chooses(k))
                        for k, one in enumerate(row["returned"])
                    ]
                )
            )
        likeliest += [own.regret(Architecture.parse(one)) for one in row["likeliest"]]
    return {
        **{key: described(found) for key, found in regrets.items()},
        "regret_of_likeliest": float(np.mean(likeliest)),
        "over": float(np.mean([np.mean(row["over"]) for row in rows])),
    }


def _best_of_each(settings: list[dict[str, Any]]) -> dict[str, Any]:
    best: dict[str, Any] = {}
    for one in settings:  # best first
        best.setdefault(one["reward"], one)
    return best


def _said(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in settings.items())


EXPERIMENT = ReplayExperiment
