"""Figures "sampling probabilities" and "valid probability": a policy over a search, by reward."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.paper._experiment import Experiment, Job, Row, filter_rows, mean
from tabnas.paper._figures import OURS_COLOR, THEIRS_COLOR, make_figure, save_figure
from tabnas.paper._markdown import records_table
from tabnas.paper._tables import (
    describe_missing_tables,
    find_available_tables,
    get_paper_table,
    prepare_table,
)
from tabnas.paper.experiments.common import TracedSearch, describe_end
from tabnas.policy import Adam

COLORS = {"rejection_monte_carlo": OURS_COLOR, "rejection": "#0b3c5d", "abs": THEIRS_COLOR}


class ProbabilitiesExperiment(Experiment):
    """The paper's loop on its tables with three rewards, and its policy over time."""

    name = "probabilities"

    def __init__(self, definition: Mapping[str, Any], data: Path | None = None) -> None:
        super().__init__(definition, data)
        self.tables = {table["title"]: table for table in definition["tables"]}

    def jobs(self) -> list[Job]:
        names = (table["table"] for table in self.tables.values())
        available = find_available_tables(names, self.data)
        return [
            {"table": title, "title": reward["title"], "reward": reward["reward"], "seed": seed}
            for title, table in self.tables.items()
            if table["table"] in available
            for seed in range(table["seeds"])
            for reward in self.definition["rewards"]
        ]

    def run(self, job: Job) -> list[Row]:
        definition = self.tables[job["table"]]
        table = prepare_table(definition["table"], self.data, definition.get("changes"))
        options = {
            "rejection_monte_carlo": {"samples": table.config.samples},
            "abs": {"beta": definition["beta"]},
        }
        settings = replace(
            table.search_settings(seed=job["seed"]),
            policy_optimizer=Adam(learning_rate=definition["rl_learning_rate"]),
            reward=job["reward"],
            reward_options=options.get(job["reward"], {}),
        )
        snapshots = self.definition["snapshots"]
        data = table.feasible, table.training, table.validation
        search = TracedSearch(*data, settings, snapshots=snapshots)
        search.run_traced()
        row = {
            "description": table.config.description,
            "limit": table.limit,
            "feasible": table.feasible.count(),
            "architectures": table.space.size,
            "candidates": [list(layer) for layer in table.space.widths],
            "samples": table.config.samples,
            "warmup": settings.warmup,
            "policy_updates": search.policy_updates,
        }
        return [row | describe_end(search) | search.trace]

    def summarize(self, rows: list[Row]) -> dict[str, Any]:
        search_keys = (
            *("table", "title", "reward", "seed", "policy_updates", "most_likely"),
            *("most_likely_cost", "most_likely_feasible", "selected", "selected_cost"),
        )
        table_keys = ("description", "limit", "feasible", "architectures", "samples")
        first = {row["table"]: row for row in reversed(rows)}
        tables = [title for title in self.tables if title in first]
        return {
            "tables": {title: {key: first[title][key] for key in table_keys} for title in tables},
            "searches": [
                {key: row[key] for key in search_keys}
                | {
                    "p_feasible_before": row["p_feasible"][0],
                    "p_feasible_after": row["p_feasible"][-1],
                    "p_feasible_max": max(row["p_feasible"]),
                    "max_probability": _max_probability(row),
                    "estimate_error": _estimate_error(row),
                }
                for row in rows
            ],
            "rewards": [
                _summarize_seeds(filter_rows(rows, table=title, title=reward["title"]))
                for title in tables
                for reward in self.definition["rewards"]
            ],
        }

    def report(self, rows: list[Row], summary: Mapping[str, Any]) -> str:
        parts = [_INTRODUCTION]
        for title, space in summary["tables"].items():
            definition = self.tables[title]
            rewards = filter_rows(summary["rewards"], table=title)
            table = records_table(
                rewards,
                ("reward", "{title}"),
                ("seeds", "{seeds}"),
                ("policy steps", "{policy_updates:,.0f}"),
                ("P(V) before", "{p_feasible_before:.3f}"),
                (
                    "P(V) after",
                    "{p_feasible_after:.3f} ({p_feasible_min:.3f} to {p_feasible_max:.3f})",
                ),
                ("largest probability", "{max_probability:.0%}"),
            )
            ends = "\n".join(
                f"- {row['title']}, seed {row['seed']}: most likely {row['most_likely']}, "
                f"{row['most_likely_cost'] / space['limit']:.0%} of the limit; Algorithm 3 selects "
                f"{row['selected']}."
                for row in filter_rows(summary["searches"], table=title)
            )
            epochs = definition.get("changes", {}).get("epochs")
            epochs = epochs or get_paper_table(definition["table"]).epochs
            parts.append(
                f"## {title}\n\n{definition['table']} is {space['description']}. "
                f"{space['feasible']:,} of {space['architectures']:,} architectures are within "
                f"{space['limit']:,} parameters. {epochs} epochs (the paper's: "
                f"{definition['paper_epochs']}), N = {space['samples']:,}, RL learning rate "
                f"{definition['rl_learning_rate']} (the paper's: 0.005), beta = "
                f"{definition['beta']}.\n\n{table}\n\n{ends}\n\n{_describe(rewards)}\n\n"
                f"![{title}]({_file_name(title)}.png)"
            )
        names = (table["table"] for table in self.tables.values())
        available = [self.tables[title]["table"] for title in summary["tables"]]
        return "\n\n".join([*parts, describe_missing_tables(names, available)]).strip()

    def plot(self, rows: list[Row], summary: Mapping[str, Any], out: Path) -> None:
        for table in self.tables:
            table_rows = filter_rows(rows, table=table)
            first_seed = filter_rows(table_rows, seed=0)
            layers = len(first_seed[0]["candidates"])
            size = (1.75 * (layers + 1) + 0.8, 2.2 * len(first_seed))
            figure, axes = make_figure(len(first_seed), layers + 1, size=size)
            for line, row in zip(axes, first_seed, strict=True):
                _plot_probabilities(line[:-1], row)
                _plot_p_feasible(line[-1], row, filter_rows(table_rows, title=row["title"]))
            for layer in range(layers):
                axes[0, layer].set_title(f"layer {layer + 1}", fontsize=9)
                axes[-1, layer].set_xlabel("share of the search", fontsize=8)
            axes[0, -1].set_title("P(V)", fontsize=9)
            axes[-1, -1].set_xlabel("share of the search", fontsize=8)
            figure.suptitle(
                f"{table}: probability of each width, seed 0; each map has its own scale",
                fontsize=10,
            )
            save_figure(figure, out / _file_name(table))


_INTRODUCTION = """\
The paper's loop (Algorithm 1) with three rewards: rejection with Monte Carlo (Algorithm 2), the
same with the exact P(V) and y sampled from V, and Abs. The first quarter is warm-up, during which
the policy is uniform. Policy steps are those that updated the policy: with Monte Carlo an
infeasible y is dropped. The *largest probability* is that of any width at the end. The most likely
architecture is that of all, feasible or not; Algorithm 3 selects the most expensive feasible one of
500 samples.

The paper: P(V) is constant during warm-up and rises after it, except on Volkert in 9 layers, where
it falls slightly; Monte Carlo's estimate follows the true one. Numbers are means over seeds, P(V)
at the end with its minimum and maximum; another seed may end on another architecture. The maps are
of seed 0; P(V) beside them is of all seeds, that of seed 0 in bold."""


def _summarize_seeds(rows: list[Row]) -> dict[str, Any]:
    """Summarize the searches of one reward on one table."""
    before, after = (np.array([row["p_feasible"][k] for row in rows]) for k in (0, -1))
    errors = [error for row in rows if (error := _estimate_error(row)) is not None]
    return {
        "table": rows[0]["table"],
        "title": rows[0]["title"],
        "reward": rows[0]["reward"],
        "seeds": len(rows),
        "policy_updates": mean(row["policy_updates"] for row in rows),
        "p_feasible_before": float(before.mean()),
        "p_feasible_after": float(after.mean()),
        "p_feasible_min": float(after.min()),
        "p_feasible_max": float(after.max()),
        "rose": int((after > before).sum()),
        "max_probability": mean(map(_max_probability, rows)),
        "estimate_error": mean(errors) if errors else None,
        "most_likely_infeasible": sum(not row["most_likely_feasible"] for row in rows),
    }


def _max_probability(row: Row) -> float:
    """Return the largest probability of any width at the end."""
    return float(np.max(row["probabilities"][-1]))


def _estimate_error(row: Row) -> float | None:
    """Return the mean error of the estimates of P(V), if there are any."""
    if row["p_estimated"][0] is None:
        return None
    return float(np.abs(np.subtract(row["p_estimated"], row["p_feasible"])).mean())


def _describe(rewards: list[dict[str, Any]]) -> str:
    """Compare the numbers with what the paper says."""
    by_reward = {record["reward"]: record for record in rewards}
    monte_carlo = by_reward["rejection_monte_carlo"]
    over = {
        reward: "{most_likely_infeasible} of {seeds}".format_map(record)
        for reward, record in by_reward.items()
    }
    return (
        f"With Monte Carlo P(V) ended higher than it began in {monte_carlo['rose']} of "
        f"{monte_carlo['seeds']} searches; its estimate was off by "
        f"{monte_carlo['estimate_error']:.3f} on average. The most likely architecture was over "
        f"the limit in {over['abs']} with Abs, in {over['rejection_monte_carlo']} with Monte Carlo "
        f"and {over['rejection']} with the exact P(V), for which it does not matter: they sample "
        "within the limit."
    )


def _plot_probabilities(axes: np.ndarray, row: Row) -> None:
    maps = np.array(row["probabilities"])  # [snapshots, layers, choices]
    for layer, (axis, widths) in enumerate(zip(axes, row["candidates"], strict=True)):
        axis.imshow(
            maps[:, layer, : len(widths)].T,
            cmap="Blues",
            aspect="auto",
            origin="lower",
            interpolation="none",  # as many pixels as there are numbers, also in the SVG
            vmin=0,
            extent=(0, 1, 0, len(widths)),
        )
        axis.axvline(row["warmup"], color="k", lw=0.6, ls=":")
        ticks = np.linspace(0, len(widths) - 1, 5).round().astype(int)
        axis.set_yticks(ticks + 0.5, [str(widths[k]) for k in ticks])
        axis.tick_params(labelsize=7, length=2)
    axes[0].set_ylabel(f"{row['title']}\nwidth", fontsize=8)


def _plot_p_feasible(axis: Any, row: Row, seeds: list[Row]) -> None:
    color = COLORS[row["reward"]]
    for other in seeds:
        axis.plot(other["progress"], other["p_feasible"], color=color, lw=0.7, alpha=0.5)
    axis.plot(row["progress"], row["p_feasible"], color=color, lw=1.5, label="true")
    if row["p_estimated"][0] is not None:
        axis.plot(row["progress"], row["p_estimated"], ":", color="k", lw=1, label="estimated")
    axis.axvline(row["warmup"], color="k", lw=0.6, ls=":")
    axis.set(ylim=(0, 1))
    axis.tick_params(labelsize=7, length=2)
    axis.legend(fontsize=7, frameon=False)


def _file_name(table: str) -> str:
    return table.replace(",", "").replace(" ", "-")


EXPERIMENT = ProbabilitiesExperiment
