"""What the comparison says, for people."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabnas.paper._figures import OTHERS, OURS, RULED_OUT, figure, save
from tabnas.paper._markdown import markdown_table
from tabnas.paper.experiments import _paired_words as words
from tabnas.paper.experiments._ticks import log_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RETURNED, ON_TEST = "regret_of_returned", "test_regret_of_returned"
ARCHITECTURES = 585  # of every space of the ground truth
ALL = "all tables"


def comparison_text(said: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    """Regrets, what they cost, pairs, and random search."""
    ours = summary["strategies"][0]
    shares = ", ".join(f"{share:.0%}" for share in said["shares"])
    fewer = ", ".join(
        f"{one['name']} {one['seeds']}" for one in said["strategies"] if "seeds" in one
    )
    return (
        f"Tables: {', '.join(summary['tables'])}; limits: what {shares} of a space's "
        f"{ARCHITECTURES} architectures keep; {summary['seeds']} seeds"
        + (f" ({fewer})" if fewer else "")
        + f". Searches are real; each names {said['candidates']} candidates, which are trained "
        f"once, and the best is returned.\n\n{words.JUDGED} *Within 2*: how many runs have no more "
        "than that.\n\nEvery reward is helped by the exact feasible set: its candidates are drawn "
        "given V, so all are feasible. Penalties have the settings that replays found best for "
        "them on each table, or within 0.1 of the best; the paper's loop the best of four RL "
        "rates.\n\n"
        f"{_regrets(summary)}\n\n"
        "What that costs, in trainings of what is returned: the search, by the time of a core, and "
        "with the candidates' trainings. Beside it: how often the architecture that the policy "
        "itself likes best is over the limit, and how often what is returned is one of the five "
        f"members of V that cost most, for which no search is needed.\n\n{_costs(summary)}\n\n"
        "![regret against cost](regret.png)\n\n*Strategies of the same cost are drawn side by "
        f"side; random search with fewer trainings is above the frame.*\n\n"
        f"## Paired with {ours['strategy']}\n\nThe same tables, limits and seeds. {words.HOW}\n\n"
        f"{_pairs(summary['paired'])}\n\n{_verdicts(summary['paired'])}\n\n"
        f"By table, validation rows:\n\n{_by_table(summary)}\n\n"
        f"## Like for like\n\nRewards with the same rule of selection.\n\n"
        f"{_like_for_like(summary)}\n\n"
        f"## {ours['strategy']}, by table and limit\n\n{_cells(ours)}\n\n"
        "The first candidate alone, for which nothing is trained but the SuperNet, has a regret "
        f"of {_first(ours)}; the best of the three, if one knew it, "
        f"{ours['regret_of_best_candidate']:.2f}.\n\n"
        "## Random search\n\nArchitectures of V drawn uniformly, each trained once, the best "
        f"returned; *more* than {ours['strategy']} with the same seeds.\n\n{_random(summary)}\n"
    )


def _regrets(summary: Mapping[str, Any]) -> str:
    return markdown_table(
        ["strategy", "regret", "test", "within 2", "test", "worst limit"],
        [
            [
                one["strategy"],
                words.mean(one[RETURNED]),
                words.mean(one[ON_TEST]),
                f"{one[RETURNED]['near']:.0%}",
                f"{one[ON_TEST]['near']:.0%}",
                f"{one['worst'][RETURNED]['mean']:.2f} ({one['worst']['table']}, "
                f"{one['worst']['limit']:,})",
            ]
            for one in summary["strategies"]
        ],
    )


def _costs(summary: Mapping[str, Any]) -> str:
    return markdown_table(
        ["strategy", "search", "in all", "its own choice is over", "one of the five dearest"],
        [
            [
                one["strategy"],
                f"{one['search']:.2f}",
                f"{one['in_all']:.1f}",
                f"{one['favourite_over']:.0%}" if "favourite_over" in one else "",
                f"{one['among_the_dearest']:.0%}",
            ]
            for one in summary["strategies"]
        ],
    )


def _pairs(pairs: list[dict[str, Any]]) -> str:
    return markdown_table(
        ["strategy", "more", "p, Holm", "more, test", "p, Holm"],
        [[one["strategy"], *_differences(one)] for one in pairs],
    )


def _by_table(summary: Mapping[str, Any]) -> str:
    return markdown_table(
        ["strategy, more than ours", *summary["tables"]],
        [
            [one["strategy"], *words.by_table(one[RETURNED], summary["tables"])]
            for one in summary["paired"]
        ],
    )


def _differences(one: Mapping[str, Any]) -> list[str]:
    return [
        words.more(one[RETURNED]),
        words.probability(one[RETURNED]["p_holm"]),
        words.more(one[ON_TEST]),
        words.probability(one[ON_TEST]["p_holm"]),
    ]


def _verdicts(pairs: list[dict[str, Any]]) -> str:
    return "\n\n".join(
        f"{rows}: {words.verdict({one['strategy']: one[name] for one in pairs})}"
        for rows, name in (("Validation rows", RETURNED), ("Test rows", ON_TEST))
    )


def _like_for_like(summary: Mapping[str, Any]) -> str:
    return markdown_table(
        ["strategy", "beside", "more", "p, Holm", "more, test", "p, Holm"],
        [[one["strategy"], one["beside"], *_differences(one)] for one in summary["like_for_like"]],
    )


def _cells(ours: Mapping[str, Any]) -> str:
    return markdown_table(
        ["table", "limit", "regret", "test", "within 2", "best of the candidates", "search"],
        [
            [
                cell["table"],
                f"{cell['limit']:,}",
                f"{cell[RETURNED]['mean']:.2f}",
                f"{cell[ON_TEST]['mean']:.2f}",
                f"{cell[RETURNED]['near']:.0%}",
                f"{cell['regret_of_best_candidate']:.2f}",
                f"{cell['search']:.2f}",
            ]
            for cell in ours["cells"]
        ],
    )


def _first(ours: Mapping[str, Any]) -> str:
    validation, test = (
        f"{ours[f'{prefix}regret_of_first']['mean']:.2f}" for prefix in ("", "test_")
    )
    return f"{validation}, {test} on the test rows"


def _random(summary: Mapping[str, Any]) -> str:
    return markdown_table(
        ["trainings", "regret", "test", "within 2", "more", "p, Holm", "more, test", "p, Holm"],
        [
            [
                "all there are" if one["asked"] == ARCHITECTURES else one["asked"],
                words.mean(one[RETURNED]),
                words.mean(one[ON_TEST]),
                f"{one[RETURNED]['near']:.0%}",
                *_differences(pair),
            ]
            for one, pair in zip(summary["random"], summary["random_paired"], strict=True)
        ],
    )


def draw_comparison(summary: Mapping[str, Any], path: Path) -> None:
    """Regret against cost: a panel for each table, and one for all of them."""
    panels = [*summary["tables"], ALL]
    columns = min(3, len(panels))
    lines = -(-len(panels) // columns)
    drawn, axes = figure(lines, columns, size=(4.4 * columns, 3.6 * lines))
    for axis, table in zip(axes.flat, panels, strict=False):
        _panel(axis, summary, table)
        axis.set_title(table, fontsize=10)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8)
    save(drawn, path)


def _panel(axis: Axes, summary: Mapping[str, Any], table: str) -> None:
    def of(one: Mapping[str, Any]) -> Mapping[str, Any]:
        own: Mapping[str, Any] = one if table == ALL else one["by_table"][table]
        return own

    random = [of(one) for one in summary["random"]]
    trainings = [one["candidates"] for one in random]
    means = [one[RETURNED]["mean"] for one in random]
    spread = [one[RETURNED]["interval"] for one in random]
    axis.plot(trainings, means, color="#777777", label="random search")
    axis.fill_between(
        trainings,
        [mean - half for mean, half in zip(means, spread, strict=True)],
        [mean + half for mean, half in zip(means, spread, strict=True)],
        color="#777777",
        alpha=0.2,
        lw=0,
    )
    highest = 0.0
    for k, one in enumerate(summary["strategies"]):
        own = of(one)
        mean, half = own[RETURNED]["mean"], own[RETURNED]["interval"]
        highest = max(highest, mean + half)
        axis.errorbar(
            own["in_all"] * (1 + 0.06 * k),  # most cost the same, and would hide one another
            mean,
            yerr=half,
            fmt="*" if k == 0 else "os"[(k - 1) // len(OTHERS)],
            ms=11 if k == 0 else 5,
            color=OURS if k == 0 else OTHERS[(k - 1) % len(OTHERS)],
            capsize=3,
            label=one["strategy"],
        )
    log_ticks(axis, "{x:g}")
    axis.set(
        xlabel="cost in trainings, candidates' included",
        ylabel="regret, 95 % interval",
        ylim=(0, 1.15 * highest),
    )
    axis.grid(color=RULED_OUT, alpha=0.3)
