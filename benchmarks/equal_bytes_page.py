"""The page and the picture of `equal_bytes.py`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from _shared import write_results
from equal_bytes_summary import FREE, METHODS, PART_LIMIT, SEEDS, summarize
from matplotlib.lines import Line2D

from tabnas.paper._figures import make_panels, save_figure

PICTURE = "equal_bytes/losses.png"
COLOURS = {
    "tabnas": "#1b6ca8", "tabnas float32": "#7fb2d9", "plain network": "#9aa5ad",
    "plain int8": "#4d565c", "LightGBM": "#6a994e", "RealMLP": "#c8553d", "RealMLP int8": "#7d2b1a",
    "TabM": "#e09f3e", "MLP": "#8d6a9f", "pruned": "#b08968",
}  # fmt: skip
COLUMNS = 3  # of panels
MIN_SPAN = 0.02  # of the losses in a panel: less is noise
ORIGIN = ("command", "date", "machine", "versions")


def write_page(out: Path) -> None:
    """Write the page and the picture of what has been measured so far."""
    folder = out / "equal_bytes"
    contents = {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}
    if "tabnas" not in contents:  # others are compared with it
        return
    ours, summary = contents["tabnas"], summarize(contents)
    lines = _describe_methods(ours)
    if len(summary["limits"]) > 1:
        _draw(summary, out / PICTURE)
        alt = "Loss against bytes for every table, one curve for each method"
        lines += [
            "",
            f"![{alt}]({PICTURE})",
            "",
            "Curves that leave a panel are worse.",
        ]
    for limit in summary["limits"]:
        lines += ["", f"## {limit['limit'] // 1_000} kB", "", *_limit_table(summary, limit)]
    lines += ["", "## Tables that no default was chosen by", "", *_fresh_table(summary)]
    lines += ["", "## Without a limit", "", *_free_table(summary["free"])]
    lines += ["", "## What each part is worth", "", *_describe_parts(summary)]
    lines += ["", _describe_rounding(ours)]
    lines += ["", "## Time", "", *_time_table(contents, summary["tables"])]
    lines += ["", _describe_alternative(contents, summary["limits"])]
    origin = {key: ours[key] for key in ORIGIN if key in ours}
    write_results(out, "equal_bytes", origin | summary, "\n".join(lines) + "\n")


def _describe_methods(ours: dict[str, Any]) -> list[str]:
    """Return the head of the page: what is compared, how it is tuned, and what leads are."""
    return [
        "# Equal bytes",
        "",
        f"`{ours['command']}`, {ours['date']}. Log loss, or RMSE for california_housing and "
        "nats_bench_size_cifar10, on test rows: mean over seeds, each with a split of its own "
        "that all methods share. Of a method with fewer seeds than tabnas, it is the mean of "
        "tabnas plus the mean difference over common seeds. Of tables with more than 50,000 rows, "
        "every seed has a sample. The lowest mean of a row is bold; a blank means that the method "
        "cannot keep the limit, or was not measured. All probabilities are calibrated by a "
        "temperature on the validation rows.",
        "",
        "The methods:",
        "",
        "- *tabnas* is the default. It stores weights as 8-bit integers where that is better; all "
        "others have 32-bit weights, unless they are called *int8*.",
        "- *plain network* and *plain int8* are one network of tabnas with numeric embeddings and "
        "two equal layers: no search, no teacher.",
        "- *RealMLP int8* is RealMLP, rounded as tabnas rounds its networks, which RealMLP's "
        "package does not do.",
        "- *LightGBM* counts 10 bytes a leaf, *LightGBM file* its saved text.",
        "- What scales the inputs is counted for no network: at least 8 bytes a numeric column, 24 "
        "in our C files. Trees need none of it.",
        "",
        "How they are tuned (`benchmarks/peers` has the details): LightGBM over 24 pairs of leaves "
        "and learning rate, without a limit over five larger settings. RealMLP and TabM have "
        "pytabkit's tuned defaults, with and without dropout, and layers as wide as the limit "
        "allows; their learning rates are those for wider layers. The MLP has scikit-learn's "
        "defaults, with one or two layers. The pruned network and the plain ones are not tuned. "
        "For all, validation rows choose the epoch or the number of trees, a temperature, and "
        "among what was tuned.",
        "",
        "The leads are geometric means of ratios over seeds, with their standard errors:",
        "",
        "- *lead*: by how many per cent the loss of the best other method without 8-bit weights "
        "is higher than that of tabnas.",
        "- *lead of float32*: the same for tabnas with 32-bit weights.",
        "- *lead over int8*: by how many per cent *plain int8* or *RealMLP int8* is higher than "
        "tabnas, whichever is better.",
        "",
        "*Significantly* is at 95 %, by a t-test of the logarithms of the ratios; a method with a "
        "single seed is never significantly ahead or behind.",
        "",
        "The defaults of tabnas were chosen with the help of test losses on these tables, with "
        "seeds 0 to 4. The seeds here are others, 5 to 9, but the tables are the same: the losses "
        "are still somewhat optimistic. So there are [other tables](#tables-that-no-default-was-"
        "chosen-by), too.",
    ]


def _fresh_table(summary: dict[str, Any]) -> list[str]:
    """Return the table of those that `fresh_tables.py` makes."""
    if not summary["fresh"]["rows"]:
        return ["Not measured yet."]
    return [
        f"Within {PART_LIMIT // 1_000} kB, on five tables that `benchmarks/fresh_tables.py` makes. "
        "They were chosen before anything was measured on them, and all defaults were chosen by "
        "the tables above. Log loss, or RMSE for diamonds, loans and movies.",
        "",
        *_limit_table(summary, summary["fresh"]),
    ]


def _limit_table(summary: dict[str, Any], limit: dict[str, Any]) -> list[str]:
    measured = {method for row in limit["rows"] for method in row["losses"]}
    methods = [method for method in summary["methods"] if method in measured]
    titles = ["table", *methods]
    titles += ["lead, %", "lead of float32, %", "lead over int8, %"]
    lines = _head(titles)
    for row in limit["rows"]:
        losses = row["losses"]
        cells = [f"{losses[method]:.4f}" if method in losses else "" for method in methods]
        cells[methods.index(row["best"])] = f"**{losses[row['best']]:.4f}**"
        cells += [_format_lead(row[key]) for key in ("lead", "float32_lead", "rounded_lead")]
        lines.append(f"| {row['table']} | {' | '.join(cells)} |")
    counts = ", ".join(f"{method} on {n}" for method, n in limit["ahead"].items())
    sentences = [
        f"Lowest mean loss: {counts}.",
        f"tabnas is ahead of all methods without 8-bit weights on {limit['ours']} of "
        f"{limit['tables']} tables, significantly on {limit['clearly_ahead']}, and significantly "
        f"behind on {limit['clearly_behind']}; with 32-bit weights, it is ahead on "
        f"{limit['float32_ours']} of {limit['float32_tables']}.",
    ]
    if limit["rounded"]:
        rounded = (
            f"of *{method}* on {counts['won']} of {counts['of']}"
            for method, counts in limit["rounded"].items()
        )
        sentences.append(
            f"Of the methods with 8-bit weights, it is ahead {', '.join(rounded)}, of all of them "
            f"on {limit['rounded_ours']} of {limit['rounded_tables']}."
        )
    medians = {
        title: np.median([row[key]["change"] for row in limit["rows"] if row[key] is not None])
        for title, key in (("lead", "lead"), ("lead over int8", "rounded_lead"))
        if any(row[key] is not None for row in limit["rows"])
    }
    named = " and ".join(f"the {title} is {median:+.1f} %" for title, median in medians.items())
    sentences.append(f"In the median of the tables, {named}.")
    sentences.append(f"Seeds of each table: {_describe_seeds(limit['rows'], methods)}.")
    return [*lines, "", " ".join(sentences)]


def _describe_seeds(rows: list[dict[str, Any]], methods: list[str]) -> str:
    """Return how many seeds each method has, like "1 to 3 of RealMLP"."""
    by_count: dict[str, list[str]] = {}
    for method in methods:
        seeds = sorted({row["seeds"][method] for row in rows if method in row["seeds"]})
        count = " to ".join(map(str, dict.fromkeys((seeds[0], seeds[-1]))))
        by_count.setdefault(count, []).append(method)
    return "; ".join(f"{count} of {', '.join(named)}" for count, named in by_count.items())


def _head(titles: list[str]) -> list[str]:
    return [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]


def _format_lead(lead: dict[str, Any] | None) -> str:
    return "" if lead is None else f"{_format_change(lead)} over {lead['over']}"


def _free_table(free: dict[str, Any]) -> list[str]:
    if not free["rows"]:
        return ["Not measured yet."]
    methods = [method for method in FREE if any(method in row for row in free["rows"])]
    lines = [
        f"tabnas within {free['limit'] // 1_000} kB beside the others without a limit.",
        "",
        *_head(["table", "tabnas", *methods, *(f"lead over {method}, %" for method in methods)]),
    ]
    for row in free["rows"]:
        losses = [row.get(method) for method in ("tabnas", *methods)]
        cells = ["" if loss is None else f"{loss:.4f}" for loss in losses]
        leads = [row.get(f"lead over {method}") for method in methods]
        cells += ["" if lead is None else _format_change(lead) for lead in leads]
        lines.append(f"| {row['table']} | {' | '.join(cells)} |")
    counts = ", ".join(
        f"of {method} on {n['won']} of {n['of']} tables, significantly on {n['clearly']}"
        for method, n in free["ahead"].items()
    )
    return [*lines, "", f"tabnas is ahead {counts}."] if counts else lines


def _describe_parts(summary: dict[str, Any]) -> list[str]:
    text = (
        f"By how many per cent the loss within {PART_LIMIT // 1_000} kB rises without one part of "
        "the default: the geometric mean of the ratios over seeds, with its standard error; below, "
        "the mean of the tables with its standard error, and their median. The candidates of the "
        "default are networks of the search, widened until they use up the limit, and networks of "
        "two equal layers. *Without search* has only those of equal layers; *without equal "
        "layers* has as many candidates as the default, all from the search. *Without knots by "
        "target*, the knots of numeric embeddings are up to 32 quantiles of each column."
    )
    return [text, "", *_parts_table(summary["tables"], summary["parts"])]


def _parts_table(tables: list[str], parts: list[dict[str, Any]]) -> list[str]:
    lines = _head(["table", *(f"without {part['part']}" for part in parts)])
    for table in tables:
        rows = [next((r for r in part["rows"] if r["table"] == table), None) for part in parts]
        cells = ["" if row is None else _format_change(row) for row in rows]
        lines.append(f"| {table} | {' | '.join(cells)} |")
    means = [_format_change({"change": part["mean"], "error": part["error"]}) for part in parts]
    medians = [_format_change({"change": part["median"], "error": None}) for part in parts]
    return [*lines, f"| mean | {' | '.join(means)} |", f"| median | {' | '.join(medians)} |"]


def _format_change(change: dict[str, float | None]) -> str:
    value, error = change["change"], change["error"]
    if value is None:
        return ""
    return f"{value:+.1f}" if error is None else f"{value:+.1f} ± {error:.1f}"


def _describe_rounding(content: dict[str, Any]) -> str:
    """Return a sentence on the networks with int8 weights."""
    rows = [row for row in content["rows"] if row["seed"] in SEEDS]
    changes = [row["rounding"] for row in rows if row["detail"].endswith("int8")]
    if not changes:
        return "No network has int8 weights."
    return (
        f"{len(changes)} of {len(rows)} networks have int8 weights. Rounding changed "
        f"their loss on validation rows by {np.mean(changes):+.5f} on average, "
        f"{min(changes):+.4f} to {max(changes):+.4f}."
    )


def _describe_alternative(contents: dict[str, Any], limits: list[dict[str, Any]]) -> str:
    """Return how much worse and how much faster a single int8 network is, in the median."""
    rows = next((limit["rows"] for limit in limits if limit["limit"] == PART_LIMIT), [])
    changes = [
        100 * (row["losses"]["plain int8"] / row["losses"]["tabnas"] - 1)
        for row in rows
        if "plain int8" in row["losses"]
    ]
    seconds = {
        (row["table"], row["method"]): row["seconds"]
        for row in contents.get("time", {"rows": []})["rows"]
    }
    shares = [
        seconds[table, "plain int8"] / value
        for (table, method), value in seconds.items()
        if method == "tabnas" and (table, "plain int8") in seconds
    ]
    if not changes or not shares:
        return ""
    return (
        f"*plain int8* has a mean loss {np.median(changes):.1f} % higher than that of tabnas in "
        f"the median of the tables, and takes {100 * np.median(shares):.0f} % of its time."
    )


def _time_table(contents: dict[str, Any], tables: list[str]) -> list[str]:
    """Return the table of seconds, of runs that had the machine to themselves."""
    if "time" not in contents:
        return ["Not measured yet."]
    timed = contents["time"]
    cells = {(row["table"], row["method"]): f"{row['seconds']:.0f}" for row in timed["rows"]}
    methods = [method for method in METHODS if any(method == known for _, known in cells)]
    lines = [
        f"Seconds until the model within {PART_LIMIT // 1_000} kB is there, tuning included, "
        f"one run on {timed['machine']['cores']} cores with nothing else at work. Those of tabnas "
        "include the encoding of the table, those of the others do not.",
        "",
        *_head(["table", *methods]),
    ]
    for table in tables:
        row = [cells.get((table, method), "") for method in methods]
        lines.append(f"| {table} | {' | '.join(row)} |")
    return lines


def _draw(summary: dict[str, Any], path: Path) -> None:
    """Draw the loss against the limit, a panel for each table, a curve for each method."""
    figure, axes = make_panels(len(summary["tables"]), width=3.4, height=2.7)
    limits = [limit["limit"] for limit in summary["limits"]]
    for axis, table in zip(axes, summary["tables"], strict=False):
        curves = summary["curves"][table]
        shown: list[float] = []
        for method, colour in COLOURS.items():
            points = [point for point in curves.get(method, []) if point[0] is not None]
            if points:
                shown += [loss for _, loss in points]
                axis.plot(
                    *zip(*points, strict=True), label=method, color=colour,
                    linewidth=2.4 if method == "tabnas" else 1.3, marker="o", markersize=3,
                    zorder=3 if method == "tabnas" else 2,
                )  # fmt: skip
        for method in FREE:
            for limit, loss in curves.get(method, []):
                if limit is None:
                    shown.append(loss)
                    axis.axhline(loss, color=COLOURS[method], linestyle=":", linewidth=1)
        low, high = min(shown), max(loss for _, loss in curves["tabnas"])
        span = max(high - low, MIN_SPAN * low)
        axis.set_ylim(low - 0.08 * span, low + 1.6 * span)
        axis.set_xscale("log")
        axis.set_xticks(limits, [f"{n // 1_000}" for n in limits])
        axis.minorticks_off()
        axis.set_title(table.replace("_", " "), fontsize=10)
        axis.tick_params(labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
    for axis in axes[-COLUMNS:]:
        axis.set_xlabel("kilobytes", fontsize=9)
    for axis in axes[::COLUMNS]:
        axis.set_ylabel("loss on test rows", fontsize=9)
    drawn = {
        label: line
        for axis in axes
        for line, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    named = {label: drawn[label] for label in COLOURS if label in drawn}
    named["without a limit"] = Line2D([], [], color="black", linestyle=":", linewidth=1)
    figure.legend(
        list(named.values()), list(named), loc="outside lower center", ncols=8, fontsize=8,
        frameon=False,
    )  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    save_figure(figure, path)
