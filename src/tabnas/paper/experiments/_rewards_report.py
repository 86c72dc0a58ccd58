"""The rewards for people: what the searches found, and what the grid says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tabnas.paper._markdown import markdown_table
from tabnas.space import BOTTLENECK_DEFINITION

CAVEAT = """\
That rejection ends within the limit is no finding: it returns nothing else. That the others \
often do not, with settings tuned for it, is one. Among what lies within the limit differences \
are small: where nothing is said above, a reward cannot be told from the lowest with so few \
trainings, and one of whose searches a single one was within the limit is judged by that alone."""


def searches_report(summary: Mapping[str, Any], said: Mapping[str, Any], absent: str) -> str:
    """The paper's table of rewards on all datasets."""
    tables = summary["searches"]
    kept = "\n".join(
        f"- {own['table']}: {own['what']}. Limit {own['limit']:,}; epochs of a search: "
        f"{own['search_epochs']}, of a training: {own['training_epochs']}"
        + (f", instead of {own['epochs']}." if _shorter(own) else ".")
        for own in tables
    )
    digest = markdown_table(
        ["reward", *(own["table"] for own in tables)],
        [
            [title, *(_digest(_titled(own["rewards"], title)) for own in tables)]
            for title in _titles(tables)
        ],
    )
    details = "\n\n".join(f"### {own['table']}\n\n{_details(own)}" for own in tables)
    return (
        "## Searches\n\n"
        "The paper's loop (Algorithms 1 and 2) with each reward, in the paper's space for the "
        f"table; searches a reward: {said['repeats']}; trainings alone of what each found: "
        f"{said['trainings']}. The limit is what the paper's reference architecture costs. "
        "Rejection returns the largest of 500 draws within the limit (Algorithm 3); the others "
        "return the most likely architecture of all, as in the paper, which may be over the "
        "limit.\n\n"
        f"{kept}\n\n{absent}\n\n"
        "RL rate and beta (RENA: the base penalty) are tuned for each reward on each table, with "
        "the policy alone on one SuperNet that is trained already: of the settings that end within "
        "5 % of the limit the one of lowest one-shot loss, and where none does, the one nearest to "
        "the limit.\n\n"
        "Mean loss of what was found within the limit with its standard error, which is that of "
        "the trainings, and how many of the searches ended within the limit; bold: the lowest of "
        "the column, and what cannot be told from it (Welch's test, two-sided, 5 %, not corrected "
        f"for their number).\n\n{digest}\n\n{_said(summary['totals'])}\n\n"
        "![found](found.png)\n\n"
        "Below, losses and balanced errors are mean ± standard deviation of the trainings; a "
        f"bottleneck is {BOTTLENECK_DEFINITION}.\n\n{details}"
    )


def _shorter(own: Mapping[str, Any]) -> bool:
    return bool(min(own["search_epochs"], own["training_epochs"]) < own["epochs"])


def _titles(tables: Sequence[Mapping[str, Any]]) -> list[str]:
    """The rewards of the tables, each once."""
    return list(dict.fromkeys(one["title"] for own in tables for one in own["rewards"]))


def _titled(rewards: Sequence[Mapping[str, Any]], title: str) -> Mapping[str, Any]:
    return next(one for one in rewards if one["title"] == title)


def _digest(reward: Mapping[str, Any]) -> str:
    kept = f"{reward['feasible']} of {reward['searches']}"
    if reward["loss"] is None:
        return f"none, {kept}"
    loss = f"{reward['loss']:.4f} ± {reward['standard_error']:.4f}"
    return f"{loss if reward['worse'] else f'**{loss}**'}, {kept}"


def _details(own: Mapping[str, Any]) -> str:
    lines = [["the paper's reference", *_cells(own["reference"])]]
    for reward in own["rewards"]:
        for one in reward["found"]:
            again = f" ({one['times']} times)" if one["times"] > 1 else ""
            cells = _cells(one)
            lines.append([reward["title"], cells[0] + again, *cells[1:]])
    return markdown_table(
        ["reward", "found", "of the limit", "loss", "balanced error", "bottleneck"], lines
    )


def _cells(one: Mapping[str, Any]) -> list[str]:
    return [
        one["architecture"],
        f"{one['load']:.1%}" + ("" if one["feasible"] else ", over"),
        f"{one['loss']:.4f} ± {one['loss_std']:.4f}",
        f"{one['error']:.4f} ± {one['error_std']:.4f}",
        "yes" if one["bottleneck"] else "no",
    ]


def _said(rewards: Sequence[Mapping[str, Any]]) -> str:
    """The paper's claims against what was found."""
    lines = [
        "The paper says that rejection finds the best architectures or such as are on par with "
        "them. Here:",
        "",
    ]
    for one in rewards:
        lines.append(
            f"- {one['title']}: {one['feasible']} of {one['searches']} searches within the limit, "
            f"{one['near']} within 5 % of it."
            + (f" Lowest on {', '.join(one['lowest'])}." if one["lowest"] else "")
            + (f" Worse than the lowest on {', '.join(one['worse'])}." if one["worse"] else "")
        )
    return "\n".join([*lines, "", CAVEAT])


def grid_report(tables: Sequence[Mapping[str, Any]], said: Mapping[str, Any]) -> str:
    """The paper's grid of RL rates and betas."""
    kept = "\n".join(
        f"- {own['table']}: reference {own['reference']}, {own['limit']:,} parameters; "
        f"{own['feasible']} of {own['architectures']} architectures keep that limit, {own['near']} "
        f"are within 5 % of it, {own['near_and_matching']} of these as good. Noise of a look: "
        f"{own['noise']:.3f}; standard deviation of the losses within the limit: "
        f"{own['spread']:.3f}."
        for own in tables
    )
    shares = markdown_table(
        ["table, reward", "settings", "within 5 %", "and match", "within limit and match", "best"],
        [
            [
                f"{own['table']}, {one['title']}",
                one["settings"],
                f"{one['near']:.1%}",
                f"{one['near_and_matching']:.1%}",
                f"{one['feasible_and_matching']:.1%}",
                f"{one['best_setting']:.0%}",
            ]
            for own in tables
            for one in own["rewards"]
        ],
    )
    pictures = "\n".join(f"![grid](grid-{own['table']}.png)" for own in tables)
    return (
        "## The grid of RL rates and betas\n\n"
        f"{len(said['rates'])} RL rates x {len(said['betas'])} betas, {said['seeds']} runs of "
        f"{said['steps']:,} policy steps each; rejection has no beta. Real searches of that number "
        "are beyond a desk, so these are replayed: the quality of an architecture is that of the "
        "ground truth (the mean of its trainings), and each look at it has normal noise of the "
        "size that the loss of a SuperNet's children shows from one validation batch to the "
        "next. The reference is the best architecture among the cheapest "
        f"{100 * said['share']:.0f} %, the limit is its cost. A run *matches* if the "
        f"architecture it ends on is at most {said['deviations']:g} standard deviations from seed "
        f"to seed worse than the reference.\n\n{kept}\n\n"
        "Shares of all runs of a reward that end within 5 % of the limit, that also match the "
        "reference, and that match it at no more than its cost; *best* is that last share for the "
        f"best setting.\n\n{shares}\n\n{_grid_said(tables)}\n\n{pictures}"
    )


def _grid_said(tables: Sequence[Mapping[str, Any]]) -> str:
    """The paper's claims against the replay."""

    def span(title: str, key: str = "near") -> str:
        shares = [_titled(own["rewards"], title)[key] for own in tables]
        low, high = f"{min(shares):.1%}", f"{max(shares):.1%}"
        return low if low == high else f"{low} to {high}"

    lines = [
        f"- {title}: {span(title)}, {span(title, 'usable_settings')}." for title in _titles(tables)
    ]
    return (
        "The paper (Criteo, three layers) has fewer than 1 % of the MnasNet runs within 5 % of the "
        'limit, over 50 % of those with Abs, and rejection "consistently" at medium rates and '
        "enough samples. Here, over the tables, the share of runs within 5 %, and the share "
        "of settings with which at least half of the runs are:\n\n" + "\n".join(lines) + "\n\n"
        "The paper's searches take thousands of times as many policy steps, so that its "
        "smallest rates still arrive somewhere; here they hardly leave the start."
    )
