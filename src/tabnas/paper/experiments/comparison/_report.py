"""The report and the figure of the comparison."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tabnas.paper._figures import (
    GRAY,
    OTHER_COLORS,
    OURS_COLOR,
    make_panels,
    save_figure,
    set_log_ticks,
)
from tabnas.paper._markdown import Column, records_table
from tabnas.paper.experiments.common import RETURNED
from tabnas.paper.experiments.common._wording import (
    REGRET_TEXT,
    STATISTICS_TEXT,
    describe_verdicts,
    difference_columns,
    regret_columns,
    table_columns,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_ARCHITECTURES = 585  # of every space of the ground truth
ALL_TABLES = "all tables"
STRATEGY: Column = ("strategy", "{strategy}")
WITHIN_TWO: Column = ("within 2", "{regret_of_returned[near_best]:.0%}")


def report(definition: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    """Return the report: regrets, costs, paired comparisons, and random search."""
    ours = summary["strategies"][0]
    shares = ", ".join(f"{share:.0%}" for share in definition["shares"])
    fewer = ", ".join(
        "{name} {seeds}".format_map(strategy)
        for strategy in definition["strategies"]
        if "seeds" in strategy
    )
    verdicts = describe_verdicts(summary["paired"], lambda pair: str(pair["strategy"]))
    return (
        f"Tables: {', '.join(summary['tables'])}; limits that {shares} of a space's "
        f"{N_ARCHITECTURES} architectures meet; {summary['seeds']} seeds"
        + (f" ({fewer})" if fewer else "")
        + f". Searches are real; each proposes {definition['candidates']} candidates, which are "
        f"trained once, and the best is returned.\n\n{REGRET_TEXT} *Within 2*: the share of runs "
        "with a regret of at most 2.\n\nEvery reward profits from the exact feasible set: its "
        "candidates are sampled from V, so all are feasible. Penalties have the settings that "
        "replays found best for them on each table, or within 0.1 of the best; the paper's loop "
        "the best of four RL learning rates.\n\n"
        f"{_regrets(summary)}\n\n"
        "The cost, in trainings of what is returned: of the search, by processor time, and in "
        "total with the candidates' trainings. Beside it: how often the policy's most likely "
        "architecture is over the limit, and how often what is returned is one of the five most "
        f"expensive members of V, for which no search is needed.\n\n{_costs(summary)}\n\n"
        "![regret against cost](regret.png)\n\n*Strategies of the same cost are drawn side by "
        f"side; random search with fewer trainings is above the frame.*\n\n"
        f"## Paired with {ours['strategy']}\n\nThe same tables, limits and seeds. "
        f"{STATISTICS_TEXT}\n\n"
        f"{records_table(summary['paired'], STRATEGY, *difference_columns())}\n\n{verdicts}\n\n"
        f"By table, validation rows:\n\n{_by_table(summary)}\n\n"
        f"## Like for like\n\nRewards with the same selection rule.\n\n"
        f"{_same_selection(summary)}\n\n"
        f"## {ours['strategy']}, by table and limit\n\n{_cells(ours)}\n\n"
        "The first candidate, for which nothing is trained but the SuperNet, has a regret of "
        f"{ours['regret_of_first']['mean']:.2f}, {ours['test_regret_of_first']['mean']:.2f} on the "
        "test rows; the best of the three, if one knew it, "
        f"{ours['regret_of_best_candidate']:.2f}.\n\n"
        "## Random search\n\nArchitectures of V sampled uniformly, each trained once, the best "
        f"returned; *difference* to {ours['strategy']} with the same seeds.\n\n"
        f"{_random(summary)}\n"
    )


def _regrets(summary: Mapping[str, Any]) -> str:
    return records_table(
        summary["strategies"],
        STRATEGY,
        *regret_columns(),
        WITHIN_TWO,
        ("test", "{test_regret_of_returned[near_best]:.0%}"),
        (
            "worst limit",
            "{worst[regret_of_returned][mean]:.2f} ({worst[table]}, {worst[limit]:,})",
        ),
    )


def _costs(summary: Mapping[str, Any]) -> str:
    def over(record: Mapping[str, Any]) -> str:
        share = record.get("most_likely_infeasible")
        return "" if share is None else f"{share:.0%}"

    return records_table(
        summary["strategies"],
        STRATEGY,
        ("search", "{search_cost:.2f}"),
        ("total", "{total_cost:.1f}"),
        ("most likely is over the limit", over),
        ("one of the five most expensive", "{among_most_expensive:.0%}"),
    )


def _by_table(summary: Mapping[str, Any]) -> str:
    heading = ("strategy, difference to ours", "{strategy}")
    return records_table(summary["paired"], heading, *table_columns(summary["tables"]))


def _same_selection(summary: Mapping[str, Any]) -> str:
    return records_table(
        summary["same_selection"], STRATEGY, ("compared with", "{base}"), *difference_columns()
    )


def _cells(ours: Mapping[str, Any]) -> str:
    return records_table(
        ours["cells"],
        ("table", "{table}"),
        ("limit", "{limit:,}"),
        ("regret", "{regret_of_returned[mean]:.2f}"),
        ("test", "{test_regret_of_returned[mean]:.2f}"),
        WITHIN_TWO,
        ("best of the candidates", "{regret_of_best_candidate:.2f}"),
        ("search", "{search_cost:.2f}"),
    )


def _random(summary: Mapping[str, Any]) -> str:
    def trainings(record: Mapping[str, Any]) -> object:
        return "all" if record["trainings"] == N_ARCHITECTURES else record["trainings"]

    pairs = zip(summary["random"], summary["random_paired"], strict=True)
    return records_table(
        [record | pair for record, pair in pairs],
        ("trainings", trainings),
        *regret_columns(),
        WITHIN_TWO,
        *difference_columns(),
    )


def plot_comparison(summary: Mapping[str, Any], path: Path) -> None:
    """Plot regret against cost: a panel for each table, and one for all of them."""
    panels = [*summary["tables"], ALL_TABLES]
    figure, axes = make_panels(len(panels), width=4.4, height=3.6)
    for axis, table in zip(axes, panels, strict=False):
        _plot_panel(axis, summary, table)
        axis.set_title(table, fontsize=10)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8)
    save_figure(figure, path)


def _plot_panel(axis: Axes, summary: Mapping[str, Any], table: str) -> None:
    def on_table(record: Mapping[str, Any]) -> Mapping[str, Any]:
        cell: Mapping[str, Any] = record if table == ALL_TABLES else record["by_table"][table]
        return cell

    random = [on_table(record) for record in summary["random"]]
    trainings = [cell["n_candidates"] for cell in random]
    means, intervals = (
        np.array([cell[RETURNED[0]][key] for cell in random]) for key in ("mean", "interval")
    )
    axis.plot(trainings, means, color="#777777", label="random search")
    axis.fill_between(
        trainings, means - intervals, means + intervals, color="#777777", alpha=0.2, lw=0
    )
    highest = 0.0
    for k, record in enumerate(summary["strategies"]):
        cell = on_table(record)
        mean, interval = cell[RETURNED[0]]["mean"], cell[RETURNED[0]]["interval"]
        highest = max(highest, mean + interval)
        axis.errorbar(
            cell["total_cost"] * (1 + 0.06 * k),  # most cost the same, and would hide one another
            mean,
            yerr=interval,
            fmt="*" if k == 0 else "os"[(k - 1) // len(OTHER_COLORS)],
            ms=11 if k == 0 else 5,
            color=OURS_COLOR if k == 0 else OTHER_COLORS[(k - 1) % len(OTHER_COLORS)],
            capsize=3,
            label=record["strategy"],
        )
    set_log_ticks(axis, "{x:g}")
    axis.set(
        xlabel="cost in trainings, candidates' included",
        ylabel="regret, 95 % interval",
        ylim=(0, 1.15 * highest),
    )
    axis.grid(color=GRAY, alpha=0.3)
