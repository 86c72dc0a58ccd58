"""The report of the rewards: what the searches found, and the grid of settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tabnas.paper._experiment import unique
from tabnas.paper._markdown import markdown_table, records_table
from tabnas.space import BOTTLENECK_DEFINITION

CAVEAT = """\
That rejection ends within the limit is no finding: it returns nothing else. That the others \
often do not, with settings tuned for it, is one. Among what lies within the limit differences \
are small: where nothing is noted above, a reward does not differ significantly from the lowest \
with so few trainings, and one with a single search within the limit is evaluated by that one."""


def report_searches(summary: Mapping[str, Any], definition: Mapping[str, Any], missing: str) -> str:
    """Report on the paper's table of rewards on all datasets."""
    tables = summary["searches"]
    descriptions = "\n".join(
        "- {table}: {description}. Limit {limit:,}; epochs of a search: {search_epochs}, of a "
        "training: {training_epochs}".format_map(table)
        + (f", instead of {table['epochs']}." if _is_shorter(table) else ".")
        for table in tables
    )
    rewards = {
        table["table"]: {reward["title"]: reward for reward in table["rewards"]} for table in tables
    }
    digest = markdown_table(
        ["reward", *rewards],
        [
            [title, *(_format_loss(by_title[title]) for by_title in rewards.values())]
            for title in _titles(tables)
        ],
    )
    details = "\n\n".join(f"### {table['table']}\n\n{_details_table(table)}" for table in tables)
    return (
        "## Searches\n\n"
        "The paper's loop (Algorithms 1 and 2) with each reward, in the paper's space for the "
        f"table; searches a reward: {definition['repeats']}; stand-alone trainings of what each "
        f"found: {definition['trainings']}. The limit is the cost of the paper's reference "
        "architecture. Rejection returns the largest of 500 samples within the limit (Algorithm "
        "3); the others return the most likely architecture of all, as in the paper, which may be "
        "over the limit.\n\n"
        f"{descriptions}\n\n{missing}\n\n"
        "RL learning rate and beta (RENA: the base penalty) are tuned for each reward on each "
        "table, with only the policy on one trained SuperNet: of the settings that end within 5 % "
        "of the limit the one of lowest one-shot loss, and if none does, the one nearest to the "
        "limit.\n\n"
        "Mean loss of what was found within the limit with its standard error, which is that of "
        "the trainings, and how many of the searches ended within the limit; bold: the lowest of "
        "the column, and what does not differ significantly from it (Welch's test, two-sided, 5 %, "
        f"not corrected for their number).\n\n{digest}\n\n{_describe_totals(summary['totals'])}\n\n"
        "![found](found.png)\n\n"
        "Below, losses and balanced errors are mean ± standard deviation of the trainings; a "
        f"bottleneck is {BOTTLENECK_DEFINITION}.\n\n{details}"
    )


def _is_shorter(table: Mapping[str, Any]) -> bool:
    return bool(min(table["search_epochs"], table["training_epochs"]) < table["epochs"])


def _titles(tables: Sequence[Mapping[str, Any]]) -> list[str]:
    return unique([reward for table in tables for reward in table["rewards"]], "title")


def _format_loss(reward: Mapping[str, Any]) -> str:
    counts = f"{reward['feasible']} of {reward['searches']}"
    if reward["loss"] is None:
        return f"none, {counts}"
    loss = f"{reward['loss']:.4f} ± {reward['standard_error']:.4f}"
    return f"{loss if reward['worse'] else f'**{loss}**'}, {counts}"


def _details_table(table: Mapping[str, Any]) -> str:
    def architecture(record: Mapping[str, Any]) -> str:
        times = record.get("times", 1)
        return f"{record['architecture']}" + (f" ({times} times)" if times > 1 else "")

    return records_table(
        [
            {"title": "the paper's reference", **table["reference"]},
            *(
                {"title": reward["title"], **network}
                for reward in table["rewards"]
                for network in reward["found"]
            ),
        ],
        ("reward", "{title}"),
        ("found", architecture),
        (
            "of the limit",
            lambda record: f"{record['cost_ratio']:.1%}" + ("" if record["feasible"] else ", over"),
        ),
        ("loss", "{loss:.4f} ± {loss_std:.4f}"),
        ("balanced error", "{error:.4f} ± {error_std:.4f}"),
        ("bottleneck", lambda record: "yes" if record["bottleneck"] else "no"),
    )


def _describe_totals(totals: Sequence[Mapping[str, Any]]) -> str:
    """Compare the paper's claims with what was found."""
    lines = [
        "The paper says that rejection finds the best architectures or such as are on par with "
        "them. Here:",
        "",
    ]
    for total in totals:
        lines.append(
            f"- {total['title']}: {total['feasible']} of {total['searches']} searches within the "
            f"limit, {total['near']} within 5 % of it."
            + (f" Lowest on {', '.join(total['lowest'])}." if total["lowest"] else "")
            + (f" Worse than the lowest on {', '.join(total['worse'])}." if total["worse"] else "")
        )
    return "\n".join([*lines, "", CAVEAT])


def report_grid(tables: Sequence[Mapping[str, Any]], definition: Mapping[str, Any]) -> str:
    """Report on the paper's grid of RL learning rates and betas."""
    descriptions = "\n".join(
        "- {table}: reference {reference}, {limit:,} parameters; {feasible} of {architectures} "
        "architectures are within that limit, {near} are within 5 % of it, {near_and_matching} of "
        "these as good. Noise of an evaluation: {noise:.3f}; standard deviation of the losses "
        "within the limit: {losses_std:.3f}.".format_map(table)
        for table in tables
    )
    shares = records_table(
        [{"table": table["table"], **reward} for table in tables for reward in table["rewards"]],
        ("table, reward", "{table}, {title}"),
        ("settings", "{settings}"),
        ("within 5 %", "{near:.1%}"),
        ("and match", "{near_and_matching:.1%}"),
        ("within limit and match", "{feasible_and_matching:.1%}"),
        ("best", "{best_setting:.0%}"),
    )
    figures = "\n".join(f"![grid](grid-{table['table']}.png)" for table in tables)
    return (
        "## The grid of RL learning rates and betas\n\n"
        f"{len(definition['rl_learning_rates'])} RL learning rates x {len(definition['betas'])} "
        f"betas, {definition['seeds']} runs of {definition['steps']:,} policy steps each; "
        "rejection has no beta. So many real searches would take too long, so these are replayed: "
        "the quality of an architecture is that of the ground truth (the mean of its trainings), "
        "and each evaluation has normal noise of the size that the loss of a SuperNet's children "
        "has over validation batches. The reference is the best architecture among the cheapest "
        f"{100 * definition['share']:.0f} %, the limit is its cost. A run *matches* if the "
        f"architecture it ends on is at most {definition['tolerance']:g} standard deviations over "
        f"seeds worse than the reference.\n\n{descriptions}\n\n"
        "Shares of all runs of a reward that end within 5 % of the limit, that also match the "
        "reference, and that match it at no more than its cost; *best* is that last share for the "
        f"best setting.\n\n{shares}\n\n{_describe_grid(tables)}\n\n{figures}"
    )


def _describe_grid(tables: Sequence[Mapping[str, Any]]) -> str:
    """Compare the paper's claims with the replay."""

    def span(title: str, key: str) -> str:
        shares = [
            reward[key]
            for table in tables
            for reward in table["rewards"]
            if reward["title"] == title
        ]
        low, high = f"{min(shares):.1%}", f"{max(shares):.1%}"
        return low if low == high else f"{low} to {high}"

    lines = [
        f"- {title}: {span(title, 'near')}, {span(title, 'usable_settings')}."
        for title in _titles(tables)
    ]
    return (
        "The paper (Criteo, three layers) has fewer than 1 % of the MnasNet runs within 5 % of the "
        'limit, over 50 % of those with Abs, and rejection "consistently" at medium rates and '
        "enough samples. Here, over the tables, the share of runs within 5 %, and the share "
        "of settings with which at least half of the runs are:\n\n" + "\n".join(lines) + "\n\n"
        "The paper's searches take thousands of times as many policy steps, so that its "
        "smallest rates still arrive somewhere; here they hardly leave the start."
    )
