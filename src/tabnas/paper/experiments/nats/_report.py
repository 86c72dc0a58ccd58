"""The report of the NATS-Bench experiment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tabnas.paper._experiment import Row, filter_rows, group_rows, unique
from tabnas.paper._markdown import markdown_table, records_table

OURS = "guided (tabnas)"
"""The title of our strategy."""
NEAR_LIMIT = 1.05
"""A mean cost of at most this many limits counts as about the limit."""
SHOWN_EVALUATIONS = (200, 500)
"""Numbers of evaluations that the tables show; the figure shows all."""


def report(definition: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    """Return the report."""
    best = summary["best"]
    aims = records_table(
        summary["targets"],
        ("evaluations", "{evaluations}"),
        ("noise", "{noise:g}"),
        ("aim", "{aim:.2f}"),
        ("mean gap", "{gap:.3f}"),
        ("95 %", "± {interval:.3f}"),
        ("seeds", "{seeds}"),
        ("over the limit", "{over:.0%}"),
    )
    parts = [
        f"{summary['feasible']:,} of 32,768 convolutional networks are within the limit of "
        f"{definition['limit']:g} MFLOPs. The best of them on {definition['compared_on']}, "
        f"{best['architecture']}, has an accuracy of {best['accuracy']:.2f} %. A *gap* is how many "
        "points less the recommended network has, without noise; an *evaluation* is that of the "
        "accuracy of any network, repeats included.",
        "## Our strategy with its defaults",
        aims,
        "It knows nothing of this space, but the form of its model (logarithms of widths, degree "
        "3) was chosen with the help of this table; the other strategies have the defaults they "
        "came with.",
        "## Strategies side by side",
        *_report_strategies(definition, summary["strategies"]),
        "Every strategy has its defaults except for what its name says, as many evaluations as the "
        "others, and one answer: that of `recommend(1)`, which is always within the limit. What "
        "Abs and MnasNet themselves end on, the most likely network of all, is over the limit as "
        "often as the last column says. Noise is Gaussian and sampled for every evaluation.",
        "![gap by number of evaluations](gaps.png)",
    ]
    if summary["variants"]:
        parts += [
            "## Variants",
            "Our strategy with one thing changed. The default is what was best.",
            _variants_table(definition, summary),
        ]
    return "\n\n".join([*parts, *_report_tables(definition, summary["tables"])])


def _report_strategies(definition: Mapping[str, Any], gaps: Sequence[Row]) -> Iterator[str]:
    """Yield a heading and a table for each noise."""
    numbers = [number for number in definition["evaluations"] if number in SHOWN_EVALUATIONS]
    for noise in definition["noises"]:
        rows = []
        for title, group in group_rows(filter_rows(gaps, noise=noise), "title").items():
            cells = [_format_gap(group, noise, number) for number in numbers]
            rows.append([title, *cells, group[-1]["seeds"], f"{group[-1]['over']:.0%}"])
        each = f"Evaluations with noise of {noise:g} points" if noise else "Without noise"
        yield f"{each}: mean gap, ± half of its 95 % interval."
        yield markdown_table(
            ["strategy", *(f"{number} evaluations" for number in numbers), "seeds", "over"], rows
        )


def _variants_table(definition: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    columns = [(aim["noise"], aim["evaluations"]) for aim in definition["aims"]]
    groups = {"default": filter_rows(summary["strategies"], title=OURS)}
    for variant in definition["variants"]:
        options = " ".join(f"`{name}={value}`" for name, value in variant["options"].items())
        group = filter_rows(summary["variants"], title=variant["title"])
        groups[f"{variant['title']} {options}"] = group
    headings = [
        f"{evaluations} evaluations" + (f", noise {noise:g}" if noise else "")
        for noise, evaluations in columns
    ]
    return markdown_table(
        ["changed", *headings, "seeds"],
        [
            [title, *(_format_gap(group, *column) for column in columns), group[0]["seeds"]]
            for title, group in groups.items()
        ],
    )


def _format_gap(rows: list[Row], noise: float, evaluations: int) -> str:
    matches = filter_rows(rows, noise=noise, evaluations=evaluations)
    return "{gap:.3f} ± {interval:.3f}".format_map(matches[0]) if matches else ""


def _report_tables(definition: Mapping[str, Any], rows: list[Row]) -> Iterator[str]:
    """Yield the paper's two tables for each of the files."""
    tables = definition["tables"]
    for file in unique(rows, "file"):
        group = filter_rows(rows, file=file)
        yield f"## The paper's two tables, on {file}"
        yield (
            f"{tables['repetitions']} policies a setting, {tables['steps']} steps each. The paper "
            "does not print its number of steps; it says that all is as in its toy example, which "
            "has 500. Rejection answers by the paper's Algorithm 3 (the most expensive feasible of "
            f"{tables['draws']} samples) or, where stated, with the most likely network of V; "
            "Abs with the most likely of all."
        )
        if file != "CIFAR-100":
            yield (
                "The paper's are on CIFAR-100, with validation accuracy to search and test error "
                f"to evaluate; here both are the test accuracy on {file}. So its errors "
                "(0.41 to 0.49) cannot be compared with these, but their order and the MFLOPs can. "
                "`nats_bench_size_cifar100.parquet` in the folder of the tables is used as well: "
                "columns c0 to c4, mflops_cifar100, cifar100_validation_accuracy_90_epochs, "
                "cifar100_test_accuracy_90_epochs."
            )
        yield "MFLOPs, mean ± standard deviation (median), and the share over the limit:"
        yield _by_learning_rate(
            group,
            "{mflops[mean]:.1f} ± {mflops[std]:.1f} ({mflops[median]:.1f}), {share_over:.0%}",
        )
        yield "Test error, mean ± standard deviation (median):"
        yield _by_learning_rate(group, "{error[mean]:.4f} ± {error[std]:.4f} ({error[median]:.4f})")
        yield f"![MFLOPs and error](tables-{file}.png)"
        yield _describe_tables(group, definition["limit"])


def _by_learning_rate(rows: list[Row], cell: str) -> str:
    groups = group_rows(rows, "title", "selection")
    return markdown_table(
        ["RL learning rate", *map(str, unique(rows, "rl_learning_rate"))],
        [
            [f"{title}; {selection}", *(cell.format_map(row) for row in group)]
            for (title, selection), group in groups.items()
        ],
    )


def _describe_tables(rows: list[Row], limit: float) -> str:
    """Compare the tables with the paper's."""
    penalties = [row for row in rows if row["title"].startswith("Abs")]
    rejections = [row for row in rows if row not in penalties]
    paper = [
        row
        for row in filter_rows(rejections, selection="Algorithm 3")
        if "exact" not in row["title"]
    ]
    near_limit = [row for row in penalties if row["mflops"]["mean"] <= NEAR_LIMIT * limit]
    shares_over = [row["share_over"] for row in penalties]
    lines = [
        f"- Rejection is over the limit in {max(row['share_over'] for row in rejections):.0%} of "
        "the runs of any setting. The paper says the same.",
        f"- Abs is over the limit in at least {min(shares_over):.0%} and at most "
        f"{max(shares_over):.0%} of the runs of a setting.",
    ]
    if near_limit:
        abs_, rejection = (
            min(group, key=lambda row: float(row["error"]["mean"])) for group in (near_limit, paper)
        )
        lines.append(
            f"- Of the settings of Abs that are about the limit or below it in the mean, the best, "
            f"{abs_['title']}, RL learning rate {abs_['rl_learning_rate']:g}, has an error of "
            f"{abs_['error']['mean']:.4f}; rejection, {rejection['error']['mean']:.4f} "
            f"({rejection['title']}, RL learning rate {rejection['rl_learning_rate']:g})."
        )
    return "\n".join(lines)
