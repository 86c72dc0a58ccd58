"""Figures "sampling probabilities" and "valid probability": a policy over a search, by reward."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.paper._experiment import Experiment, Job, Row
from tabnas.paper._figures import OURS, THEIRS, figure, save
from tabnas.paper._markdown import markdown_table
from tabnas.paper._tables import PreparedTable, paper_table
from tabnas.paper.experiments._there import describe_absent, tables_with_files
from tabnas.paper.experiments._watched_search import WatchedSearch, ending, prepared
from tabnas.policy import Adam

COLOURS = {"rejection_monte_carlo": OURS, "rejection": "#0b3c5d", "abs": THEIRS}


class ProbabilitiesExperiment(Experiment):
    """The paper's loop on its tables, with three rewards, watched."""

    name = "probabilities"

    def __init__(self, definition: Mapping[str, Any], data: Path | None = None) -> None:
        super().__init__(definition, data)
        self.tables = {said["title"]: said for said in definition["tables"]}
        self._prepared = cache(self._prepare)

    def _prepare(self, title: str) -> PreparedTable:
        return prepared(self.tables[title], self.data)

    def jobs(self) -> list[Job]:
        there = tables_with_files((said["table"] for said in self.tables.values()), self.data)
        return [
            {"table": title, "title": reward["title"], "reward": reward["reward"], "seed": seed}
            for title, said in self.tables.items()
            if said["table"] in there
            for seed in range(said["seeds"])
            for reward in self.definition["rewards"]
        ]

    def run(self, job: Job) -> list[Row]:
        said, table = self.tables[job["table"]], self._prepared(job["table"])
        options = {
            "rejection_monte_carlo": {"samples": table.said.samples},
            "abs": {"beta": said["beta"]},
        }
        settings = replace(
            table.search_settings(seed=job["seed"]),
            policy_optimizer=Adam(learning_rate=said["rl_rate"]),
            reward=job["reward"],
            reward_options=options.get(job["reward"], {}),
        )
        moments = self.definition["moments"]
        data = table.feasible, table.training, table.validation
        search = WatchedSearch(*data, settings, moments=moments)
        search.watch()
        facts = {
            "what": table.said.what,
            "limit": table.limit,
            "feasible": table.feasible.count(),
            "architectures": table.space.size,
            "candidates": [list(layer) for layer in table.space.candidates],
            "samples": table.said.samples,
            "warmup": settings.warmup,
            "policy_updates": search.policy_updates,
        }
        return [facts | ending(search) | search.trace]

    def summarise(self, rows: list[Row]) -> dict[str, Any]:
        kept = (
            *("table", "title", "reward", "seed", "policy_updates", "favourite"),
            *("favourite_cost", "favourite_feasible", "chosen", "chosen_cost"),
        )
        facts = ("what", "limit", "feasible", "architectures", "samples")
        first = {row["table"]: row for row in reversed(rows)}
        tables = [title for title in self.tables if title in first]
        return {
            "tables": {table: {name: first[table][name] for name in facts} for table in tables},
            "searches": [
                {name: row[name] for name in kept}
                | {
                    "p_feasible_before": row["p_feasible"][0],
                    "p_feasible_after": row["p_feasible"][-1],
                    "p_feasible_most": max(row["p_feasible"]),
                    "largest_probability": _surest(row),
                    "estimate_error": _estimate_error(row),
                }
                for row in rows
            ],
            "rewards": [
                self._over_seeds(table, reward["title"], rows)
                for table in tables
                for reward in self.definition["rewards"]
            ],
        }

    def _over_seeds(self, table: str, title: str, rows: list[Row]) -> dict[str, Any]:
        """The searches of one reward on one table together."""
        own = [row for row in rows if (row["table"], row["title"]) == (table, title)]
        before, after = (np.array([row["p_feasible"][k] for row in own]) for k in (0, -1))
        errors = [error for row in own if (error := _estimate_error(row)) is not None]
        return {
            "table": table,
            "title": title,
            "reward": own[0]["reward"],
            "seeds": len(own),
            "policy_updates": float(np.mean([row["policy_updates"] for row in own])),
            "p_feasible_before": float(before.mean()),
            "p_feasible_after": float(after.mean()),
            "p_feasible_lowest": float(after.min()),
            "p_feasible_highest": float(after.max()),
            "rose": int((after > before).sum()),
            "largest_probability": float(np.mean([_surest(row) for row in own])),
            "estimate_error": float(np.mean(errors)) if errors else None,
            "favourite_over": sum(not row["favourite_feasible"] for row in own),
        }

    def report(self, rows: list[Row], summary: Mapping[str, Any]) -> str:
        parts = [_INTRODUCTION]
        for table, facts in summary["tables"].items():
            said = self.tables[table]
            own = [row for row in summary["searches"] if row["table"] == table]
            together = [one for one in summary["rewards"] if one["table"] == table]
            numbers = markdown_table(
                ["reward", "seeds", "policy steps", "P(V) before", "P(V) after", "surest"],
                [
                    [
                        one["title"],
                        one["seeds"],
                        f"{one['policy_updates']:,.0f}",
                        f"{one['p_feasible_before']:.3f}",
                        f"{one['p_feasible_after']:.3f} ({one['p_feasible_lowest']:.3f} to "
                        f"{one['p_feasible_highest']:.3f})",
                        f"{one['largest_probability']:.0%}",
                    ]
                    for one in together
                ],
            )
            ends = "\n".join(
                f"- {row['title']}, seed {row['seed']}: favourite {row['favourite']}, "
                f"{row['favourite_cost'] / facts['limit']:.0%} of the limit; Algorithm 3 returns "
                f"{row['chosen']}."
                for row in own
            )
            parts.append(
                f"## {table}\n\n{said['table']} is {facts['what']}. {facts['feasible']:,} of "
                f"{facts['architectures']:,} architectures are within {facts['limit']:,} "
                f"parameters. {_epochs(said)} epochs (the paper's: {said['paper_epochs']}), N = "
                f"{facts['samples']:,}, RL rate {said['rl_rate']} (the paper's: 0.005), beta = "
                f"{said['beta']}.\n\n{numbers}\n\n{ends}\n\n{_words(together)}\n\n"
                f"![{table}]({_file(table)}.png)"
            )
        run = [self.tables[title]["table"] for title in summary["tables"]]
        absent = describe_absent((said["table"] for said in self.tables.values()), run)
        return "\n\n".join([*parts, absent]).strip()

    def draw(self, rows: list[Row], summary: Mapping[str, Any], out: Path) -> None:
        for table in self.tables:
            every = [row for row in rows if row["table"] == table]
            own = [row for row in every if row["seed"] == 0]
            layers = len(own[0]["candidates"])
            size = (1.75 * (layers + 1) + 0.8, 2.2 * len(own))
            drawn, axes = figure(len(own), layers + 1, size=size)
            for line, row in zip(axes, own, strict=True):
                _heat(line[:-1], row)
                _valid(line[-1], row, [one for one in every if one["title"] == row["title"]])
            for layer in range(layers):
                axes[0, layer].set_title(f"layer {layer + 1}", fontsize=9)
                axes[-1, layer].set_xlabel("share of the search", fontsize=8)
            axes[0, -1].set_title("P(V)", fontsize=9)
            axes[-1, -1].set_xlabel("share of the search", fontsize=8)
            drawn.suptitle(
                f"{table}: probability of each width, seed 0; each map has its own scale",
                fontsize=10,
            )
            save(drawn, out / _file(table))


_INTRODUCTION = """\
The paper's loop (Algorithm 1) with three rewards: rejection with Monte Carlo (Algorithm 2), the
same with the exact P(V) and y drawn within V, and Abs. The first quarter is warm-up: the policy is
uniform. Policy steps are those whose y counted: with Monte Carlo an infeasible one is dropped.
`surest` is the largest probability that any width has in the end. The favourite is the most likely
architecture of all, feasible or not; Algorithm 3 returns the most expensive feasible one of 500
draws.

The paper: P(V) is constant during warm-up and rises after it, except on Volkert in 9 layers, where
it falls slightly; Monte Carlo's estimate follows the true one. Numbers are means over seeds, P(V)
in the end with its lowest and highest; another seed may end on another architecture. The maps are
of seed 0; P(V) beside them is of all seeds, that of seed 0 in bold."""


def _words(rewards: list[dict[str, Any]]) -> str:
    """What the numbers say against what the paper says."""
    (sampled,) = (one for one in rewards if one["reward"] == "rejection_monte_carlo")
    over = {one["reward"]: f"{one['favourite_over']} of {one['seeds']}" for one in rewards}
    return (
        f"With Monte Carlo P(V) ended higher than it began in {sampled['rose']} of "
        f"{sampled['seeds']} searches; its estimate was off by {sampled['estimate_error']:.3f} on "
        f"average. The favourite was over the limit in {over['abs']} with Abs, in "
        f"{over['rejection_monte_carlo']} with Monte Carlo and {over['rejection']} with the exact "
        "P(V), which do not mind: they draw within the limit."
    )


def _epochs(said: Mapping[str, Any]) -> int:
    changed: int = said.get("changes", {}).get("epochs", paper_table(said["table"]).epochs)
    return changed


def _surest(row: Row) -> float:
    """The largest probability that any width has in the end."""
    return float(np.max(row["probabilities"][-1]))


def _estimate_error(row: Row) -> float | None:
    if row["p_estimated"][0] is None:
        return None
    return float(np.abs(np.subtract(row["p_estimated"], row["p_feasible"])).mean())


def _heat(axes: np.ndarray, row: Row) -> None:
    maps = np.array(row["probabilities"])  # [moments, layers, choices]
    for layer, (axis, widths) in enumerate(zip(axes, row["candidates"], strict=True)):
        heat = maps[:, layer, : len(widths)].T
        axis.imshow(
            heat,
            cmap="Blues",
            aspect="auto",
            origin="lower",
            interpolation="none",  # as many pixels as there are numbers, also in the SVG
            vmin=0,
            extent=(0, 1, 0, len(widths)),
        )
        axis.axvline(row["warmup"], color="k", lw=0.6, ls=":")
        places = np.linspace(0, len(widths) - 1, 5).round().astype(int)
        axis.set_yticks(places + 0.5, [str(widths[k]) for k in places])
        axis.tick_params(labelsize=7, length=2)
    axes[0].set_ylabel(f"{row['title']}\nwidth", fontsize=8)


def _valid(axis: Any, row: Row, every: list[Row]) -> None:
    color = COLOURS[row["reward"]]
    for other in every:
        axis.plot(other["progress"], other["p_feasible"], color=color, lw=0.7, alpha=0.5)
    axis.plot(row["progress"], row["p_feasible"], color=color, lw=1.5, label="true")
    if row["p_estimated"][0] is not None:
        axis.plot(row["progress"], row["p_estimated"], ":", color="k", lw=1, label="estimated")
    axis.axvline(row["warmup"], color="k", lw=0.6, ls=":")
    axis.set(ylim=(0, 1))
    axis.tick_params(labelsize=7, length=2)
    axis.legend(fontsize=7, frameon=False)


def _file(table: str) -> str:
    return table.replace(",", "").replace(" ", "-")


EXPERIMENT = ProbabilitiesExperiment
