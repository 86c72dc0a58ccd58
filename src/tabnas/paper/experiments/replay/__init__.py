"""Settings of the policy, replayed on recorded evaluations: the basis of the defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.paper._experiment import Experiment, Job, Row, filter_rows, group_rows, mean, unique
from tabnas.paper._figures import OTHER_COLORS, OURS_COLOR, make_figure, save_figure
from tabnas.paper._markdown import markdown_table, records_table
from tabnas.paper.experiments.common import (
    PARTS,
    filter_by_ground_truth,
    get_scorer,
    load_problem,
    summarize_runs,
)
from tabnas.paper.experiments.common._wording import REGRET_TEXT, format_mean
from tabnas.paper.experiments.replay._recording import Recording
from tabnas.policy import Policy
from tabnas.space import Architecture
from tabnas.streams import stream

N_SAMPLES = 500  # m of Algorithm 3
PAPER_LOOP = "the paper's loop"


class ReplayExperiment(Experiment):
    """Hundreds of settings for the cost of a few trainings."""

    name = "replay"

    def __init__(self, definition: Mapping[str, Any], data: Path | None = None) -> None:
        super().__init__(definition, data)
        self.tables = filter_by_ground_truth(definition["tables"])
        self._recording = lru_cache(maxsize=1)(self._record)  # several grids in a row share one

    def jobs(self) -> list[Job]:
        definition = self.definition
        return [
            {"table": table, "share": share, "recording": recording, "grid": grid["title"]}
            for recording in range(definition["recordings"])
            for table in self.tables
            for share in definition["shares"]
            for grid in definition["grids"]
            if recording < grid.get("recordings", definition["recordings"])
        ]

    def _record(self, table: str, share: float, seed: int) -> Recording:
        problem = load_problem(table, share, self.data)
        snapshots, batches = self.definition["snapshots"], self.definition["batches"]
        return Recording.record(problem, seed, snapshots=snapshots, batches=batches)

    def run(self, job: Job) -> list[Row]:
        recording: Recording = self._recording(job["table"], job["share"], job["recording"])
        (grid,) = filter_rows(self.definition["grids"], title=job["grid"])
        count = grid.get("policies", self.definition["policies"])
        rows = []
        for settings in _combine(grid):
            policies = recording.replay(grid["reward"], settings, policies=count)
            ends = list(self._describe_ends(recording, policies))
            row = {"limit": recording.problem.limit, "reward": grid["reward"], "settings": settings}
            rows.append(row | {key: [end[key] for end in ends] for key in ends[0]})
        return rows

    def _describe_ends(self, recording: Recording, policies: Policy) -> Iterator[Row]:
        """Yield what each policy ends on: by Algorithm 3, and its most likely architecture."""
        scorer = recording.problem.scorer
        truth = scorer.truth
        costs = truth.costs["parameters"]
        inside = np.isfinite(scorer.regrets)
        layers = np.arange(truth.space.depth)
        joint = policies.log_p[:, layers, truth.choices].sum(axis=-1)  # [policies, all]
        rng = stream(recording.seed, "selection")
        sampled = truth.find(policies.conditional.sample(N_SAMPLES, rng))  # [policies, samples]
        for k, (log_p, indices) in enumerate(zip(joint, sampled, strict=True)):
            distinct = np.unique(indices)
            largest = distinct[np.argsort(-costs[distinct], kind="stable")]
            candidates = [truth.architectures[i] for i in largest[: self.definition["candidates"]]]
            most_likely = truth.architectures[int(np.where(inside, log_p, -np.inf).argmax())]
            yield {
                "returned": str(scorer.select_best(candidates, k)),
                "most_likely": str(most_likely),
                "over": not bool(inside[log_p.argmax()]),
            }

    def summarize(self, rows: list[Row]) -> dict[str, Any]:
        return {
            "tables": self.tables,
            "recordings": self.definition["recordings"],
            "policies": self.definition["policies"],
            "settings": _summarize_settings(rows),
            "best": {
                table: _best_by_reward(_summarize_settings(filter_rows(rows, table=table)))
                for table in self.tables
            },
        }

    def report(self, rows: list[Row], summary: Mapping[str, Any]) -> str:
        settings = records_table(
            summary["settings"],
            ("reward", "{reward}"),
            ("settings", lambda row: _format_settings(row["settings"])),
            ("regret", lambda row: format_mean(row["regret_of_returned"])),
            ("test", "{test_regret_of_returned[mean]:.2f}"),
            ("of the most likely", "{regret_of_most_likely:.2f}"),
            ("over the limit", "{over:.0%}"),
        )
        best = markdown_table(
            ["reward", *summary["best"]],
            [
                [
                    reward,
                    *(
                        f"{by_reward[reward]['regret_of_returned']['mean']:.2f}: "
                        f"{_format_settings(by_reward[reward]['settings'])}"
                        for by_reward in summary["best"].values()
                    ),
                ]
                for reward in unique(summary["settings"], "reward")
            ],
        )
        return (
            "A SuperNet is trained as the default search trains it; at "
            f"{self.definition['snapshots']} steps the loss of all 585 architectures is recorded "
            f"on each of {self.definition['batches']} batches of validation rows. "
            f"{summary['policies']} policies then learn from each of {summary['recordings']} "
            "recordings a limit, or fewer where the definition says so. "
            f"{REGRET_TEXT} A run returns the best of Algorithm 3's candidates, sampled from V for "
            "every reward. Beside it: the regret of the policy's most likely feasible "
            "architecture, and how often its most likely architecture of all is over the limit. "
            "Means over tables and limits; 95 % intervals, with recordings as the independent "
            "observations. *The paper's loop* is replayed with its own reward, evaluations and "
            f"steps, but on the default's SuperNet.\n\n{settings}\n\n"
            f"## The best settings of each reward, by table\n\n{best}\n\n"
            "![regret by RL learning rate](rates.png)\n"
        )

    def plot(self, rows: list[Row], summary: Mapping[str, Any], out: Path) -> None:
        figure, axes = make_figure(1, 1, size=(7, 4.2))
        axis = axes[0, 0]
        colors = (OURS_COLOR, *OTHER_COLORS)
        for k, reward in enumerate(unique(summary["settings"], "reward")):
            best: dict[float, float] = {}
            for row in filter_rows(summary["settings"], reward=reward):
                rate, regret = row["settings"]["rl_learning_rate"], row["regret_of_returned"]
                best[rate] = min(best.get(rate, np.inf), regret["mean"])
            rates = sorted(best)
            line = ("o-", "s--")[k > len(OTHER_COLORS)]
            regrets = [best[rate] for rate in rates]
            axis.plot(rates, regrets, line, color=colors[k % len(colors)], label=reward)
        axis.set(xscale="log", xlabel="RL learning rate", ylabel="mean regret, best other settings")
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8, frameon=False)
        save_figure(figure, out / "rates")


def _combine(grid: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every combination of the values in the lists of a grid."""
    lists = {key: values for key, values in grid.items() if isinstance(values, list)}
    for values in product(*lists.values()):
        yield dict(zip(lists, values, strict=True))


def _summarize_settings(rows: list[Row]) -> list[dict[str, Any]]:
    """Average over everything but the settings; sort by reward, then by regret."""
    named = [
        # the paper's loop also evaluates and steps differently, so it is a separate kind
        row
        | {
            "kind": PAPER_LOOP if row["grid"] == PAPER_LOOP else row["reward"],
            "label": _format_settings(row["settings"]),
        }
        for row in rows
    ]
    settings = [
        {"reward": kind, "settings": group[0]["settings"]} | _summarize_group(group)
        for (kind, _), group in group_rows(named, "kind", "label").items()
    ]
    order = unique(settings, "reward")
    return sorted(
        settings, key=lambda row: (order.index(row["reward"]), row["regret_of_returned"]["mean"])
    )


def _summarize_group(rows: list[Row]) -> dict[str, Any]:
    """Summarize regrets with recordings as observations: policies of one share evaluations."""
    regrets: dict[str, dict[tuple[str, int, int], float]] = {
        f"{prefix}regret_of_returned": {} for prefix in PARTS
    }
    most_likely = []
    for row in rows:
        scorer = get_scorer(row["table"], row["limit"])
        returned = [Architecture.parse(name) for name in row["returned"]]
        run = row["table"], row["limit"], row["recording"]
        for prefix, part in PARTS.items():
            regrets[f"{prefix}regret_of_returned"][run] = mean(
                scorer.regret(one, part, selection_seed=scorer.selection_seed(k))
                for k, one in enumerate(returned)
            )
        most_likely += [scorer.regret(Architecture.parse(name)) for name in row["most_likely"]]
    return {
        **{key: summarize_runs(runs) for key, runs in regrets.items()},
        "regret_of_most_likely": mean(most_likely),
        "over": mean(np.mean(row["over"]) for row in rows),
    }


def _best_by_reward(settings: list[dict[str, Any]]) -> dict[str, Any]:
    return {reward: group[0] for reward, group in group_rows(settings, "reward").items()}


def _format_settings(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in settings.items())


EXPERIMENT = ReplayExperiment
