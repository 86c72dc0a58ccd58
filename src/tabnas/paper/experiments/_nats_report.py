"""The NATS-Bench experiment in words and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tabnas.paper._markdown import markdown_table

Cell = Callable[[Mapping[str, Any]], str]

ABOUT = 1.05
"""A mean of at most so many times the limit counts as about the limit."""

SHOWN = (200, 500)
"""Looks that the tables show; the figure shows all."""


def report(said: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    """All of it."""
    best = summary["best"]
    aims = markdown_table(
        ["looks", "noise", "aim", "mean gap", "95 %", "seeds", "over the limit"],
        [
            [
                one["looks"],
                f"{one['noise']:g}",
                f"{one['aim']:.2f}",
                f"{one['gap']:.3f}",
                f"± {one['interval']:.3f}",
                one["seeds"],
                f"{one['over']:.0%}",
            ]
            for one in summary["targets"]
        ],
    )
    parts = [
        f"{summary['feasible']:,} of 32,768 convolutional networks keep the limit of "
        f"{said['limit']:g} MFLOPs. The best of them on {said['compared_on']}, "
        f"{best['architecture']}, has an accuracy of {best['accuracy']:.2f} %. A *gap* is how many "
        "points less the recommended network has, without noise; a *look* is one accuracy asked "
        "for, of whatever network, repeats included.",
        "## Our strategy with its defaults",
        aims,
        "It knows nothing of this space, but the form of its model (logarithms of widths, degree "
        "3) was chosen with this table at hand; the other strategies have the defaults they came "
        "with.",
        "## Strategies side by side",
        *_strategies(said, summary["strategies"]),
        "Every strategy has its defaults but for what its name says, as many looks as the others, "
        "and one answer: that of `recommend(1)`, which is always within the limit. What Abs and "
        "MnasNet themselves end on, the most likely network of all, is over the limit as often as "
        "the last column says. Noise is Gaussian and drawn anew for every look.",
        "![gap after so many looks](gaps.png)",
    ]
    if summary["tried"]:
        parts += [
            "## What was tried",
            "Our strategy with one thing changed. What did not pay was left as it was.",
            _tried(said, summary),
        ]
    return "\n\n".join([*parts, *_tables(said, summary["tables"])])


def _strategies(said: Mapping[str, Any], gaps: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    """A table for each noise."""
    looks = [number for number in said["looks"] if number in SHOWN]
    for noise in said["noises"]:
        lines = []
        for one in said["strategies"]:
            own = [row for row in gaps if (row["title"], row["noise"]) == (one["title"], noise)]
            last = own[-1]
            cells = [_cell(own, noise, number) for number in looks]
            lines.append([one["title"], *cells, last["seeds"], f"{last['over']:.0%}"])
        noisy = f"Each look with noise of {noise:g} points" if noise else "Without noise"
        yield f"{noisy}: mean gap, ± half of its 95 % interval."
        yield markdown_table(
            ["strategy", *(f"{number} looks" for number in looks), "seeds", "over"], lines
        )


def _tried(said: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    columns = [(one["noise"], one["looks"]) for one in said["aims"]]
    ours = [row for row in summary["strategies"] if row["title"] == "tabnas"]
    lines = [["as it is", *(_cell(ours, *column) for column in columns), ours[0]["seeds"]]]
    for one in said["tried"]:
        own = [row for row in summary["tried"] if row["title"] == one["title"]]
        cells = [_cell(own, *column) for column in columns]
        lines.append([f"{one['title']} {_options(one)}", *cells, own[0]["seeds"]])
    head = [f"{looks} looks" + (f", noise {noise:g}" if noise else "") for noise, looks in columns]
    return markdown_table(["changed", *head, "seeds"], lines)


def _options(one: Mapping[str, Any]) -> str:
    return " ".join(f"`{name}={value}`" for name, value in one["options"].items())


def _cell(rows: list[Mapping[str, Any]], noise: float, looks: int) -> str:
    asked = {"noise": noise, "looks": looks}
    found = [row for row in rows if asked.items() <= row.items()]
    return f"{found[0]['gap']:.3f} ± {found[0]['interval']:.3f}" if found else ""


def _tables(said: Mapping[str, Any], rows: list[Mapping[str, Any]]) -> Iterable[str]:
    """The paper's two, for each of the files."""
    about = said["tables"]
    for file in dict.fromkeys(row["file"] for row in rows):
        own = [row for row in rows if row["file"] == file]
        yield f"## The paper's two tables, on {file}"
        yield (
            f"{about['repetitions']} policies a setting, {about['steps']} steps each. The paper "
            "does not tell its number of steps; it says that all is as in its toy example, which "
            "has 500. Rejection answers by the paper's Algorithm 3 (the dearest feasible of "
            f"{about['draws']} draws) or, where it is said, with the most likely network given V; "
            "Abs with the most likely of all."
        )
        if file != "CIFAR-100":
            yield (
                "The paper's are on CIFAR-100, with validation accuracy to search by and test "
                f"error to judge by; here both are the test accuracy on {file}. So its errors "
                "(0.41 to 0.49) cannot be compared with these, but their order and the MFLOPs can. "
                "`nats_bench_size_cifar100.parquet` in the folder of the tables is used as well: "
                "columns c0 to c4, mflops_cifar100, cifar100_validation_accuracy_90_epochs, "
                "cifar100_test_accuracy_90_epochs."
            )
        yield "MFLOPs, mean ± standard deviation (median), and how many are over the limit:"
        yield _by_rate(own, about["rates"], _mflops)
        yield "Test error, mean ± standard deviation (median):"
        yield _by_rate(own, about["rates"], _error)
        yield f"![MFLOPs and error](tables-{file}.png)"
        yield _seen_there(own, said["limit"])


def _by_rate(rows: list[Mapping[str, Any]], rates: Iterable[float], cell: Cell) -> str:
    rates = list(rates)
    kinds = dict.fromkeys((row["title"], row["picks"]) for row in rows)
    lines = [
        [
            f"{title}; {picks}",
            *(cell(row) for row in rows if (row["title"], row["picks"]) == (title, picks)),
        ]
        for title, picks in kinds
    ]
    return markdown_table(["RL rate", *map(str, rates)], lines)


def _mflops(row: Mapping[str, Any]) -> str:
    of = row["mflops"]
    return f"{of['mean']:.1f} ± {of['std']:.1f} ({of['median']:.1f}), {row['share_over']:.0%}"


def _error(row: Mapping[str, Any]) -> str:
    of = row["error"]
    return f"{of['mean']:.4f} ± {of['std']:.4f} ({of['median']:.4f})"


def _seen_there(rows: list[Mapping[str, Any]], limit: float) -> str:
    """What the paper says of its tables, held against these."""
    penalised = [row for row in rows if row["title"].startswith("Abs")]
    rejects = [row for row in rows if row not in penalised]
    paper = [
        row for row in rejects if row["picks"] == "Algorithm 3" and "exact" not in row["title"]
    ]
    within = [row for row in penalised if row["mflops"]["mean"] <= ABOUT * limit]
    best = min(paper, key=lambda row: float(row["error"]["mean"]))
    lines = [
        f"- Rejection is over the limit in {max(row['share_over'] for row in rejects):.0%} of "
        "the runs of any setting. The paper says the same.",
        f"- Abs is over the limit in at least {min(row['share_over'] for row in penalised):.0%} "
        f"and at most {max(row['share_over'] for row in penalised):.0%} of the runs of a setting.",
    ]
    if within:
        good = min(within, key=lambda row: float(row["error"]["mean"]))
        lines.append(
            f"- Of the settings of Abs that are about the limit or below it in the mean, the best, "
            f"{good['title']}, rate {good['rate']:g}, has an error of {good['error']['mean']:.4f}; "
            f"rejection, {best['error']['mean']:.4f} ({best['title']}, rate {best['rate']:g})."
        )
    return "\n".join(lines)
